// Each op refuses what the runtime could not run, in one line.
// RUN: gpt2-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{a parameter needs at least one checkpoint name}}
plan.global parameter @w : memref<4x8xf32>

// -----

// expected-error@+1 {{only parameters have checkpoint names or transpose}}
plan.global state @s : memref<4xi32> names ["s"]

// -----

// expected-error@+1 {{transpose needs a matrix}}
plan.global parameter @w : memref<4xf32> names ["w"] transpose

// -----

// expected-error@+1 {{has no elements}}
plan.global cache @k : memref<0x4xf32>

// -----

// expected-error@+1 {{alignment must be a power of two}}
plan.arena weights bytes 64 alignment 96

// -----

// expected-error@+1 {{bytes must not be negative}}
plan.arena weights bytes -1 alignment 64

// -----

// expected-error@+1 {{kind 'row' needs a body}}
plan.kernel @k "row"

// -----

// expected-error@+1 {{kind 'sample' has no body}}
plan.kernel @k "sample" body {
^bb0(%rows: index, %x: tensor<?x8xf32>):
  plan.yield %x : tensor<?x8xf32>
}

// -----

// expected-error@+1 {{kind 'row' has no epilogue}}
plan.kernel @k "row" body {
^bb0(%rows: index, %x: tensor<?x8xf32>):
  plan.yield %x : tensor<?x8xf32>
} epilogue {
^bb0(%rows: index, %x: tensor<?x8xf32>):
  plan.yield %x : tensor<?x8xf32>
}

// -----

// expected-error@+1 {{the first block argument must be the number of rows, an index}}
plan.kernel @k "row" body {
^bb0(%x: tensor<?x8xf32>):
  plan.yield %x : tensor<?x8xf32>
}

// -----

// expected-error@+1 {{input type 'tensor<?x?xf32>' is not a tensor of rank 2 with static columns}}
plan.kernel @k "row" body {
^bb0(%rows: index, %x: tensor<?x?xf32>):
  plan.yield %x : tensor<?x?xf32>
}

// -----

// expected-error@+1 {{output type 'tensor<1x8xf32>' is not a tensor of dynamic rows and static columns}}
plan.kernel @k "row" body {
^bb0(%rows: index, %x: tensor<1x8xf32>):
  plan.yield %x : tensor<1x8xf32>
}

// -----

// expected-error@+1 {{config of a kernel with row_blocks needs integers 1 <= row_blocks <= rows}}
plan.kernel @k "row" config {rows = 4 : i64, row_blocks = 5 : i64} body {
^bb0(%rows: index, %x: tensor<?x8xf32>):
  plan.yield %x : tensor<?x8xf32>
}

// -----

// expected-error@+1 {{a region yields nothing}}
plan.kernel @k "row" body {
^bb0(%rows: index, %x: tensor<1x8xf32>):
  plan.yield
}

// -----

plan.kernel @k "row" body {
^bb0(%rows: index, %x: tensor<?x8xf32>):
  // expected-error@+1 {{does not belong in a kernel's normal form}}
  %d = tensor.collapse_shape %x [[0, 1]] : tensor<?x8xf32> into tensor<?xf32>
  plan.yield %x : tensor<?x8xf32>
}

// -----

#map = affine_map<(d0) -> (d0, 0)>
plan.kernel @k "row" body {
^bb0(%rows: index, %x: tensor<?x1xf32>):
  %e = tensor.empty(%rows) : tensor<?x1xf32>
  // expected-error@+1 {{a kernel's loops are (rows, columns), not 1 loops}}
  %y = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%x : tensor<?x1xf32>) outs(%e : tensor<?x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<?x1xf32>
  plan.yield %y : tensor<?x1xf32>
}

// -----

// expected-error@+1 {{config of a matvec needs weight = tensor<NxKxT>}}
plan.kernel @k "matvec" body {
^bb0(%rows: index, %x: tensor<?x8xf32>):
  plan.yield %x : tensor<?x8xf32>
} epilogue {
^bb0(%rows: index, %acc: tensor<?x16xf32>):
  plan.yield %acc : tensor<?x16xf32>
}

// -----

// expected-error@+1 {{config of a matvec needs an integer rows >= 1}}
plan.kernel @k "matvec" config {weight = tensor<16x8xbf16>} body {
^bb0(%rows: index, %x: tensor<?x8xf32>):
  plan.yield %x : tensor<?x8xf32>
} epilogue {
^bb0(%rows: index, %acc: tensor<?x16xf32>):
  plan.yield %acc : tensor<?x16xf32>
}

// -----

// expected-error@+1 {{the prologue must yield one tensor with K = 8 columns}}
plan.kernel @k "matvec" config {rows = 8 : i64, weight = tensor<16x8xbf16>} body {
^bb0(%rows: index, %x: tensor<?x4xf32>):
  plan.yield %x : tensor<?x4xf32>
} epilogue {
^bb0(%rows: index, %acc: tensor<?x16xf32>):
  plan.yield %acc : tensor<?x16xf32>
}

// -----

