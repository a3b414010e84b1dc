// Attention, cache appends and sampling become template kernels.
// RUN: gpt2-opt %s --select-cuda-kernels=matmul-workspace=1024 --split-input-file --verify-diagnostics | FileCheck %s

module attributes {plan.batch = 2 : i64, plan.target = #plan<target cuda>} {
// One counter a slot and head, zero between kernels.
// CHECK: plan.global state @counters : memref<2x2xi32>
plan.global cache @k : memref<2x2x16x4xf32>
plan.global cache @v : memref<2x2x16x4xf32>
plan.global state @tokens : memref<2xi32>
plan.global state @positions : memref<2xi32>
plan.global state @sampling : memref<2x8xi32>
plan.global state @start : memref<1xi32>
plan.global state @count : memref<1xi32>
plan.global state @slot : memref<1xi32>
plan.global state @logits : memref<2x128xf32>
plan.global parameter @w : memref<24x8xf32> names ["w"]

// CHECK-DAG: plan.kernel @decode_attention "decode_attention" config {dtype = f32, head_size = 4 : i64, heads = 2 : i64, positions = 16 : i64, scale = 5.000000e-01 : f32}
// CHECK-DAG: plan.kernel @flash_attention "flash_attention" config {cached = 1 : i64, dtype = f32, head_size = 4 : i64, heads = 2 : i64, positions = 16 : i64, scale = 5.000000e-01 : f32}
// CHECK-DAG: plan.kernel @cache_append "cache_append" config {dtype = f32, head_size = 4 : i64, heads = 2 : i64, positions = 16 : i64}
// CHECK-DAG: plan.kernel @sample "sample" config {padded_vocab = 128 : i64, positions_limit = 16 : i64, prefill = 0 : i64, vocab = 100 : i64}
// CHECK-DAG: plan.kernel @sample_{{[0-9]+}} "sample" config {padded_vocab = 128 : i64, positions_limit = 16 : i64, prefill = 1 : i64, vocab = 100 : i64}

// CHECK-LABEL: plan.program decode @decode_b2
plan.program decode @decode_b2 batch 2 tokens 1 {
  %x = plan.alloc activation : memref<2x8xf32>
  %qkv = plan.alloc activation : memref<2x24xf32>
  %out = plan.alloc activation : memref<2x8xf32>
  %w = plan.global_ref @w : memref<24x8xf32>
  %k = plan.global_ref @k : memref<2x2x16x4xf32>
  %v = plan.global_ref @v : memref<2x2x16x4xf32>
  %positions = plan.global_ref @positions : memref<2xi32>
  %tokens = plan.global_ref @tokens : memref<2xi32>
  %sampling = plan.global_ref @sampling : memref<2x8xi32>
  %logits = plan.global_ref @logits : memref<2x128xf32>
  // CHECK: %[[WS:.*]] = plan.alloc workspace : memref<1024xi8>
  // CHECK: plan.matmul %{{.*}} workspace %[[WS]] : memref<1024xi8>
  plan.matmul %x, %w into %qkv : memref<2x8xf32>, memref<24x8xf32> into memref<2x24xf32>
  // The append is part of the attention. Workspace: 2 rows * 2 heads * 1 chunk
  // * (4 + 2) floats. Grid: heads, rows, chunks of 128 keys.
  // CHECK-NOT: cache_append
  // CHECK: %[[P:.*]] = plan.alloc workspace : memref<96xi8>
  // CHECK: %[[C:.*]] = plan.global_ref @counters : memref<2x2xi32>
  // CHECK: plan.launch @decode_attention rows 2 ins(%{{.*}}, %{{.*}} : memref<2x24xf32>, memref<2xi32>) outs(%{{.*}}, %{{.*}}, %{{.*}}, %[[P]], %[[C]] : memref<2x2x16x4xf32>, memref<2x2x16x4xf32>, memref<2x8xf32>, memref<96xi8>, memref<2x2xi32>) updates [0, 1, 4] grid [2, 2, 1] programmatic
  plan.cache_append %qkv caches %k, %v starts %positions batch 2 tokens 1 heads 2 : memref<2x24xf32>, memref<2x2x16x4xf32>, memref<2x2x16x4xf32>, memref<2xi32>
  plan.attention %qkv caches %k, %v starts %positions : memref<2x2x16x4xf32>, memref<2x2x16x4xf32>, memref<2xi32> into %out batch 2 tokens 1 heads 2 scale 5.000000e-01 : memref<2x24xf32> into memref<2x8xf32>
  // CHECK: plan.launch @sample rows 2 ins(%{{.*}}, %{{.*}}, %{{.*}} : memref<2x128xf32>, memref<2x8xi32>, memref<2xi32>) outs(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : memref<2xi32>, memref<2xi32>, memref<{{.*}}xi8>, memref<2x2xi32>) updates [0, 1, 3]
  plan.sample %logits sampling %sampling starts %positions into %tokens, %positions vocab 100 limit 16 : memref<2x128xf32>, memref<2x8xi32>, memref<2xi32> into memref<2xi32>, memref<2xi32>
}

// CHECK-LABEL: plan.program prefill @prefill
plan.program prefill @prefill batch 1 tokens 6 count @count {
  %qkv = plan.alloc activation : memref<6x24xf32>
  %out = plan.alloc activation : memref<6x8xf32>
  %k = plan.global_ref @k : memref<2x2x16x4xf32>
  %v = plan.global_ref @v : memref<2x2x16x4xf32>
  %start = plan.global_ref @start : memref<1xi32>
  %count = plan.global_ref @count : memref<1xi32>
  %slot = plan.global_ref @slot : memref<1xi32>
  %positions = plan.global_ref @positions : memref<2xi32>
  %tokens = plan.global_ref @tokens : memref<2xi32>
  %sampling = plan.global_ref @sampling : memref<2x8xi32>
  %logits = plan.global_ref @logits : memref<1x128xf32>
  // CHECK: plan.launch @cache_append rows 6 ins(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : memref<6x24xf32>, memref<1xi32>, memref<1xi32>, memref<1xi32>) outs({{.*}}) updates [0, 1] grid [6, 1, 1] programmatic
  plan.cache_append %qkv caches %k, %v starts %start count %count : memref<1xi32> slot %slot : memref<1xi32> batch 1 tokens 6 heads 2 : memref<6x24xf32>, memref<2x2x16x4xf32>, memref<2x2x16x4xf32>, memref<1xi32>
  // CHECK: plan.launch @flash_attention rows 6 ins({{.*}} : memref<6x24xf32>, memref<2x2x16x4xf32>, memref<2x2x16x4xf32>, memref<1xi32>, memref<1xi32>, memref<1xi32>) outs(%{{.*}} : memref<6x8xf32>) grid [1, 2, 1] programmatic
  plan.attention %qkv caches %k, %v starts %start : memref<2x2x16x4xf32>, memref<2x2x16x4xf32>, memref<1xi32> slot %slot : memref<1xi32> into %out batch 1 tokens 6 heads 2 scale 5.000000e-01 dynamic_rows : memref<6x24xf32> into memref<6x8xf32>
  // CHECK: plan.launch @sample_{{[0-9]+}} rows 1
  plan.sample %logits sampling %sampling starts %start count %count : memref<1xi32> slot %slot : memref<1xi32> into %tokens, %positions vocab 100 limit 16 : memref<1x128xf32>, memref<2x8xi32>, memref<1xi32> into memref<2xi32>, memref<2xi32>
}
}

// -----

plan.global cache @k : memref<2x2x16x4xf32>
plan.global state @positions : memref<2xi32>
plan.program decode @decode_b2 batch 2 tokens 1 {
  %qkv = plan.alloc activation : memref<2x24xf32>
  %out = plan.alloc activation : memref<2x8xf32>
  %k = plan.global_ref @k : memref<2x2x16x4xf32>
  %positions = plan.global_ref @positions : memref<2xi32>
  // expected-error@+1 {{of one token a sequence needs the cache_append of its qkv right before it}}
  plan.attention %qkv caches %k, %k starts %positions : memref<2x2x16x4xf32>, memref<2x2x16x4xf32>, memref<2xi32> into %out batch 2 tokens 1 heads 2 scale 5.000000e-01 : memref<2x24xf32> into memref<2x8xf32>
}

// -----

// The template's own limits are errors of the kernel.
plan.program eval @eval batch 1 tokens 2 {
  %qkv = plan.alloc activation : memref<2x768xf32>
  %out = plan.alloc activation : memref<2x256xf32>
  // expected-error@+1 {{head_size must be in 1..128}}
  plan.attention %qkv into %out batch 1 tokens 2 heads 1 scale 1.0 : memref<2x768xf32> into memref<2x256xf32>
}
