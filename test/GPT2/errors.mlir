// What the verifiers refuse, and what they say.
// RUN: gpt2-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{'gpt2.global' op a parameter needs at least one checkpoint name}}
gpt2.global parameter @w : tensor<4x8xf32>

// -----

// expected-error @+1 {{'gpt2.global' op source dimension 9 does not fit into 8}}
gpt2.global parameter @w : tensor<8x4xf32> names ["w"] source [9, 4]

// -----

// expected-error @+1 {{'gpt2.global' op only a matrix can be transposed}}
gpt2.global parameter @w : tensor<8xf32> names ["w"] transpose

// -----

// expected-error @+1 {{'gpt2.global' op only a parameter comes from a checkpoint: remove names, source and transpose}}
gpt2.global state @w : tensor<8xf32> names ["w"]

// -----

// expected-error @+1 {{'gpt2.global' op a cache must be [slots, heads, positions, size]}}
gpt2.global cache @k : tensor<8xf32>

// -----

// expected-error @+1 {{'gpt2.global' op a parameter must have a float type}}
gpt2.global parameter @w : tensor<8xi32> names ["w"]

// -----

func.func @unknown() {
  // expected-error @+1 {{'gpt2.read' op 'missing' is not a gpt2.global}}
  %0 = gpt2.read @missing : tensor<8xf32>
  return
}

// -----

gpt2.global state @x : tensor<4x8xf32>
func.func @prefix() {
  // expected-error @+1 {{'gpt2.read' op 'tensor<4x4xf32>' is not a prefix of 'x' of type 'tensor<4x8xf32>'}}
  %0 = gpt2.read @x : tensor<4x4xf32>
  return
}

// -----

gpt2.global parameter @w : tensor<8xf32> names ["w"]
func.func @constant() {
  %0 = gpt2.read @w : tensor<8xf32>
  // expected-error @+1 {{'gpt2.write' op 'w' is a parameter, which only an update program may write}}
  gpt2.write @w, %0 : tensor<8xf32>
  return
}

// -----

gpt2.global state @x : tensor<8xf32>
func.func @twice() attributes {
    gpt2.program = #gpt2.program<role = decode, batch = 1, tokens = 1>} {
  %0 = gpt2.read @x : tensor<8xf32>
  // expected-error @+1 {{'gpt2.read' op reads 'x' a second time in one program}}
  %1 = gpt2.read @x : tensor<8xf32>
  return
}

// -----

gpt2.global state @x : tensor<8xf32>
gpt2.global state @y : tensor<8xf32>
func.func @order() attributes {
    gpt2.program = #gpt2.program<role = decode, batch = 1, tokens = 1>} {
  %0 = gpt2.read @x : tensor<8xf32>
  gpt2.write @y, %0 : tensor<8xf32>
  // expected-error @+1 {{'gpt2.read' op reads 'y' after the program wrote it}}
  %1 = gpt2.read @y : tensor<8xf32>
  return
}

// -----

// expected-error @+1 {{a program takes and returns nothing; its state lives in globals}}
func.func @arguments(%x : tensor<8xf32>) attributes {
    gpt2.program = #gpt2.program<role = decode, batch = 1, tokens = 1>} {
  return
}

// -----

func.func @decode() attributes {
    // expected-error @+1 {{a decode program takes one token a sequence, not 2}}
    gpt2.program = #gpt2.program<role = decode, batch = 1, tokens = 2>} {
  return
}

// -----

func.func @sample() attributes {
    // expected-error @+1 {{a sample program takes one sequence, of which a count says how many tokens are valid}}
    gpt2.program = #gpt2.program<role = sample, batch = 1, tokens = 2>} {
  return
}

// -----

// expected-error @+1 {{'gpt2.model' needs the i64 'vocab' of at least 1}}
module attributes {gpt2.model = {name = "x"}} {}

// -----

// expected-error @+1 {{'gpt2.model' has a 'config_json' that is no string}}
module attributes {gpt2.model = {name = "x", config_json = 1 : i64}} {}

// -----

// expected-error @+1 {{'gpt2.precision' must be "fp32", "tf32", "fp16" or "bf16" on a module}}
module attributes {gpt2.precision = "int8"} {}

// -----

