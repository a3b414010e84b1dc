// What training adds prints in a form that parses to the same op.
// RUN: gpt2-opt %s --verify-roundtrip | FileCheck %s

// CHECK: plan.arena gradients bytes 4096 alignment 512
plan.arena gradients bytes 4096 alignment 512
// CHECK: plan.arena optimizer bytes 4096 alignment 512
plan.arena optimizer bytes 4096 alignment 512

// CHECK: plan.global gradient @w.grad : memref<18x6xf32> offset 0
plan.global gradient @w.grad : memref<18x6xf32> offset 0
// CHECK: plan.global moment @w.m : memref<18x6xf32>
plan.global moment @w.m : memref<18x6xf32>
plan.global parameter @w : memref<18x6xf32> names ["w"]
plan.global gradient @wte.grad : memref<16x6xf32>
plan.global gradient @wpe.grad : memref<4x6xf32>
plan.global state @inputs : memref<4xi32>
plan.global state @order : memref<4xi32>
plan.global state @rng : memref<4xi32>

// The sums of two blocks of four rows.
// CHECK: plan.kernel @sums "row" config {row_blocks = 2 : i64, rows = 4 : i64} body {
plan.kernel @sums "row" config {row_blocks = 2 : i64, rows = 4 : i64} body {
^bb0(%rows: index, %x: tensor<?x6xf32>, %sum: tensor<1x6xf32>):
  plan.yield %x, %sum : tensor<?x6xf32>, tensor<1x6xf32>
}

// CHECK: plan.program accumulate @accumulate batch 2 tokens 2 {
plan.program accumulate @accumulate batch 2 tokens 2 {
  %x = plan.alloc activation : memref<4x6xf32>
  %gamma = plan.alloc activation : memref<6xf32>
  %qkv = plan.alloc activation : memref<4x18xf32>
  %out = plan.alloc activation : memref<4x6xf32>
  %lse = plan.alloc activation : memref<4x2xf32>
  %partials = plan.alloc activation : memref<6x2xf32>
  %ws = plan.alloc workspace : memref<64xi8>
  %rng = plan.global_ref @rng : memref<4xi32>
  %inputs = plan.global_ref @inputs : memref<4xi32>
  %order = plan.global_ref @order : memref<4xi32>
  %w = plan.global_ref @w : memref<18x6xf32>
  %g = plan.global_ref @w.grad : memref<18x6xf32>
  %dwte = plan.global_ref @wte.grad : memref<16x6xf32>
  %dwpe = plan.global_ref @wpe.grad : memref<4x6xf32>
  plan.fill %qkv with 0.0 : memref<4x18xf32>
  plan.fill %gamma with 1.0 : memref<6xf32>
  // CHECK: plan.attention %{{.*}} into %{{.*}} lse %[[LSE:.*]] : memref<4x2xf32> batch 2 tokens 2 heads 2 scale 5.000000e-01 : memref<4x18xf32> into memref<4x6xf32>
  plan.attention %qkv into %out lse %lse : memref<4x2xf32> batch 2 tokens 2 heads 2 scale 5.000000e-01 : memref<4x18xf32> into memref<4x6xf32>
  // CHECK: plan.attention %{{.*}} rng %[[RNG:.*]] : memref<4xi32> dropout 2.500000e-01 id 3 into %{{.*}} lse %[[LSE]] : memref<4x2xf32> batch
  plan.attention %qkv rng %rng : memref<4xi32> dropout 0.25 id 3 into %out lse %lse : memref<4x2xf32> batch 2 tokens 2 heads 2 scale 5.000000e-01 : memref<4x18xf32> into memref<4x6xf32>
  // CHECK: plan.attention_grad %{{.*}}, %{{.*}}, %[[LSE]], %{{.*}} rng %[[RNG]] : memref<4xi32> dropout 2.500000e-01 id 3 into %{{.*}} workspace %{{.*}} : memref<64xi8> batch 2 tokens 2 heads 2 scale 5.000000e-01 : memref<4x18xf32>, memref<4x6xf32>, memref<4x2xf32>, memref<4x6xf32> into memref<4x18xf32>
  plan.attention_grad %qkv, %out, %lse, %out rng %rng : memref<4xi32> dropout 0.25 id 3 into %qkv workspace %ws : memref<64xi8> batch 2 tokens 2 heads 2 scale 5.000000e-01 : memref<4x18xf32>, memref<4x6xf32>, memref<4x2xf32>, memref<4x6xf32> into memref<4x18xf32>
  // CHECK: plan.matmul %{{.*}}, %{{.*}} into %{{.*}} weight_kn : memref<4x18xf32>, memref<18x6xf32> into memref<4x6xf32>
  plan.matmul %qkv, %w into %x weight_kn : memref<4x18xf32>, memref<18x6xf32> into memref<4x6xf32>
  // CHECK: plan.matmul %{{.*}}, %{{.*}} into %{{.*}} transpose_a weight_kn accumulate : memref<4x18xf32>, memref<4x6xf32> into memref<18x6xf32>
  plan.matmul %qkv, %x into %g transpose_a weight_kn accumulate : memref<4x18xf32>, memref<4x6xf32> into memref<18x6xf32>
  // CHECK: plan.launch @sums rows 2 ins(%{{.*}}, %{{.*}} : memref<4x6xf32>, memref<6xf32>) outs(%{{.*}}, %{{.*}} : memref<4x6xf32>, memref<6x2xf32>)
  plan.launch @sums rows 2 ins(%x, %gamma : memref<4x6xf32>, memref<6xf32>) outs(%out, %partials : memref<4x6xf32>, memref<6x2xf32>)
  // CHECK: plan.embed_grad %{{.*}} tokens %{{.*}} order %{{.*}} into %{{.*}}, %{{.*}} batch 2 : memref<4x6xf32>, memref<4xi32>, memref<4xi32> into memref<16x6xf32>, memref<4x6xf32>
  plan.embed_grad %x tokens %inputs order %order into %dwte, %dwpe batch 2 : memref<4x6xf32>, memref<4xi32>, memref<4xi32> into memref<16x6xf32>, memref<4x6xf32>
}

// CHECK: plan.program update @update batch 1 tokens 1 {
plan.program update @update batch 1 tokens 1 {
}
// CHECK: plan.program validate @validate batch 2 tokens 2 {
plan.program validate @validate batch 2 tokens 2 {
}

// CHECK: plan.global state @count : memref<1xi32>
plan.global state @count : memref<1xi32>
// CHECK: plan.program sample @sample batch 1 tokens 2 count @count {
plan.program sample @sample batch 1 tokens 2 count @count {
}
