// What the verifiers of the training ops refuse, and what they say.
// RUN: gpt2-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{'gpt2.global' op only a parameter comes from a checkpoint: remove names, source and transpose}}
gpt2.global gradient @g : tensor<8xf32> names ["w"]

// -----

gpt2.global parameter @w : tensor<8xf32> names ["w"]
func.func @accumulate() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 1>} {
  %0 = gpt2.read @w : tensor<8xf32>
  // expected-error @+1 {{'gpt2.write' op 'w' is a parameter, which only an update program may write}}
  gpt2.write @w, %0 : tensor<8xf32>
  return
}

// -----

func.func @dropout_keys(%rng: tensor<4xi32>) {
  // expected-error @+1 {{'gpt2.dropout_keys' op needs one id a result, and a result, not 2 ids and 1 results}}
  %0 = gpt2.dropout_keys %rng ids [1, 2] : tensor<1xi32>
  return
}

// -----

func.func @dropout(%x: tensor<6x8xf32>, %rng: tensor<4xi32>, %k: tensor<1xi32>) {
  // expected-error @+1 {{'gpt2.dropout' op the probability of dropping must be at least 0 and less than 1}}
  %0 = gpt2.dropout %x, %rng, %k probability 1.0 batch 2 : tensor<6x8xf32>
  return
}

// -----

func.func @dropout(%x: tensor<6x8xf32>, %rng: tensor<4xi32>, %k: tensor<1xi32>) {
  // expected-error @+1 {{'gpt2.dropout' op the probability of dropping must be at least 0 and less than 1}}
  %0 = gpt2.dropout %x, %rng, %k probability 0x7FC00000 batch 2 : tensor<6x8xf32>
  return
}

// -----

func.func @dropout(%x: tensor<6x8xf32>, %rng: tensor<4xi32>, %k: tensor<1xi32>) {
  // expected-error @+1 {{'gpt2.dropout' op 6 rows are not a multiple of batch 4}}
  %0 = gpt2.dropout %x, %rng, %k probability 0.5 batch 4 : tensor<6x8xf32>
  return
}

// -----

func.func @attention(%qkv: tensor<6x24xf32>) {
  // expected-error @+1 {{'gpt2.attention' op rng, dropout and dropout_id come together}}
  %0 = gpt2.attention %qkv batch 1 heads 2 scale 0.5 {dropout = 0.5 : f32} : tensor<6x24xf32> -> tensor<6x8xf32>
  return
}

// -----

func.func @attention(%qkv: tensor<6x24xf32>) {
  // expected-error @+1 {{'gpt2.attention' op lse must be 6x2, not 2x6}}
  %0:2 = gpt2.attention %qkv batch 1 heads 2 scale 0.5 : tensor<6x24xf32> -> tensor<6x8xf32>, tensor<2x6xf32>
  return
}

// -----

func.func @attention(%qkv: tensor<1x24xf32>, %k: tensor<2x2x16x4xf32>, %s: tensor<1xi32>) {
  // expected-error @+1 {{'gpt2.attention' op lse and rng need attention without caches}}
  %0:2 = gpt2.attention %qkv cache %k, %k at %s batch 1 heads 2 scale 0.5
      : tensor<1x24xf32>, tensor<2x2x16x4xf32>, tensor<2x2x16x4xf32>, tensor<1xi32>
      -> tensor<1x8xf32>, tensor<1x2xf32>
  return
}

// -----

func.func @attention_grad(%qkv: tensor<6x24xf32>, %out: tensor<6x8xf32>, %lse: tensor<6x1xf32>) {
  // expected-error @+1 {{'gpt2.attention_grad' op lse must be 6x2, not 6x1}}
  %0 = gpt2.attention_grad %qkv, %out, %lse, %out batch 1 heads 2 scale 0.5 : tensor<6x24xf32>, tensor<6x8xf32>, tensor<6x1xf32>
  return
}

// -----

func.func @attention_grad(%qkv: tensor<6x24xf32>, %out: tensor<6x8xf32>, %lse: tensor<6x2xf32>, %rng: tensor<4xi32>) {
  // expected-error @+1 {{'gpt2.attention_grad' op the probability of dropping must be at least 0 and less than 1}}
  %0 = gpt2.attention_grad %qkv, %out, %lse, %out rng %rng dropout -0.5 id 1 batch 1 heads 2 scale 0.5 : tensor<6x24xf32>, tensor<6x8xf32>, tensor<6x2xf32>
  return
}

// -----

