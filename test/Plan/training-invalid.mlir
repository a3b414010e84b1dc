// Training's ops refuse what the runtime could not run, in one line.
// RUN: gpt2-opt %s --split-input-file --verify-diagnostics

plan.program accumulate @p batch 1 tokens 4 {
  %a = plan.alloc activation : memref<4x8xf32>
  %w = plan.alloc activation : memref<8x16xf32>
  %d = plan.alloc activation : memref<4x16xf32>
  // expected-error@+1 {{weight is 8x16xf32 but must have shape [?, 8]}}
  plan.matmul %a, %w into %d : memref<4x8xf32>, memref<8x16xf32> into memref<4x16xf32>
}

// -----

plan.program accumulate @p batch 1 tokens 4 {
  %a = plan.alloc activation : memref<4x8xf32>
  %x = plan.alloc activation : memref<4x16xf32>
  %d = plan.alloc activation : memref<4x16xf32>
  // expected-error@+1 {{d is 4x16xf32 but must have shape [8, 16]}}
  plan.matmul %a, %x into %d transpose_a weight_kn : memref<4x8xf32>, memref<4x16xf32> into memref<4x16xf32>
}

// -----

plan.program accumulate @p batch 1 tokens 4 {
  %a = plan.alloc activation : memref<4x8xbf16>
  %x = plan.alloc activation : memref<4x16xbf16>
  %d = plan.alloc activation : memref<8x16xbf16>
  // expected-error@+1 {{accumulate needs an f32 d and no bias}}
  plan.matmul %a, %x into %d transpose_a weight_kn accumulate : memref<4x8xbf16>, memref<4x16xbf16> into memref<8x16xbf16>
}

// -----

plan.program accumulate @p batch 1 tokens 4 {
  %a = plan.alloc activation : memref<4x8xf32>
  %x = plan.alloc activation : memref<4x16xf32>
  %d = plan.alloc activation : memref<8x16xf32>
  // expected-error@+1 {{transpose_a has no rows that a count could end}}
  plan.matmul %a, %x into %d transpose_a weight_kn dynamic_rows : memref<4x8xf32>, memref<4x16xf32> into memref<8x16xf32>
}

// -----

plan.program accumulate @p batch 1 tokens 4 {
  %qkv = plan.alloc activation : memref<4x18xf32>
  %out = plan.alloc activation : memref<4x6xf32>
  %lse = plan.alloc activation : memref<4x3xf32>
  // expected-error@+1 {{lse is 4x3xf32 but must have shape [4, 2]}}
  plan.attention %qkv into %out lse %lse : memref<4x3xf32> batch 1 tokens 4 heads 2 scale 0.5 : memref<4x18xf32> into memref<4x6xf32>
}

// -----

plan.program accumulate @p batch 1 tokens 4 {
  %qkv = plan.alloc activation : memref<4x18xf32>
  %out = plan.alloc activation : memref<4x6xf32>
  %rng = plan.alloc activation : memref<4xi32>
  // expected-error@+1 {{dropout must lie between 0 and 1}}
  plan.attention %qkv rng %rng : memref<4xi32> dropout 1.0 id 0 into %out batch 1 tokens 4 heads 2 scale 0.5 : memref<4x18xf32> into memref<4x6xf32>
}

// -----

plan.program accumulate @p batch 1 tokens 4 {
  %qkv = plan.alloc activation : memref<4x18xf32>
  %out = plan.alloc activation : memref<4x6xf32>
  // expected-error@+1 {{rng, dropout and id come together}}
  "plan.attention"(%qkv, %out) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 1, 0, 0>, batch = 1 : i64, tokens = 4 : i64, heads = 2 : i64, scale = 0.5 : f32, dropout = 0.5 : f32} : (memref<4x18xf32>, memref<4x6xf32>) -> ()
}

// -----

plan.global cache @k : memref<1x2x4x3xf32>
plan.program accumulate @p batch 1 tokens 4 {
  %qkv = plan.alloc activation : memref<4x18xf32>
  %out = plan.alloc activation : memref<4x6xf32>
  %lse = plan.alloc activation : memref<4x2xf32>
  %starts = plan.alloc activation : memref<1xi32>
  %k = plan.global_ref @k : memref<1x2x4x3xf32>
  // expected-error@+1 {{lse and rng are for attention without caches}}
  plan.attention %qkv caches %k, %k starts %starts : memref<1x2x4x3xf32>, memref<1x2x4x3xf32>, memref<1xi32> into %out lse %lse : memref<4x2xf32> batch 1 tokens 4 heads 2 scale 0.5 : memref<4x18xf32> into memref<4x6xf32>
}

