// Attention in training, its gradient and the embedding's on CUDA.
// RUN: gpt2-opt %s --select-cuda-kernels=matmul-workspace=1024 --split-input-file --verify-diagnostics | FileCheck %s

module attributes {plan.batch = 2 : i64, plan.target = #plan<target cuda>} {
plan.global gradient @wte.grad : memref<128x16xf32>
plan.global gradient @wpe.grad : memref<4x16xf32>
plan.global state @inputs : memref<8xi32>
plan.global state @order : memref<8xi32>
plan.global state @rng : memref<4xi32>

// Two layers that differ in dropout's number alone share their kernels.
// CHECK-DAG: plan.kernel @flash_forward "flash_forward" config {dropout_scale = 1.33333337 : f32, dropout_threshold = 1073741824 : i64, dtype = f32, head_size = 8 : i64, heads = 2 : i64, positions = 4 : i64, scale = 5.000000e-01 : f32}
// CHECK-DAG: plan.kernel @flash_backward_query "flash_backward_query" config {dropout_scale = 1.33333337 : f32, dropout_threshold = 1073741824 : i64,
// CHECK-DAG: plan.kernel @flash_backward_key "flash_backward_key" config {dropout_scale = 1.33333337 : f32, dropout_threshold = 1073741824 : i64,
// CHECK-DAG: plan.kernel @flash_forward_{{[0-9]+}} "flash_forward" config {dropout_scale = 1.000000e+00 : f32, dropout_threshold = 0 : i64,
// CHECK-DAG: plan.kernel @embed_grad "embed_grad" config {columns = 16 : i64, positions = 4 : i64, vocab = 128 : i64}
// CHECK-NOT: plan.kernel

// CHECK-LABEL: plan.program accumulate @accumulate
plan.program accumulate @accumulate batch 2 tokens 4 {
  %qkv = plan.alloc activation : memref<8x48xf32>
  %out = plan.alloc activation : memref<8x16xf32>
  %lse = plan.alloc activation : memref<8x2xf32>
  %dqkv = plan.alloc activation : memref<8x48xf32>
  %rng = plan.global_ref @rng : memref<4xi32>
  %inputs = plan.global_ref @inputs : memref<8xi32>
  %order = plan.global_ref @order : memref<8xi32>
  %dwte = plan.global_ref @wte.grad : memref<128x16xf32>
  %dwpe = plan.global_ref @wpe.grad : memref<4x16xf32>
  // CHECK: plan.launch @flash_forward rows 8 ins(%[[QKV:.*]], %[[RNG:.*]] : memref<8x48xf32>, memref<4xi32>) outs(%[[OUT:.*]], %[[LSE:.*]] : memref<8x16xf32>, memref<8x2xf32>) scalars [3] grid
  plan.attention %qkv rng %rng : memref<4xi32> dropout 0.25 id 3 into %out lse %lse : memref<8x2xf32> batch 2 tokens 4 heads 2 scale 0.5 : memref<8x48xf32> into memref<8x16xf32>
  // CHECK: plan.launch @flash_forward rows 8 {{.*}} scalars [6] grid
  plan.attention %qkv rng %rng : memref<4xi32> dropout 0.25 id 6 into %out lse %lse : memref<8x2xf32> batch 2 tokens 4 heads 2 scale 0.5 : memref<8x48xf32> into memref<8x16xf32>
  // CHECK: plan.launch @flash_forward_{{[0-9]+}} rows 8 ins(%[[QKV]] : memref<8x48xf32>) outs(%[[OUT]], %[[LSE]] : memref<8x16xf32>, memref<8x2xf32>) grid
  plan.attention %qkv into %out lse %lse : memref<8x2xf32> batch 2 tokens 4 heads 2 scale 0.5 : memref<8x48xf32> into memref<8x16xf32>
  // The second kernel reads what the first leaves: 8 rows * 2 heads * 8 bytes.
  // CHECK: %[[WS:.*]] = plan.alloc workspace : memref<128xi8>
  // CHECK: plan.launch @flash_backward_query rows 8 ins(%[[QKV]], %[[OUT]], %[[LSE]], %[[OUT]], %[[RNG]] : {{.*}}) outs(%[[DQKV:.*]], %[[WS]] : memref<8x48xf32>, memref<128xi8>) scalars [3] grid
  // CHECK: plan.launch @flash_backward_key rows 8 ins(%[[QKV]], %[[OUT]], %[[WS]], %[[RNG]] : {{.*}}) outs(%[[DQKV]] : memref<8x48xf32>) updates [0] scalars [3] grid
  plan.attention_grad %qkv, %out, %lse, %out rng %rng : memref<4xi32> dropout 0.25 id 3 into %dqkv batch 2 tokens 4 heads 2 scale 0.5 : memref<8x48xf32>, memref<8x16xf32>, memref<8x2xf32>, memref<8x16xf32> into memref<8x48xf32>
  // CHECK: plan.launch @embed_grad rows 8 ins(%[[OUT]], %{{.*}}, %{{.*}} : {{.*}}) outs(%{{.*}}, %{{.*}} : memref<128x16xf32>, memref<4x16xf32>) updates [0, 1] grid
  plan.embed_grad %out tokens %inputs order %order into %dwte, %dwpe batch 2 : memref<8x16xf32>, memref<8xi32>, memref<8xi32> into memref<128x16xf32>, memref<4x16xf32>
}
}

