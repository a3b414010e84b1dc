// Linear layers, attention, sampling, the count slot and the init program.
// RUN: gpt2-opt %s --convert-gpt2-to-plan | FileCheck %s
// RUN: gpt2-opt %s --convert-gpt2-to-plan='target=cuda matvec-rows=1' \
// RUN:   | FileCheck %s --check-prefix=MATVEC

// CHECK: plan.model = {{{.*}}name = "toy"
// CHECK-SAME: plan.precision = "bf16"
// CHECK-SAME: plan.target = #plan<target cpu>
// MATVEC: plan.target = #plan<target cuda>
module attributes {
  gpt2.model = {name = "toy", vocab = 100 : i64, padded_vocab = 128 : i64,
                positions = 16 : i64, width = 8 : i64, layers = 1 : i64,
                heads = 2 : i64, inner = 32 : i64, eos = 5 : i64,
                parameters = 1000 : i64},
  gpt2.precision = "bf16"
} {
gpt2.global parameter @wte : tensor<128x8xf32> names ["wte.weight"] source [100, 8]
gpt2.global parameter @w : tensor<24x8xf32> names ["a", "b"] transpose
gpt2.global parameter @b : tensor<24xf32> names ["c"]
gpt2.global cache @k : tensor<4x2x16x4xf32>
gpt2.global cache @v : tensor<4x2x16x4xf32>
gpt2.global state @tokens : tensor<4xi32>
gpt2.global state @positions : tensor<4xi32>
gpt2.global state @sampling : tensor<4x8xi32>
gpt2.global state @count : tensor<1xi32>
gpt2.global state @start : tensor<1xi32>
gpt2.global state @slot : tensor<1xi32>
gpt2.global state @x : tensor<6x8xf32>
gpt2.global state @logits : tensor<4x128xf32>

// The head has one row.
// MATVEC: plan.kernel @linear_128 "matvec" config {rows = 1 : i64, weight = tensor<128x8xf32>} body {

// Vocabulary rows from 100 on are padding.
// CHECK-LABEL: plan.program init @init
// CHECK: %[[WTE:.*]] = plan.global_ref @wte
// CHECK: plan.load_weight ["wte.weight"] rows 100 cols 8 into %[[WTE]]
// CHECK: plan.load_weight ["a", "b"] rows 8 cols 24 transpose into
// CHECK: plan.load_weight ["c"] rows 24 cols 0 into
// CHECK-NOT: load_weight

// CHECK-LABEL: plan.program prefill @prefill batch 1 tokens 6 count @count {
func.func @prefill() attributes {gpt2.program = #gpt2.program<
    role = prefill, batch = 1, tokens = 6, count = @count>} {
  %x = gpt2.read @x : tensor<6x8xf32>
  %w = gpt2.read @w : tensor<24x8xf32>
  %b = gpt2.read @b : tensor<24xf32>
  %wte = gpt2.read @wte : tensor<128x8xf32>
  %k = gpt2.read @k : tensor<4x2x16x4xf32>
  %v = gpt2.read @v : tensor<4x2x16x4xf32>
  %start = gpt2.read @start : tensor<1xi32>
  %count = gpt2.read @count : tensor<1xi32>
  %slot = gpt2.read @slot : tensor<1xi32>
  // CHECK: plan.matmul %{{.*}}, %{{.*}} bias %{{.*}} : memref<24xf32> into %[[QKV:.*]] dynamic_rows : memref<6x8xf32>, memref<24x8xf32> into memref<6x24xf32>
  // MATVEC: plan.matmul %{{.*}} dynamic_rows
  %qkv = gpt2.linear %x, %w, %b
      : (tensor<6x8xf32>, tensor<24x8xf32>, tensor<24xf32>) -> tensor<6x24xf32>
  // CHECK: plan.cache_append %[[QKV]] caches %{{.*}}, %{{.*}} starts %{{.*}} count %{{.*}} : memref<1xi32> slot %{{.*}} : memref<1xi32> batch 1 tokens 6 heads 2
  %k1, %v1 = gpt2.cache_append %qkv into %k, %v at %start count %count slot %slot batch 1
      : tensor<6x24xf32>, tensor<4x2x16x4xf32>, tensor<4x2x16x4xf32>, tensor<1xi32>
  // CHECK: plan.attention %[[QKV]] caches {{.*}} batch 1 tokens 6 heads 2 scale 5.000000e-01 dynamic_rows
  %a = gpt2.attention %qkv cache %k1, %v1 at %start slot %slot batch 1 heads 2 scale 0.5
      : tensor<6x24xf32>, tensor<4x2x16x4xf32>, tensor<4x2x16x4xf32>, tensor<1xi32>
      -> tensor<6x8xf32>
  // One row: it does not follow the count.
  // CHECK: plan.launch @select_row_8 rows 1 {{.*}} outs(%[[ROW:.*]] : memref<1x8xf32>){{$}}
  %row = gpt2.select_row %a at %count : tensor<6x8xf32> -> tensor<1x8xf32>
  // CHECK: %[[LOGITS:.*]] = plan.global_ref @logits : memref<1x128xf32>
  // CHECK: plan.matmul %[[ROW]], %{{.*}} into %[[LOGITS]] : memref<1x8xf32>, memref<128x8xf32> into memref<1x128xf32>
  // MATVEC: plan.launch @linear_128 rows 1 ins(%{{.*}}, %{{.*}} : memref<1x8xf32>, memref<128x8xf32>) outs(%{{.*}} : memref<1x128xf32>)
  %logits = gpt2.linear %row, %wte {f32_result}
      : (tensor<1x8xf32>, tensor<128x8xf32>) -> tensor<1x128xf32>
  %sampling = gpt2.read @sampling : tensor<4x8xi32>
  %tokens = gpt2.read @tokens : tensor<4xi32>
  %positions = gpt2.read @positions : tensor<4xi32>
  // CHECK: plan.sample %[[LOGITS]] sampling {{.*}} vocab 100 limit 16
  %t, %p = gpt2.sample %logits, %sampling into %tokens, %positions at %start
      count %count slot %slot vocab 100 positions_limit 16
      : tensor<1x128xf32>, tensor<4x8xi32>, tensor<4xi32>, tensor<4xi32>, tensor<1xi32>
  gpt2.write @logits, %logits : tensor<1x128xf32>
  gpt2.write @tokens, %t : tensor<4xi32>
  gpt2.write @positions, %p : tensor<4xi32>
  gpt2.write @k, %k1 : tensor<4x2x16x4xf32>
  gpt2.write @v, %v1 : tensor<4x2x16x4xf32>
  return
}
}