// expected-error@+1 {{the epilogue's second argument must be the accumulators, 'tensor<?x16xf32>'}}
plan.kernel @k "matvec" config {rows = 8 : i64, weight = tensor<16x8xbf16>} body {
^bb0(%rows: index, %x: tensor<?x8xbf16>):
  plan.yield %x : tensor<?x8xbf16>
} epilogue {
^bb0(%rows: index, %acc: tensor<?x16xbf16>):
  plan.yield %acc : tensor<?x16xbf16>
}

// -----

// expected-error@+1 {{batch and tokens must be positive}}
plan.program decode @p batch 0 tokens 1 {}

// -----

// expected-error@+1 {{count @count is not a state global of one i32}}
plan.program prefill @p batch 1 tokens 4 count @count {}

// -----

plan.program prefill @p batch 1 tokens 4 {
  // expected-error@+1 {{is neither a buffer nor an instruction}}
  %0 = arith.constant 1 : index
}

// -----

plan.program prefill @p batch 1 tokens 4 {
  // expected-error@+1 {{there is no global @w}}
  %0 = plan.global_ref @w : memref<4xf32>
}

// -----

plan.global state @s : memref<4x8xf32>
plan.program prefill @p batch 1 tokens 4 {
  // expected-error@+1 {{5x8xf32 is not a prefix of @s, which is 4x8xf32}}
  %0 = plan.global_ref @s : memref<5x8xf32>
}

// -----

plan.global state @s : memref<4x8xf32>
plan.program prefill @p batch 1 tokens 4 {
  // expected-error@+1 {{4x4xf32 is not a prefix of @s, which is 4x8xf32}}
  %0 = plan.global_ref @s : memref<4x4xf32>
}

// -----

plan.program prefill @p batch 1 tokens 4 {
  // expected-error@+1 {{offset, first and last come together}}
  %0 = plan.alloc activation offset 64 : memref<4xf32>
}

// -----

plan.program prefill @p batch 1 tokens 4 {
  // expected-error@+1 {{needs 0 <= offset and 0 <= first <= last}}
  %0 = plan.alloc activation offset 64 first 3 last 2 : memref<4xf32>
}

// -----

plan.program prefill @p batch 1 tokens 4 {
  %0 = plan.alloc activation : memref<4x8xf32>
  // expected-error@+1 {{there is no kernel @k}}
  plan.launch @k rows 4 outs(%0 : memref<4x8xf32>)
}

// -----

plan.kernel @k "row" body {
^bb0(%rows: index, %x: tensor<?x8xf32>):
  plan.yield %x : tensor<?x8xf32>
}
plan.program prefill @p batch 1 tokens 4 {
  %0 = plan.alloc activation : memref<4x8xf32>
  %1 = plan.alloc activation : memref<4x8xbf16>
  // expected-error@+1 {{output 0 is 4x8xbf16 but kernel @k takes ?x8xf32 at 4 rows}}
  plan.launch @k rows 4 ins(%0 : memref<4x8xf32>) outs(%1 : memref<4x8xbf16>)
}

// -----

plan.kernel @k "row" body {
^bb0(%rows: index, %x: tensor<?x8xf32>):
  plan.yield %x : tensor<?x8xf32>
}
plan.program prefill @p batch 1 tokens 4 {
  %0 = plan.alloc activation : memref<4x8xf32>
  // expected-error@+1 {{input 0 is 4x8xf32 but kernel @k takes ?x8xf32 at 5 rows}}
  plan.launch @k rows 5 ins(%0 : memref<4x8xf32>) outs(%0 : memref<4x8xf32>)
}

// -----

plan.kernel @k "row" body {
^bb0(%rows: index, %x: tensor<?x8xf32>):
  plan.yield %x : tensor<?x8xf32>
}
plan.program prefill @p batch 1 tokens 4 {
  %0 = plan.alloc activation : memref<4x8xf32>
  // expected-error@+1 {{has 2 inputs but kernel @k takes 1}}
  plan.launch @k rows 4 ins(%0, %0 : memref<4x8xf32>, memref<4x8xf32>) outs(%0 : memref<4x8xf32>)
}

// -----

plan.kernel @k "sample"
plan.program prefill @p batch 1 tokens 4 {
  %0 = plan.alloc activation : memref<4x8xf32>
  // expected-error@+1 {{updates names output 1 of 1}}
  plan.launch @k rows 4 outs(%0 : memref<4x8xf32>) updates [1]
}

// -----

plan.kernel @k "sample"
plan.program prefill @p batch 1 tokens 4 {
  %0 = plan.alloc activation : memref<4x8xf32>
  // expected-error@+1 {{grid must be three positive sizes, y and z at most 65535}}
  plan.launch @k rows 4 outs(%0 : memref<4x8xf32>) grid [1, 65536, 1]
}

// -----

plan.kernel @k "sample"
plan.program prefill @p batch 1 tokens 4 {
  %0 = plan.alloc activation : memref<4x8xf32>
  // expected-error@+1 {{writes nothing}}
  plan.launch @k rows 4 ins(%0 : memref<4x8xf32>)
}

// -----