// -----

module attributes {plan.batch = 1 : i64, plan.target = #plan<target cuda>} {
plan.global state @rng : memref<4xi32>
plan.program accumulate @accumulate batch 1 tokens 4 {
  %qkv = plan.alloc activation : memref<4x48xf32>
  %out = plan.alloc activation : memref<4x16xf32>
  %rng = plan.global_ref @rng : memref<4xi32>
  // expected-error@+1 {{with dropout needs an lse: only training drops}}
  plan.attention %qkv rng %rng : memref<4xi32> dropout 0.25 id 3 into %out batch 1 tokens 4 heads 2 scale 0.5 : memref<4x48xf32> into memref<4x16xf32>
}
}

// -----

// With precision tf32 attention multiplies in tf32 what is stored in f32.
module attributes {plan.batch = 1 : i64, plan.precision = "tf32", plan.target = #plan<target cuda>} {
// CHECK-DAG: plan.kernel @flash_forward "flash_forward" config {{{.*}} dtype = tf32,
// CHECK-DAG: plan.kernel @flash_backward_query "flash_backward_query" config {{{.*}} dtype = tf32,
// CHECK-DAG: plan.kernel @flash_backward_key "flash_backward_key" config {{{.*}} dtype = tf32,
// CHECK-DAG: plan.kernel @flash_attention "flash_attention" config {cached = 0 : i64, dtype = tf32,
// CHECK-LABEL: plan.program accumulate @accumulate
plan.program accumulate @accumulate batch 1 tokens 4 {
  %qkv = plan.alloc activation : memref<4x48xf32>
  %out = plan.alloc activation : memref<4x16xf32>
  %lse = plan.alloc activation : memref<4x2xf32>
  %dqkv = plan.alloc activation : memref<4x48xf32>
  plan.attention %qkv into %out lse %lse : memref<4x2xf32> batch 1 tokens 4 heads 2 scale 0.5 : memref<4x48xf32> into memref<4x16xf32>
  plan.attention_grad %qkv, %out, %lse, %out into %dqkv batch 1 tokens 4 heads 2 scale 0.5 : memref<4x48xf32>, memref<4x16xf32>, memref<4x2xf32>, memref<4x16xf32> into memref<4x48xf32>
  plan.attention %qkv into %out batch 1 tokens 4 heads 2 scale 0.5 : memref<4x48xf32> into memref<4x16xf32>
}
}

// -----

// Decoding reads a cache and multiplies nothing on tensor cores.
module attributes {plan.batch = 2 : i64, plan.precision = "tf32", plan.target = #plan<target cuda>} {
plan.global cache @k : memref<2x2x16x4xf32>
plan.global cache @v : memref<2x2x16x4xf32>
plan.global state @positions : memref<2xi32>
// CHECK: plan.kernel @decode_attention "decode_attention" config {dtype = f32,
plan.program decode @decode_b2 batch 2 tokens 1 {
  %qkv = plan.alloc activation : memref<2x24xf32>
  %out = plan.alloc activation : memref<2x8xf32>
  %k = plan.global_ref @k : memref<2x2x16x4xf32>
  %v = plan.global_ref @v : memref<2x2x16x4xf32>
  %positions = plan.global_ref @positions : memref<2xi32>
  plan.cache_append %qkv caches %k, %v starts %positions batch 2 tokens 1 heads 2 : memref<2x24xf32>, memref<2x2x16x4xf32>, memref<2x2x16x4xf32>, memref<2xi32>
  plan.attention %qkv caches %k, %v starts %positions : memref<2x2x16x4xf32>, memref<2x2x16x4xf32>, memref<2xi32> into %out batch 2 tokens 1 heads 2 scale 5.000000e-01 : memref<2x24xf32> into memref<2x8xf32>
}
}