// -----

plan.program accumulate @p batch 1 tokens 4 {
  %qkv = plan.alloc activation : memref<4x18xf32>
  %out = plan.alloc activation : memref<4x6xf32>
  %lse = plan.alloc activation : memref<4x2xf32>
  %d = plan.alloc activation : memref<4x18xbf16>
  // expected-error@+1 {{dqkv is 4x18xbf16 but qkv is 4x18xf32}}
  plan.attention_grad %qkv, %out, %lse, %out into %d batch 1 tokens 4 heads 2 scale 0.5 : memref<4x18xf32>, memref<4x6xf32>, memref<4x2xf32>, memref<4x6xf32> into memref<4x18xbf16>
}

// -----

plan.program accumulate @p batch 1 tokens 4 {
  %qkv = plan.alloc activation : memref<4x18xf32>
  %out = plan.alloc activation : memref<4x6xf32>
  %dout = plan.alloc activation : memref<4x5xf32>
  %lse = plan.alloc activation : memref<4x2xf32>
  // expected-error@+1 {{dout is 4x5xf32 but must have shape [4, 6]}}
  plan.attention_grad %qkv, %out, %lse, %dout into %qkv batch 1 tokens 4 heads 2 scale 0.5 : memref<4x18xf32>, memref<4x6xf32>, memref<4x2xf32>, memref<4x5xf32> into memref<4x18xf32>
}

// -----

plan.program accumulate @p batch 2 tokens 2 {
  %dx = plan.alloc activation : memref<4x6xf32>
  %ids = plan.alloc activation : memref<4xi32>
  %table = plan.alloc activation : memref<1x6xf32>
  // expected-error@+1 {{dwpe has 1 rows, fewer than the 2 tokens of a sequence}}
  plan.embed_grad %dx tokens %ids order %ids into %table, %table batch 2 : memref<4x6xf32>, memref<4xi32>, memref<4xi32> into memref<1x6xf32>, memref<1x6xf32>
}

// -----

plan.program accumulate @p batch 2 tokens 2 {
  %dx = plan.alloc activation : memref<4x6xf32>
  %ids = plan.alloc activation : memref<4xi32>
  %table = plan.alloc activation : memref<2x6xf32>
  // expected-error@+1 {{4 rows are not 3 sequences of the same length}}
  plan.embed_grad %dx tokens %ids order %ids into %table, %table batch 3 : memref<4x6xf32>, memref<4xi32>, memref<4xi32> into memref<2x6xf32>, memref<2x6xf32>
}

// -----

plan.kernel @sums "row" config {row_blocks = 2 : i64, rows = 4 : i64} body {
^bb0(%rows: index, %x: tensor<?x6xf32>, %sum: tensor<1x6xf32>):
  plan.yield %sum : tensor<1x6xf32>
}
plan.program accumulate @p batch 1 tokens 4 {
  %x = plan.alloc activation : memref<4x6xf32>
  %s = plan.alloc activation : memref<6xf32>
  %p = plan.alloc activation : memref<6x2xf32>
  // expected-error@+1 {{runs over 4 row blocks, but kernel @sums has 2}}
  plan.launch @sums rows 4 ins(%x, %s : memref<4x6xf32>, memref<6xf32>) outs(%p : memref<6x2xf32>)
}

// -----

plan.kernel @sums "row" config {row_blocks = 2 : i64, rows = 4 : i64} body {
^bb0(%rows: index, %x: tensor<?x6xf32>, %sum: tensor<1x6xf32>):
  plan.yield %sum : tensor<1x6xf32>
}
plan.program accumulate @p batch 1 tokens 4 {
  %x = plan.alloc activation : memref<4x6xf32>
  %s = plan.alloc activation : memref<6xf32>
  %p = plan.alloc activation : memref<6x4xf32>
  // expected-error@+1 {{output 0 is 6x4xf32 but kernel @sums takes 6x2xf32 at 4 rows}}
  plan.launch @sums rows 2 ins(%x, %s : memref<4x6xf32>, memref<6xf32>) outs(%p : memref<6x4xf32>)
}