func.func @slice_rows(%x: tensor<6x8xf32>) {
  // expected-error @+1 {{'gpt2.slice_rows' op 3 rows from row 4 on exceed the 6 of x}}
  %0 = gpt2.slice_rows %x from 4 : tensor<6x8xf32> -> tensor<3x8xf32>
  return
}

// -----

func.func @concat_rows(%x: tensor<6x8xf32>) {
  // expected-error @+1 {{'gpt2.concat_rows' op result must be 12x8, not 11x8}}
  %0 = gpt2.concat_rows %x, %x : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<11x8xf32>
  return
}

// -----

func.func @concat_rows(%x: tensor<6x8xf32>, %y: tensor<6x4xf32>) {
  // expected-error @+1 {{'gpt2.concat_rows' op a, b and result must differ in their rows alone}}
  %0 = gpt2.concat_rows %x, %y : (tensor<6x8xf32>, tensor<6x4xf32>) -> tensor<12x8xf32>
  return
}

// -----

func.func @cross_entropy(%x: tensor<6x8xf32>, %t: tensor<8xi32>) {
  // expected-error @+1 {{'gpt2.cross_entropy' op 6 rows from row 3 on exceed the 8 targets}}
  %0 = gpt2.cross_entropy %x, %t from 3 vocab 5 : (tensor<6x8xf32>, tensor<8xi32>) -> tensor<6xf32>
  return
}

// -----

func.func @normalize(%x: tensor<6x8xf32>, %g: tensor<8xf32>, %m: tensor<6x1xf32>) {
  // expected-error @+1 {{'gpt2.normalize' op rstd must be 6x1, not 6x8}}
  %0 = gpt2.normalize %x, %m, %x, %g, %g : (tensor<6x8xf32>, tensor<6x1xf32>, tensor<6x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @layer() {
  // expected-error @+1 {{'gpt2.layer' must be an i64 of at least 0}}
  return {gpt2.layer = -1 : i64}
}

// -----

func.func @layer_norm_grad(%x: tensor<6x8xf32>, %g: tensor<8xf32>, %m: tensor<6x1xf32>) {
  // expected-error @+1 {{'gpt2.layer_norm_grad' op dgamma has 7 row blocks, more than the 6 rows}}
  %0:3 = gpt2.layer_norm_grad %x, %x, %g, %m, %m : (tensor<6x8xf32>, tensor<6x8xf32>, tensor<8xf32>, tensor<6x1xf32>, tensor<6x1xf32>) -> (tensor<6x8xf32>, tensor<8x7xf32>, tensor<8x7xf32>)
  return
}

// -----

func.func @layer_norm_grad(%x: tensor<6x8xf32>, %g: tensor<8xf32>, %m: tensor<6x1xf32>) {
  // expected-error @+1 {{'gpt2.layer_norm_grad' op dbeta must be 8x2, not 8x3}}
  %0:3 = gpt2.layer_norm_grad %x, %x, %g, %m, %m : (tensor<6x8xf32>, tensor<6x8xf32>, tensor<8xf32>, tensor<6x1xf32>, tensor<6x1xf32>) -> (tensor<6x8xf32>, tensor<8x2xf32>, tensor<8x3xf32>)
  return
}

// -----

func.func @input_grad(%dy: tensor<6x24xbf16>, %w: tensor<24x8xf32>) {
  // expected-error @+1 {{'gpt2.input_grad' op the factors must have equal element types, not 'bf16' and 'f32'}}
  %0 = gpt2.input_grad %dy, %w : (tensor<6x24xbf16>, tensor<24x8xf32>) -> tensor<6x8xbf16>
  return
}

// -----

func.func @input_grad(%dy: tensor<6x24xf32>, %w: tensor<8x24xf32>) {
  // expected-error @+1 {{'gpt2.input_grad' op weight must be 24x24, not 8x24}}
  %0 = gpt2.input_grad %dy, %w : (tensor<6x24xf32>, tensor<8x24xf32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @weight_grad(%dy: tensor<6x24xf32>, %x: tensor<4x8xf32>, %acc: tensor<24x8xf32>) {
  // expected-error @+1 {{'gpt2.weight_grad' op x must be 6x8, not 4x8}}
  %0 = gpt2.weight_grad %dy, %x into %acc : tensor<6x24xf32>, tensor<4x8xf32>, tensor<24x8xf32>
  return
}

// -----

func.func @weight_grad(%dy: tensor<6x24xf32>, %x: tensor<6x8xf32>, %acc: tensor<8x24xf32>) {
  // expected-error @+1 {{'gpt2.weight_grad' op the result must be 24x8, not 8x24}}
  %0 = gpt2.weight_grad %dy, %x into %acc : tensor<6x24xf32>, tensor<6x8xf32>, tensor<8x24xf32>
  return
}

// -----

func.func @column_sum(%x: tensor<6x8xf32>) {
  // expected-error @+1 {{'gpt2.column_sum' op partials must be 8x2, not 6x2}}
  %0 = gpt2.column_sum %x : tensor<6x8xf32> -> tensor<6x2xf32>
  return
}

// -----

func.func @column_finish(%p: tensor<8x2xf32>, %acc: tensor<6xf32>) {
  // expected-error @+1 {{'gpt2.column_finish' op acc must be 8, not 6}}
  %0 = gpt2.column_finish %p into %acc : tensor<8x2xf32>, tensor<6xf32>
  return
}

// -----

func.func @cross_entropy_grad(%l: tensor<6x128xf32>, %t: tensor<6xi32>, %p: tensor<16xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{'gpt2.cross_entropy_grad' op vocab 129 exceeds the 128 columns of logits}}
  %0:3 = gpt2.cross_entropy_grad %l, %t, %p, %s vocab 129 : tensor<6x128xf32>, tensor<6xi32> -> tensor<6xf32>, tensor<1x2xf32>
  return
}

// -----

func.func @cross_entropy_grad(%l: tensor<6x128xf32>, %t: tensor<6xi32>, %p: tensor<16xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{'gpt2.cross_entropy_grad' op total must be 1x6, not 6x6}}
  %0:3 = gpt2.cross_entropy_grad %l, %t, %p, %s vocab 100 : tensor<6x128xf32>, tensor<6xi32> -> tensor<6xf32>, tensor<6x6xf32>
  return
}

// -----

func.func @embed_grad(%dx: tensor<6x8xf32>, %t: tensor<6xi32>, %wte: tensor<128x8xf32>, %wpe: tensor<2x8xf32>) {
  // expected-error @+1 {{'gpt2.embed_grad' op sequences of 3 tokens exceed the 2 positions of dwpe}}
  %0:2 = gpt2.embed_grad %dx, %t order %t into %wte, %wpe batch 2 : tensor<6x8xf32>, tensor<6xi32>, tensor<128x8xf32>, tensor<2x8xf32>
  return
}

// -----

func.func @square_sum(%g: tensor<6x8xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{'gpt2.square_sum' op partials must be 1x2, not 8x2}}
  %0 = gpt2.square_sum %g, %s : tensor<6x8xf32> -> tensor<8x2xf32>
  return
}

// -----

func.func @adamw(%p: tensor<6x8xf32>, %c: tensor<16xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{'gpt2.adamw' op low must be f16 or bf16: p itself is f32}}
  %0:5 = gpt2.adamw %p, %p, %p, %p, %c, %s : tensor<6x8xf32> -> tensor<6x8xf32>
  return
}

