// Every op prints in a form that parses to the same op.
// RUN: gpt2-opt %s --verify-roundtrip | FileCheck %s

// CHECK: module attributes {plan.target = #plan<target cuda>}
module attributes {plan.target = #plan<target cuda>} {

// CHECK: plan.arena weights bytes 4096 alignment 512
plan.arena weights bytes 4096 alignment 512

// CHECK: plan.global parameter @w : memref<16x8xf32> names ["w", "x.w"] transpose offset 512
plan.global parameter @w : memref<16x8xf32> names ["w", "x.w"] transpose offset 512
plan.global parameter @bias : memref<16xf32> names ["b"]
// CHECK: plan.global cache @k : memref<2x2x4x3xf32>
plan.global cache @k : memref<2x2x4x3xf32>
plan.global cache @v : memref<2x2x4x3xf32>
// CHECK: plan.global state @tokens : memref<2xi32>
plan.global state @tokens : memref<2xi32>
plan.global state @positions : memref<2xi32>
plan.global state @sampling : memref<2x8xi32>
plan.global state @count : memref<1xi32>
plan.global state @slot : memref<1xi32>
plan.global state @logits : memref<2x128xf32>

// CHECK: plan.kernel @relu "row" body {
// CHECK-NEXT: ^bb0(%{{.*}}: index, %[[X:.*]]: tensor<?x8xf32>):
// CHECK-NEXT:   plan.yield %[[X]] : tensor<?x8xf32>
// CHECK-NEXT: }
plan.kernel @relu "row" body {
^bb0(%rows: index, %x: tensor<?x8xf32>):
  plan.yield %x : tensor<?x8xf32>
}

// CHECK: plan.kernel @mv "matvec" config {rows = 8 : i64, weight = tensor<16x8xf32>} body {
// CHECK: } epilogue {
plan.kernel @mv "matvec" config {rows = 8 : i64, weight = tensor<16x8xf32>} body {
^bb0(%rows: index, %x: tensor<?x8xf32>):
  plan.yield %x : tensor<?x8xf32>
} epilogue {
^bb0(%rows: index, %acc: tensor<?x16xf32>, %b: tensor<1x16xf32>):
  plan.yield %acc : tensor<?x16xf32>
}

// CHECK: plan.kernel @t "decode_attention" config {heads = 2 : i64}
plan.kernel @t "decode_attention" config {heads = 2 : i64}

// CHECK: plan.program init @init batch 1 tokens 1 {
plan.program init @init batch 1 tokens 1 {
  %w = plan.global_ref @w : memref<16x8xf32>
  // CHECK: plan.load_weight ["w", "x.w"] rows 8 cols 16 transpose into %{{.*}} : memref<16x8xf32>
  plan.load_weight ["w", "x.w"] rows 8 cols 16 transpose into %w : memref<16x8xf32>
  %b = plan.global_ref @bias : memref<16xf32>
  // CHECK: plan.fill %{{.*}} with 1.0{{.*}} : memref<16xf32>
  plan.fill %b with 1.0 : memref<16xf32>
}

// CHECK: plan.program prefill @prefill batch 1 tokens 4 count @count {
plan.program prefill @prefill batch 1 tokens 4 count @count {
  // CHECK: %[[X:.*]] = plan.alloc activation offset 0 first 0 last 2 : memref<4x8xf32>
  %x = plan.alloc activation offset 0 first 0 last 2 : memref<4x8xf32>
  %y = plan.alloc activation : memref<4x16xf32>
  // CHECK: %[[WS:.*]] = plan.alloc workspace : memref<64xi8>
  %ws = plan.alloc workspace : memref<64xi8>
  %w = plan.global_ref @w : memref<16x8xf32>
  %b = plan.global_ref @bias : memref<16xf32>
  // CHECK: plan.launch @relu rows 4 ins(%[[X]] : memref<4x8xf32>) outs(%[[X]] : memref<4x8xf32>) scalars [3] grid [1, 2, 3] dynamic_rows programmatic
  plan.launch @relu rows 4 ins(%x : memref<4x8xf32>) outs(%x : memref<4x8xf32>) scalars [3] grid [1, 2, 3] dynamic_rows programmatic
  // CHECK: plan.launch @mv rows 4 ins(%[[X]], %{{.*}}, %{{.*}} : memref<4x8xf32>, memref<16x8xf32>, memref<16xf32>) outs(%{{.*}} : memref<4x16xf32>)
  plan.launch @mv rows 4 ins(%x, %w, %b : memref<4x8xf32>, memref<16x8xf32>, memref<16xf32>) outs(%y : memref<4x16xf32>)
  // CHECK: plan.launch @t rows 4 ins(%[[X]] : memref<4x8xf32>) outs(%{{.*}}, %[[WS]] : memref<4x16xf32>, memref<64xi8>) updates [1]
  plan.launch @t rows 4 ins(%x : memref<4x8xf32>) outs(%y, %ws : memref<4x16xf32>, memref<64xi8>) updates [1]
  // CHECK: plan.matmul %[[X]], %{{.*}} bias %{{.*}} : memref<16xf32> into %{{.*}} workspace %[[WS]] : memref<64xi8> dynamic_rows : memref<4x8xf32>, memref<16x8xf32> into memref<4x16xf32>
  plan.matmul %x, %w bias %b : memref<16xf32> into %y workspace %ws : memref<64xi8> dynamic_rows : memref<4x8xf32>, memref<16x8xf32> into memref<4x16xf32>
  %z = plan.alloc activation : memref<4x16xf32>
  // CHECK: plan.copy %{{.*}} into %{{.*}} : memref<4x16xf32> into memref<4x16xf32>
  plan.copy %y into %z : memref<4x16xf32> into memref<4x16xf32>
}

// CHECK: plan.program decode @decode_b2 batch 2 tokens 1 {
plan.program decode @decode_b2 batch 2 tokens 1 {
  %qkv = plan.alloc activation : memref<2x18xf32>
  %out = plan.alloc activation : memref<2x6xf32>
  plan.fill %qkv with 0.0 : memref<2x18xf32>
  %k = plan.global_ref @k : memref<2x2x4x3xf32>
  %v = plan.global_ref @v : memref<2x2x4x3xf32>
  %tokens = plan.global_ref @tokens : memref<2xi32>
  %positions = plan.global_ref @positions : memref<2xi32>
  %sampling = plan.global_ref @sampling : memref<2x8xi32>
  %slot = plan.global_ref @slot : memref<1xi32>
  %count = plan.global_ref @count : memref<1xi32>
  %logits = plan.global_ref @logits : memref<2x128xf32>
  // CHECK: plan.cache_append %{{.*}} caches %{{.*}}, %{{.*}} starts %{{.*}} count %{{.*}} : memref<1xi32> slot %{{.*}} : memref<1xi32> batch 2 tokens 1 heads 2 : memref<2x18xf32>, memref<2x2x4x3xf32>, memref<2x2x4x3xf32>, memref<2xi32>
  plan.cache_append %qkv caches %k, %v starts %positions count %count : memref<1xi32> slot %slot : memref<1xi32> batch 2 tokens 1 heads 2 : memref<2x18xf32>, memref<2x2x4x3xf32>, memref<2x2x4x3xf32>, memref<2xi32>
  // CHECK: plan.attention %{{.*}} caches %{{.*}}, %{{.*}} starts %{{.*}} : memref<2x2x4x3xf32>, memref<2x2x4x3xf32>, memref<2xi32> slot %{{.*}} : memref<1xi32> into %{{.*}} batch 2 tokens 1 heads 2 scale 5.000000e-01 : memref<2x18xf32> into memref<2x6xf32>
  plan.attention %qkv caches %k, %v starts %positions : memref<2x2x4x3xf32>, memref<2x2x4x3xf32>, memref<2xi32> slot %slot : memref<1xi32> into %out batch 2 tokens 1 heads 2 scale 5.000000e-01 : memref<2x18xf32> into memref<2x6xf32>
  // CHECK: plan.attention %{{[0-9]+}} into %{{[0-9]+}} batch 1 tokens 2 heads 2 scale 5.000000e-01 dynamic_rows : memref<2x18xf32> into memref<2x6xf32>
  plan.attention %qkv into %out batch 1 tokens 2 heads 2 scale 5.000000e-01 dynamic_rows : memref<2x18xf32> into memref<2x6xf32>
  // CHECK: plan.sample %{{.*}} sampling %{{.*}} starts %{{.*}} into %{{.*}}, %{{.*}} vocab 100 limit 4 : memref<2x128xf32>, memref<2x8xi32>, memref<2xi32> into memref<2xi32>, memref<2xi32>
  plan.sample %logits sampling %sampling starts %positions into %tokens, %positions vocab 100 limit 4 : memref<2x128xf32>, memref<2x8xi32>, memref<2xi32> into memref<2xi32>, memref<2xi32>
  // CHECK: plan.global_ref @logits : memref<1x128xf32>
  %row = plan.global_ref @logits : memref<1x128xf32>
}
}