// expected-error @+1 {{unknown attribute 'gpt2.modell'}}
module attributes {gpt2.modell = {}} {}

// -----

func.func @embed(%t: tensor<6xi32>, %s: tensor<2xi32>, %wte: tensor<128x8xf32>, %wpe: tensor<16x8xf32>) {
  // expected-error @+1 {{'gpt2.embed' op starts needs one sequence or one token a sequence, not 2 sequences of 3 tokens}}
  %0 = gpt2.embed %t, %wte, %wpe at %s batch 2 : tensor<6xi32>, tensor<128x8xf32>, tensor<16x8xf32>, tensor<2xi32> -> tensor<6x8xf32>
  return
}

// -----

func.func @embed(%t: tensor<6xi32>, %wte: tensor<128x8xf32>, %wpe: tensor<16x8xf32>) {
  // expected-error @+1 {{'gpt2.embed' op 6 rows are not a multiple of batch 4}}
  %0 = gpt2.embed %t, %wte, %wpe batch 4 : tensor<6xi32>, tensor<128x8xf32>, tensor<16x8xf32> -> tensor<6x8xf32>
  return
}

// -----

func.func @layer_norm(%x: tensor<6x8xf32>, %g: tensor<4xf32>) {
  // expected-error @+1 {{'gpt2.layer_norm' op gamma must be 8, not 4}}
  %0:3 = gpt2.layer_norm %x, %g, %g epsilon 1.0e-5 : (tensor<6x8xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<6x8xf32>, tensor<6x1xf32>, tensor<6x1xf32>)
  return
}

// -----

func.func @layer_norm(%x: tensor<6x8xf32>, %g: tensor<8xf32>) {
  // expected-error @+1 {{'gpt2.layer_norm' op epsilon must be positive and finite}}
  %0:3 = gpt2.layer_norm %x, %g, %g epsilon 0.0 : (tensor<6x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<6x8xf32>, tensor<6x1xf32>, tensor<6x1xf32>)
  return
}

// -----

func.func @linear(%x: tensor<6x8xbf16>, %w: tensor<4x8xf32>) {
  // expected-error @+1 {{'gpt2.linear' op x and weight must have equal element types, not 'bf16' and 'f32'}}
  %0 = gpt2.linear %x, %w : (tensor<6x8xbf16>, tensor<4x8xf32>) -> tensor<6x4xbf16>
  return
}

// -----

func.func @linear(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  // expected-error @+1 {{'gpt2.linear' op weight must be 8x8, not 8x4}}
  %0 = gpt2.linear %x, %w : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  return
}

// -----

func.func @linear(%x: tensor<6x8xbf16>, %w: tensor<4x8xbf16>) {
  // expected-error @+1 {{'gpt2.linear' op f32_result needs a result of type f32}}
  %0 = gpt2.linear %x, %w {f32_result} : (tensor<6x8xbf16>, tensor<4x8xbf16>) -> tensor<6x4xbf16>
  return
}

// -----

func.func @append(%qkv: tensor<6x24xf32>, %k: tensor<2x2x16x8xf32>, %s: tensor<1xi32>) {
  // expected-error @+1 {{'gpt2.cache_append' op 2 heads of size 8 do not make qkv rows of 24}}
  %0:2 = gpt2.cache_append %qkv into %k, %k at %s batch 1 : tensor<6x24xf32>, tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>, tensor<1xi32>
  return
}

// -----

func.func @append(%qkv: tensor<3x24xf32>, %k: tensor<2x2x16x4xf32>, %s: tensor<3xi32>) {
  // expected-error @+1 {{'gpt2.cache_append' op batch 3 exceeds the 2 slots of the cache}}
  %0:2 = gpt2.cache_append %qkv into %k, %k at %s batch 3 : tensor<3x24xf32>, tensor<2x2x16x4xf32>, tensor<2x2x16x4xf32>, tensor<3xi32>
  return
}

// -----

func.func @append(%qkv: tensor<2x24xf32>, %k: tensor<2x2x16x4xf32>, %s: tensor<2xi32>, %slot: tensor<1xi32>) {
  // expected-error @+1 {{'gpt2.cache_append' op slot needs batch 1, not 2}}
  %0:2 = gpt2.cache_append %qkv into %k, %k at %s slot %slot batch 2 : tensor<2x24xf32>, tensor<2x2x16x4xf32>, tensor<2x2x16x4xf32>, tensor<2xi32>
  return
}