plan.program prefill @p batch 1 tokens 4 {
  %a = plan.alloc activation : memref<4x8xf32>
  %w = plan.alloc activation : memref<16x9xf32>
  %d = plan.alloc activation : memref<4x16xf32>
  // expected-error@+1 {{weight is 16x9xf32 but must have shape [?, 8]}}
  plan.matmul %a, %w into %d : memref<4x8xf32>, memref<16x9xf32> into memref<4x16xf32>
}

// -----

plan.program prefill @p batch 1 tokens 4 {
  %a = plan.alloc activation : memref<4x8xf32>
  %w = plan.alloc activation : memref<16x8xbf16>
  %d = plan.alloc activation : memref<4x16xf32>
  // expected-error@+1 {{weight is 16x8xbf16 but must hold 'f32'}}
  plan.matmul %a, %w into %d : memref<4x8xf32>, memref<16x8xbf16> into memref<4x16xf32>
}

// -----

plan.program prefill @p batch 1 tokens 4 {
  %a = plan.alloc activation : memref<4x8xf32>
  %w = plan.alloc activation : memref<16x8xf32>
  %b = plan.alloc activation : memref<15xf32>
  %d = plan.alloc activation : memref<4x16xf32>
  // expected-error@+1 {{bias is 15xf32 but must have shape [16]}}
  plan.matmul %a, %w bias %b : memref<15xf32> into %d : memref<4x8xf32>, memref<16x8xf32> into memref<4x16xf32>
}

// -----

plan.program eval @p batch 2 tokens 2 {
  %q = plan.alloc activation : memref<4x18xf32>
  %o = plan.alloc activation : memref<4x6xf32>
  // expected-error@+1 {{qkv has 18 columns, not a multiple of 3 * 4 heads}}
  plan.attention %q into %o batch 2 tokens 2 heads 4 scale 1.0 : memref<4x18xf32> into memref<4x6xf32>
}

// -----

plan.program eval @p batch 2 tokens 2 {
  %q = plan.alloc activation : memref<4x18xf32>
  %o = plan.alloc activation : memref<4x6xf32>
  // expected-error@+1 {{qkv is 4x18xf32 but must have shape [6, ?]}}
  plan.attention %q into %o batch 2 tokens 3 heads 2 scale 1.0 : memref<4x18xf32> into memref<4x6xf32>
}

// -----

plan.global cache @k : memref<1x2x4x3xf32>
plan.global state @starts : memref<2xi32>
plan.program decode @p batch 2 tokens 1 {
  %q = plan.alloc activation : memref<2x18xf32>
  %k = plan.global_ref @k : memref<1x2x4x3xf32>
  %s = plan.global_ref @starts : memref<2xi32>
  // expected-error@+1 {{caches have 1 rows, fewer than the batch of 2}}
  plan.cache_append %q caches %k, %k starts %s batch 2 tokens 1 heads 2 : memref<2x18xf32>, memref<1x2x4x3xf32>, memref<1x2x4x3xf32>, memref<2xi32>
}

// -----

plan.global cache @k : memref<2x2x4x3xbf16>
plan.global state @starts : memref<2xi32>
plan.program decode @p batch 2 tokens 1 {
  %q = plan.alloc activation : memref<2x18xf32>
  %k = plan.global_ref @k : memref<2x2x4x3xbf16>
  %s = plan.global_ref @starts : memref<2xi32>
  // expected-error@+1 {{k_cache is 2x2x4x3xbf16 but must hold 'f32'}}
  plan.cache_append %q caches %k, %k starts %s batch 2 tokens 1 heads 2 : memref<2x18xf32>, memref<2x2x4x3xbf16>, memref<2x2x4x3xbf16>, memref<2xi32>
}

// -----

plan.global state @tokens : memref<2xi32>
plan.global state @sampling : memref<2x8xi32>
plan.global state @logits : memref<2x128xf32>
plan.program decode @p batch 2 tokens 1 {
  %t = plan.global_ref @tokens : memref<2xi32>
  %s = plan.global_ref @sampling : memref<2x8xi32>
  %l = plan.global_ref @logits : memref<2x128xf32>
  // expected-error@+1 {{vocab 129 is outside 1..128}}
  plan.sample %l sampling %s starts %t into %t, %t vocab 129 limit 4 : memref<2x128xf32>, memref<2x8xi32>, memref<2xi32> into memref<2xi32>, memref<2xi32>
}

// -----

plan.program eval @p batch 2 tokens 2 {
  %a = plan.alloc activation : memref<4x18xf32>
  %b = plan.alloc activation : memref<4x18xbf16>
  // expected-error@+1 {{copies 4x18xf32 into 4x18xbf16}}
  plan.copy %a into %b : memref<4x18xf32> into memref<4x18xbf16>
}

// -----

plan.global parameter @w : memref<16x8xf32> names ["w"]
plan.program init @init batch 1 tokens 1 {
  %w = plan.global_ref @w : memref<16x8xf32>
  // expected-error@+1 {{a checkpoint tensor [16, 8] does not fit 16x8xf32}}
  plan.load_weight ["w"] rows 16 cols 8 transpose into %w : memref<16x8xf32>
}

