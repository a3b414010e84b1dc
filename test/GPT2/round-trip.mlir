// Every op survives printing and parsing, in its short and in its generic form.
// RUN: gpt2-opt %s | gpt2-opt | FileCheck %s
// RUN: gpt2-opt %s --mlir-print-op-generic | gpt2-opt | FileCheck %s

// CHECK: module attributes {gpt2.model = {eos = 5 : i64
// CHECK-SAME: gpt2.precision = "bf16"
module attributes {
  gpt2.model = {name = "toy", vocab = 100 : i64, padded_vocab = 128 : i64,
                positions = 16 : i64, width = 8 : i64, layers = 1 : i64,
                heads = 2 : i64, inner = 32 : i64, eos = 5 : i64,
                parameters = 1000 : i64},
  gpt2.precision = "bf16"
} {
// CHECK: gpt2.global parameter @wte : tensor<128x8xf32> names ["wte.weight"] source [100, 8]
gpt2.global parameter @wte : tensor<128x8xf32> names ["wte.weight"] source [100, 8]
// CHECK: gpt2.global parameter @wpe : tensor<16x8xf32> names ["wpe.weight"]{{$}}
gpt2.global parameter @wpe : tensor<16x8xf32> names ["wpe.weight"]
// CHECK: gpt2.global parameter @qkv : tensor<24x8xbf16> names ["a", "b"] transpose
gpt2.global parameter @qkv : tensor<24x8xbf16> names ["a", "b"] transpose
gpt2.global parameter @gamma : tensor<8xf32> names ["gamma"]
// CHECK: gpt2.global cache @k : tensor<4x2x16x4xbf16>
gpt2.global cache @k : tensor<4x2x16x4xbf16>
gpt2.global cache @v : tensor<4x2x16x4xbf16>
// CHECK: gpt2.global state @tokens : tensor<4xi32>
gpt2.global state @tokens : tensor<4xi32>
gpt2.global state @positions : tensor<4xi32>
gpt2.global state @sampling : tensor<4x8xi32>
gpt2.global state @count : tensor<1xi32>
gpt2.global state @start : tensor<1xi32>
gpt2.global state @slot : tensor<1xi32>
gpt2.global state @prompt : tensor<6xi32>
gpt2.global state @targets : tensor<6xi32>
gpt2.global parameter @vocab_bias : tensor<128xf32> names ["bias"]
gpt2.global state @losses : tensor<6xf32>

// CHECK: func.func @prefill() attributes {gpt2.program = #gpt2.program<role = prefill, batch = 1, tokens = 6, count = @count>}
func.func @prefill() attributes {gpt2.program = #gpt2.program<
    role = prefill, batch = 1, tokens = 6, count = @count>} {
  // CHECK: %[[PROMPT:.*]] = gpt2.read @prompt : tensor<6xi32>
  %prompt = gpt2.read @prompt : tensor<6xi32>
  %count = gpt2.read @count : tensor<1xi32>
  %start = gpt2.read @start : tensor<1xi32>
  %slot = gpt2.read @slot : tensor<1xi32>
  %wte = gpt2.read @wte : tensor<128x8xf32>
  %wpe = gpt2.read @wpe : tensor<16x8xf32>
  %w = gpt2.read @qkv : tensor<24x8xbf16>
  %gamma = gpt2.read @gamma : tensor<8xf32>
  %k0 = gpt2.read @k : tensor<4x2x16x4xbf16>
  %v0 = gpt2.read @v : tensor<4x2x16x4xbf16>
  // CHECK: gpt2.embed %[[PROMPT]], %{{.*}}, %{{.*}} at %start batch 1 : tensor<6xi32>, tensor<128x8xf32>, tensor<16x8xf32>, tensor<1xi32> -> tensor<6x8xf32>
  %x = gpt2.embed %prompt, %wte, %wpe at %start batch 1
      : tensor<6xi32>, tensor<128x8xf32>, tensor<16x8xf32>, tensor<1xi32>
      -> tensor<6x8xf32>
  // CHECK: gpt2.layer_norm %{{.*}}, %gamma, %gamma epsilon 9.99999974E-6 : (tensor<6x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<6x8xf32>, tensor<6x1xf32>, tensor<6x1xf32>)
  %y, %mean, %rstd = gpt2.layer_norm %x, %gamma, %gamma epsilon 1.0e-5
      : (tensor<6x8xf32>, tensor<8xf32>, tensor<8xf32>)
      -> (tensor<6x8xf32>, tensor<6x1xf32>, tensor<6x1xf32>)
  // CHECK: gpt2.cast %{{.*}} : tensor<6x8xf32> to tensor<6x8xbf16>
  %c = gpt2.cast %y : tensor<6x8xf32> to tensor<6x8xbf16>
  // CHECK: gpt2.linear %{{.*}}, %qkv : (tensor<6x8xbf16>, tensor<24x8xbf16>) -> tensor<6x24xbf16>
  %qkv = gpt2.linear %c, %w
      : (tensor<6x8xbf16>, tensor<24x8xbf16>) -> tensor<6x24xbf16>
  // CHECK: gpt2.cache_append %{{.*}} into %k, %v at %start count %count slot %slot batch 1 :
  %k1, %v1 = gpt2.cache_append %qkv into %k0, %v0 at %start count %count
      slot %slot batch 1
      : tensor<6x24xbf16>, tensor<4x2x16x4xbf16>, tensor<4x2x16x4xbf16>, tensor<1xi32>
  // CHECK: gpt2.attention %{{.*}} cache %{{.*}}, %{{.*}} at %start slot %slot batch 1 heads 2 scale 5.000000e-01 :
  %a = gpt2.attention %qkv cache %k1, %v1 at %start slot %slot
      batch 1 heads 2 scale 0.5
      : tensor<6x24xbf16>, tensor<4x2x16x4xbf16>, tensor<4x2x16x4xbf16>, tensor<1xi32>
      -> tensor<6x8xbf16>
  // CHECK: gpt2.activation gelu_tanh %{{.*}} : tensor<6x8xbf16>
  %g = gpt2.activation gelu_tanh %a : tensor<6x8xbf16>
  // CHECK: gpt2.add %{{.*}}, %{{.*}} : tensor<6x8xbf16>
  %s = gpt2.add %g, %a : tensor<6x8xbf16>
  %f = gpt2.cast %s : tensor<6x8xbf16> to tensor<6x8xf32>
  // CHECK: gpt2.select_row %{{.*}} at %count : tensor<6x8xf32> -> tensor<1x8xf32>
  %last = gpt2.select_row %f at %count : tensor<6x8xf32> -> tensor<1x8xf32>
  // CHECK: gpt2.linear %{{.*}}, %wte, %vocab_bias {f32_result} : (tensor<1x8xf32>, tensor<128x8xf32>, tensor<128xf32>) -> tensor<1x128xf32>
  %head_bias = gpt2.read @vocab_bias : tensor<128xf32>
  %logits = gpt2.linear %last, %wte, %head_bias {f32_result}
      : (tensor<1x8xf32>, tensor<128x8xf32>, tensor<128xf32>) -> tensor<1x128xf32>
  %sampling = gpt2.read @sampling : tensor<4x8xi32>
  %tokens = gpt2.read @tokens : tensor<4xi32>
  %positions = gpt2.read @positions : tensor<4xi32>
  // CHECK: gpt2.sample %{{.*}}, %sampling into %tokens, %positions at %start count %count slot %slot vocab 100 positions_limit 16 :
  %t, %p = gpt2.sample %logits, %sampling into %tokens, %positions at %start
      count %count slot %slot vocab 100 positions_limit 16
      : tensor<1x128xf32>, tensor<4x8xi32>, tensor<4xi32>, tensor<4xi32>, tensor<1xi32>
  // CHECK: gpt2.write @tokens, %{{.*}} : tensor<4xi32>
  gpt2.write @tokens, %t : tensor<4xi32>
  gpt2.write @positions, %p : tensor<4xi32>
  gpt2.write @k, %k1 : tensor<4x2x16x4xbf16>
  gpt2.write @v, %v1 : tensor<4x2x16x4xbf16>
  return
}

// CHECK: func.func @eval() attributes {gpt2.program = #gpt2.program<role = eval, batch = 2, tokens = 3>}
func.func @eval() attributes {
    gpt2.program = #gpt2.program<role = eval, batch = 2, tokens = 3>} {
  %prompt = gpt2.read @prompt : tensor<6xi32>
  %targets = gpt2.read @targets : tensor<6xi32>
  %wte = gpt2.read @wte : tensor<128x8xf32>
  %wpe = gpt2.read @wpe : tensor<16x8xf32>
  // CHECK: gpt2.embed %{{.*}}, %{{.*}}, %{{.*}} batch 2 : tensor<6xi32>, tensor<128x8xf32>, tensor<16x8xf32> -> tensor<6x8xf32>
  %x = gpt2.embed %prompt, %wte, %wpe batch 2
      : tensor<6xi32>, tensor<128x8xf32>, tensor<16x8xf32> -> tensor<6x8xf32>
  // CHECK: gpt2.fused row (%[[A:.*]] = %{{.*}} : tensor<6x8xf32>) -> (tensor<6x8xf32>, tensor<6x8xbf16>) {
  // CHECK-NEXT: %[[R:.*]] = gpt2.activation relu %[[A]] : tensor<6x8xf32>
  // CHECK-NEXT: %[[L:.*]] = gpt2.cast %[[R]] : tensor<6x8xf32> to tensor<6x8xbf16>
  // CHECK-NEXT: gpt2.yield %[[R]], %[[L]] : tensor<6x8xf32>, tensor<6x8xbf16>
  %r, %l = gpt2.fused row (%a = %x : tensor<6x8xf32>)
      -> (tensor<6x8xf32>, tensor<6x8xbf16>) {
    %0 = gpt2.activation relu %a : tensor<6x8xf32>
    %1 = gpt2.cast %0 : tensor<6x8xf32> to tensor<6x8xbf16>
    gpt2.yield %0, %1 : tensor<6x8xf32>, tensor<6x8xbf16>
  }
  // CHECK: gpt2.fused matvec (%{{.*}} = %{{.*}} : tensor<6x8xf32>, %{{.*}} = %{{.*}} : tensor<128x8xf32>) -> tensor<6x128xf32> {
  %logits = gpt2.fused matvec (%b = %r : tensor<6x8xf32>, %w = %wte : tensor<128x8xf32>)
      -> tensor<6x128xf32> {
    %0 = gpt2.activation silu %b : tensor<6x8xf32>
    %1 = gpt2.linear %0, %w : (tensor<6x8xf32>, tensor<128x8xf32>) -> tensor<6x128xf32>
    gpt2.yield %1 : tensor<6x128xf32>
  }
  // CHECK: gpt2.cross_entropy %{{.*}}, %targets vocab 100 : (tensor<6x128xf32>, tensor<6xi32>) -> tensor<6xf32>
  %losses = gpt2.cross_entropy %logits, %targets vocab 100
      : (tensor<6x128xf32>, tensor<6xi32>) -> tensor<6xf32>
  gpt2.write @losses, %losses : tensor<6xf32>
  return
}
}