// -----

func.func @adamw(%p: tensor<6x8xf32>, %c: tensor<16xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{'gpt2.adamw' op low must be 6x8, not 8x6}}
  %0:5 = gpt2.adamw %p, %p, %p, %p, %c, %s : tensor<6x8xf32> -> tensor<8x6xbf16>
  return
}

// -----

func.func @fused(%x: tensor<8x8xf32>, %acc: tensor<8xf32>) {
  // expected-error @+3 {{'gpt2.column_finish' op operand 0 is a column result, which its own region cannot read}}
  %0 = gpt2.fused row (%a = %x : tensor<8x8xf32>, %b = %acc : tensor<8xf32>) -> tensor<8xf32> {
    %1 = gpt2.column_sum %a : tensor<8x8xf32> -> tensor<8x2xf32>
    %2 = gpt2.column_finish %1 into %b : tensor<8x2xf32>, tensor<8xf32>
    gpt2.yield %2 : tensor<8xf32>
  }
  return
}

// -----

func.func @fused(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{'gpt2.fused' op holds column results of 2 and of 4 row blocks}}
  %0:2 = gpt2.fused row (%a = %x : tensor<8x8xf32>) -> (tensor<8x2xf32>, tensor<8x4xf32>) {
    %1 = gpt2.column_sum %a : tensor<8x8xf32> -> tensor<8x2xf32>
    %2 = gpt2.column_sum %a : tensor<8x8xf32> -> tensor<8x4xf32>
    gpt2.yield %1, %2 : tensor<8x2xf32>, tensor<8x4xf32>
  }
  return
}