// -----

func.func @attention(%qkv: tensor<6x24xf32>) {
  // expected-error @+1 {{'gpt2.attention' op qkv rows of 24 do not split into 3 parts of 3 heads}}
  %0 = gpt2.attention %qkv batch 1 heads 3 scale 0.5 : tensor<6x24xf32> -> tensor<6x8xf32>
  return
}

// -----

func.func @attention(%qkv: tensor<6x24xf32>, %slot: tensor<1xi32>) {
  // expected-error @+1 {{'gpt2.attention' op slot needs caches}}
  %0 = gpt2.attention %qkv slot %slot batch 1 heads 2 scale 0.5 : tensor<6x24xf32> -> tensor<6x8xf32>
  return
}

// -----

func.func @sample(%l: tensor<1x128xf32>, %p: tensor<2x8xi32>, %t: tensor<2xi32>, %s: tensor<1xi32>) {
  // expected-error @+1 {{'gpt2.sample' op vocab 200 exceeds the 128 columns of logits}}
  %0:2 = gpt2.sample %l, %p into %t, %t at %s vocab 200 positions_limit 16 : tensor<1x128xf32>, tensor<2x8xi32>, tensor<2xi32>, tensor<2xi32>, tensor<1xi32>
  return
}

// -----

func.func @sample(%l: tensor<1x128xf32>, %p: tensor<2x4xi32>, %t: tensor<2xi32>, %s: tensor<1xi32>) {
  // expected-error @+1 {{'gpt2.sample' op sampling must be 2x8, not 2x4}}
  %0:2 = gpt2.sample %l, %p into %t, %t at %s vocab 100 positions_limit 16 : tensor<1x128xf32>, tensor<2x4xi32>, tensor<2xi32>, tensor<2xi32>, tensor<1xi32>
  return
}

// -----

func.func @cross_entropy(%l: tensor<6x128xf32>, %t: tensor<5xi32>) {
  // expected-error @+1 {{'gpt2.cross_entropy' op targets must be 6, not 5}}
  %0 = gpt2.cross_entropy %l, %t vocab 100 : (tensor<6x128xf32>, tensor<5xi32>) -> tensor<6xf32>
  return
}

// -----

func.func @fused(%x: tensor<6x8xf32>, %w: tensor<8x8xf32>) {
  // expected-error @+1 {{'gpt2.fused' op cannot hold 'gpt2.linear'}}
  %0 = gpt2.fused row (%a = %x : tensor<6x8xf32>, %b = %w : tensor<8x8xf32>) -> tensor<6x8xf32> {
    %1 = gpt2.linear %a, %b : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
    gpt2.yield %1 : tensor<6x8xf32>
  }
  return
}

// -----

func.func @fused(%x: tensor<6x8xf32>, %c: tensor<1xi32>) {
  %0 = gpt2.fused row (%a = %x : tensor<6x8xf32>, %b = %c : tensor<1xi32>) -> tensor<1x8xf32> {
    %r = gpt2.select_row %a at %b : tensor<6x8xf32> -> tensor<1x8xf32>
    // expected-error @+1 {{'gpt2.select_row' op operand 0 needs all rows of a value that the region computes}}
    %s = gpt2.select_row %r at %b : tensor<1x8xf32> -> tensor<1x8xf32>
    gpt2.yield %s : tensor<1x8xf32>
  }
  return
}

// -----

func.func @fused(%x: tensor<6x8xf32>, %c: tensor<1xi32>) {
  // expected-error @+1 {{'gpt2.fused' op holds 'gpt2.select_row' of 1 rows, not 6}}
  %0 = gpt2.fused row (%a = %x : tensor<6x8xf32>, %b = %c : tensor<1xi32>) -> tensor<1x8xf32> {
    %y = gpt2.activation relu %a : tensor<6x8xf32>
    %r = gpt2.select_row %y at %b : tensor<6x8xf32> -> tensor<1x8xf32>
    gpt2.yield %r : tensor<1x8xf32>
  }
  return
}

// -----

func.func @fused(%x: tensor<1x8xf32>, %c: tensor<1xi32>) {
  %0 = gpt2.fused row (%a = %x : tensor<1x8xf32>, %b = %c : tensor<1xi32>) -> tensor<1x8xf32> {
    %y = gpt2.activation relu %a : tensor<1x8xf32>
    // expected-error @+1 {{'gpt2.select_row' op operand 0 is used in two forms: pass the value twice}}
    %r = gpt2.select_row %a at %b : tensor<1x8xf32> -> tensor<1x8xf32>
    %s = gpt2.add %y, %r : tensor<1x8xf32>
    gpt2.yield %s : tensor<1x8xf32>
  }
  return
}

// -----

func.func @fused(%x: tensor<6x8xf32>) {
  // expected-error @+1 {{'gpt2.fused' op a matvec region holds one gpt2.linear, not 0}}
  %0 = gpt2.fused matvec (%a = %x : tensor<6x8xf32>) -> tensor<6x8xf32> {
    %1 = gpt2.activation relu %a : tensor<6x8xf32>
    gpt2.yield %1 : tensor<6x8xf32>
  }
  return
}

// -----

func.func @fused(%x: tensor<6x8xf32>, %w: tensor<8x8xf32>) {
  // expected-error @+1 {{'gpt2.fused' op a value of the prologue may lead to the linear's x only}}
  %0 = gpt2.fused matvec (%a = %x : tensor<6x8xf32>, %b = %w : tensor<8x8xf32>) -> tensor<6x8xf32> {
    %1 = gpt2.activation relu %a : tensor<6x8xf32>
    %2 = gpt2.linear %1, %b : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
    %3 = gpt2.add %1, %2 : tensor<6x8xf32>
    gpt2.yield %3 : tensor<6x8xf32>
  }
  return
}

// -----

func.func @fused(%x: tensor<6x8xf32>, %w: tensor<8x8xf32>, %g: tensor<8xf32>) {
  // expected-error @+1 {{'gpt2.fused' op 'gpt2.layer_norm' in the epilogue is not elementwise}}
  %0 = gpt2.fused matvec (%a = %x : tensor<6x8xf32>, %b = %w : tensor<8x8xf32>, %c = %g : tensor<8xf32>) -> tensor<6x8xf32> {
    %1 = gpt2.linear %a, %b : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
    %2:3 = gpt2.layer_norm %1, %c, %c epsilon 1.0e-5 : (tensor<6x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<6x8xf32>, tensor<6x1xf32>, tensor<6x1xf32>)
    gpt2.yield %2#0 : tensor<6x8xf32>
  }
  return
}

// -----

func.func @fused(%x: tensor<6x8xf32>) {
  // expected-error @+1 {{'gpt2.fused' op must not yield an argument}}
  %0 = gpt2.fused row (%a = %x : tensor<6x8xf32>) -> tensor<6x8xf32> {
    gpt2.yield %a : tensor<6x8xf32>
  }
  return
}

// -----

// expected-error @+1 {{count 'count' is not a gpt2.global of type 'tensor<1xi32>'}}
func.func @count() attributes {gpt2.program = #gpt2.program<
    role = prefill, batch = 1, tokens = 6, count = @count>} {
  return
}

// -----

func.func @foreign() attributes {
    gpt2.program = #gpt2.program<role = decode, batch = 1, tokens = 1>} {
  // expected-error @+1 {{'arith.constant' op is not of the gpt2 dialect, which programs are made of}}
  %0 = arith.constant 0 : i32
  return
}

// -----

// expected-error @+1 {{'gpt2.global' op attribute 'type' failed to satisfy constraint}}
gpt2.global state @empty : tensor<0x8xf32>

// -----

// expected-error @+1 {{'gpt2.global' op attribute 'type' failed to satisfy constraint}}
gpt2.global state @large : tensor<2000000000x2000000000xf32>

// -----

func.func @attention(%qkv: tensor<6x24xf32>) {
  // expected-error @+1 {{'gpt2.attention' op qkv rows of 24 do not split into 3 parts of 6148914691236517206 heads}}
  %0 = gpt2.attention %qkv batch 1 heads 6148914691236517206 scale 0.5 : tensor<6x24xf32> -> tensor<6x8xf32>
  return
}
