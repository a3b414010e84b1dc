// Prologue, dot product and epilogue in one kernel.
// SPDX-License-Identifier: Apache-2.0
// RUN: plan-to-cuda %s | FileCheck %s

// Weights are loaded, and the norm's vectors copied, before the wait.
// CHECK-LABEL: matvec @norm_linear
// CHECK: __launch_bounds__(256, 3)
// CHECK: norm_linear(const float *p0, const float *p1, const float *p2, const half *p3, float *q0, int rows) {
// CHECK: using Tile = Matvec<half, half, 24, 768, 8, 1, 1>;
// CHECK: matvec.load(p3, blockIdx.x);
// CHECK: half *x = (half *)dynamicShared();
// CHECK: float *shared_p1 = (float *)(dynamicShared() + 768);
// CHECK: copyToShared<float, 768>(shared_p1, p1);
// CHECK: float *shared_p2 = (float *)(dynamicShared() + 960);
// CHECK: waitForPrevious();
// CHECK: for (int row = 0; row < rows; ++row) {
// CHECK: [[SUM:shared[0-9]+]][row][threadIdx.x / 32] = s{{[0-9]+}};
// CHECK: __syncthreads();
// CHECK: for (int row = 0; row < rows; ++row) {
// CHECK: float s{{[0-9]+}} = [[SUM]][row][0];
// CHECK: ((Pack<half, 8> *)x)[(long long)row * 96 + c]
// CHECK: __syncthreads();
// CHECK: accumulator.value[0] = matvec.multiply(x, rows, 0);

// A wide matrix in a plan of batch 1: weights are on their way to shared memory before the wait,
// and x stays in registers from its load to its last use.
// CHECK-LABEL: matvec @norm_linear_one
// CHECK: __launch_bounds__(512, 2)
// CHECK: using Product = OneRow<half, half, 1600, 1600, 8, 16, 132, 4, 4>;
// CHECK: matvec.start(p3, dynamicShared() + 1000);
// CHECK: half *x = (half *)dynamicShared();
// CHECK: waitForPrevious();
// CHECK: const int row = 0;
// CHECK: ((const Pack<float, 4> *)p0)[
// CHECK: reduceWarps<Add, 512>
// CHECK-NOT: p0)[
// CHECK: matvec.multiply(x, partials);
// CHECK: accumulator.value[0] = addParts(partials, c - matvec.first);

// x is read where it lies; four warps share a row of 3072 weights. The bias
// is loaded before the wait, the residual after it.
// CHECK-LABEL: matvec @many
// CHECK: using Tile = Matvec<half, half, 420, 10240, 8, 8, 1>;
// CHECK: matvec.load(p1, blockIdx.x);
// CHECK: waitForPrevious();
// CHECK: for (int tile = blockIdx.x; tile < 420; tile += gridDim.x) {
// CHECK: if (tile + gridDim.x < 420)
// CHECK: next.load(p1, tile + gridDim.x);
// CHECK: matvec.itemColumn(tile);
// CHECK: matvec.multiply(x, rows, turn);
// CHECK: matvec = next;

// CHECK-LABEL: matvec @wide_one
// CHECK: OneRow<half, half, 2300, 1600, 8, 16, 132, 4, 5>;

// CHECK-LABEL: matvec @residual
// CHECK: using Tile = Matvec<half, half, 24, 3072, 8, 4, 1>;
// CHECK: ((const Pack<float, 1> *)p2)[c];
// CHECK: const half *x = p0;
// CHECK: waitForPrevious();
// CHECK: ((const Pack<float, 1> *)p3)[(long long)row * 24 + c];
// CHECK: matvec.multiply(x, rows, 0);
// CHECK: roundTo<half>(

// CHECK-LABEL: matvec @gelu
// CHECK: using Tile = Matvec<float, float, 64, 64, 4, 1, 1>;

// CHECK-LABEL: matvec @odd
// CHECK: using Tile = Matvec<bf16, bf16, 41, 37, 1, 1, 1>;

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0, 0)>
#column = affine_map<(d0, d1) -> (0, d1)>

plan.kernel @norm_linear "matvec" config {rows = 8 : i64, weight = tensor<24x768xf16>} body {
^bb0(%rows: index, %x: tensor<?x768xf32>, %g: tensor<1x768xf32>, %b: tensor<1x768xf32>):
  %zero = arith.constant 0.0 : f32
  %er = tensor.empty(%rows) : tensor<?x1xf32>
  %init = linalg.fill ins(%zero : f32) outs(%er : tensor<?x1xf32>) -> tensor<?x1xf32>
  %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<?x768xf32>) outs(%init : tensor<?x1xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e fastmath<reassoc> : f32
    linalg.yield %s : f32
  } -> tensor<?x1xf32>
  %mean = linalg.generic {indexing_maps = [#element, #element], iterator_types = ["parallel", "parallel"]}
    ins(%sum : tensor<?x1xf32>) outs(%er : tensor<?x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.constant 768.0 : f32
    %m = arith.divf %a, %n : f32
    linalg.yield %m : f32
  } -> tensor<?x1xf32>
  %sq = linalg.generic {indexing_maps = [#element, #row, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x, %mean : tensor<?x768xf32>, tensor<?x1xf32>) outs(%init : tensor<?x1xf32>) {
  ^bb0(%e: f32, %m: f32, %acc: f32):
    %d = arith.subf %e, %m : f32
    %q = arith.mulf %d, %d : f32
    %s = arith.addf %acc, %q fastmath<reassoc> : f32
    linalg.yield %s : f32
  } -> tensor<?x1xf32>
  %rstd = linalg.generic {indexing_maps = [#element, #element], iterator_types = ["parallel", "parallel"]}
    ins(%sq : tensor<?x1xf32>) outs(%er : tensor<?x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.constant 768.0 : f32
    %eps = arith.constant 1.0e-5 : f32
    %m = arith.divf %a, %n : f32
    %v = arith.addf %m, %eps : f32
    %r = math.rsqrt %v : f32
    linalg.yield %r : f32
  } -> tensor<?x1xf32>
  %ey = tensor.empty(%rows) : tensor<?x768xf16>
  %y = linalg.generic {indexing_maps = [#element, #row, #row, #column, #column, #element], iterator_types = ["parallel", "parallel"]}
    ins(%x, %mean, %rstd, %g, %b : tensor<?x768xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<1x768xf32>, tensor<1x768xf32>) outs(%ey : tensor<?x768xf16>) {
  ^bb0(%e: f32, %m: f32, %r: f32, %gg: f32, %bb: f32, %o: f16):
    %d = arith.subf %e, %m : f32
    %n = arith.mulf %d, %r : f32
    %w = arith.mulf %n, %gg : f32
    %z = arith.addf %w, %bb : f32
    %t = arith.truncf %z : f32 to f16
    linalg.yield %t : f16
  } -> tensor<?x768xf16>
  plan.yield %y : tensor<?x768xf16>
} epilogue {
^bb0(%rows: index, %acc: tensor<?x24xf32>):
  plan.yield %acc : tensor<?x24xf32>
}

// The same for a wider matrix in a plan of batch 1: x stays in registers until it is normal.
plan.kernel @norm_linear_one "matvec" config {rows = 1 : i64, weight = tensor<1600x1600xf16>} body {
^bb0(%rows: index, %x: tensor<?x1600xf32>, %g: tensor<1x1600xf32>, %b: tensor<1x1600xf32>):
  %zero = arith.constant 0.0 : f32
  %er = tensor.empty(%rows) : tensor<?x1xf32>
  %init = linalg.fill ins(%zero : f32) outs(%er : tensor<?x1xf32>) -> tensor<?x1xf32>
  %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<?x1600xf32>) outs(%init : tensor<?x1xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e fastmath<reassoc> : f32
    linalg.yield %s : f32
  } -> tensor<?x1xf32>
  %mean = linalg.generic {indexing_maps = [#element, #element], iterator_types = ["parallel", "parallel"]}
    ins(%sum : tensor<?x1xf32>) outs(%er : tensor<?x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.constant 1600.0 : f32
    %m = arith.divf %a, %n : f32
    linalg.yield %m : f32
  } -> tensor<?x1xf32>
  %sq = linalg.generic {indexing_maps = [#element, #row, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x, %mean : tensor<?x1600xf32>, tensor<?x1xf32>) outs(%init : tensor<?x1xf32>) {
  ^bb0(%e: f32, %m: f32, %acc: f32):
    %d = arith.subf %e, %m : f32
    %q = arith.mulf %d, %d : f32
    %s = arith.addf %acc, %q fastmath<reassoc> : f32
    linalg.yield %s : f32
  } -> tensor<?x1xf32>
  %rstd = linalg.generic {indexing_maps = [#element, #element], iterator_types = ["parallel", "parallel"]}
    ins(%sq : tensor<?x1xf32>) outs(%er : tensor<?x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.constant 1600.0 : f32
    %eps = arith.constant 1.0e-5 : f32
    %m = arith.divf %a, %n : f32
    %v = arith.addf %m, %eps : f32
    %r = math.rsqrt %v : f32
    linalg.yield %r : f32
  } -> tensor<?x1xf32>
  %ey = tensor.empty(%rows) : tensor<?x1600xf16>
  %y = linalg.generic {indexing_maps = [#element, #row, #row, #column, #column, #element], iterator_types = ["parallel", "parallel"]}
    ins(%x, %mean, %rstd, %g, %b : tensor<?x1600xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<1x1600xf32>, tensor<1x1600xf32>) outs(%ey : tensor<?x1600xf16>) {
  ^bb0(%e: f32, %m: f32, %r: f32, %gg: f32, %bb: f32, %o: f16):
    %d = arith.subf %e, %m : f32
    %n = arith.mulf %d, %r : f32
    %w = arith.mulf %n, %gg : f32
    %z = arith.addf %w, %bb : f32
    %t = arith.truncf %z : f32 to f16
    linalg.yield %t : f16
  } -> tensor<?x1600xf16>
  plan.yield %y : tensor<?x1600xf16>
} epilogue {
^bb0(%rows: index, %acc: tensor<?x1600xf32>):
  plan.yield %acc : tensor<?x1600xf32>
}

// More tiles than blocks: a block takes several.
plan.kernel @many "matvec" config {rows = 8 : i64, weight = tensor<420x10240xf16>} body {
^bb0(%rows: index, %x: tensor<?x10240xf16>):
  plan.yield %x : tensor<?x10240xf16>
} epilogue {
^bb0(%rows: index, %acc: tensor<?x420xf32>, %bias: tensor<1x420xf32>):
  %e = tensor.empty(%rows) : tensor<?x420xf32>
  %y = linalg.generic {indexing_maps = [#element, #column, #element], iterator_types = ["parallel", "parallel"]}
    ins(%acc, %bias : tensor<?x420xf32>, tensor<1x420xf32>) outs(%e : tensor<?x420xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<?x420xf32>
  plan.yield %y : tensor<?x420xf32>
}

// A warp has more rows of weights than it adds up at once.
plan.kernel @wide_one "matvec" config {rows = 1 : i64, weight = tensor<2300x1600xf16>} body {
^bb0(%rows: index, %x: tensor<?x1600xf16>):
  plan.yield %x : tensor<?x1600xf16>
} epilogue {
^bb0(%rows: index, %acc: tensor<?x2300xf32>):
  plan.yield %acc : tensor<?x2300xf32>
}

plan.kernel @residual "matvec" config {rows = 8 : i64, weight = tensor<24x3072xf16>} body {
^bb0(%rows: index, %x: tensor<?x3072xf16>):
  plan.yield %x : tensor<?x3072xf16>
} epilogue {
^bb0(%rows: index, %acc: tensor<?x24xf32>, %bias: tensor<1x24xf32>, %res: tensor<?x24xf32>):
  %e = tensor.empty(%rows) : tensor<?x24xf32>
  %y = linalg.generic {indexing_maps = [#element, #column, #element, #element], iterator_types = ["parallel", "parallel"]}
    ins(%acc, %bias, %res : tensor<?x24xf32>, tensor<1x24xf32>, tensor<?x24xf32>) outs(%e : tensor<?x24xf32>) {
  ^bb0(%a: f32, %b: f32, %r: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    %h = arith.truncf %s : f32 to f16
    %hf = arith.extf %h : f16 to f32
    %q = arith.addf %r, %hf : f32
    linalg.yield %q : f32
  } -> tensor<?x24xf32>
  plan.yield %y : tensor<?x24xf32>
}

plan.kernel @gelu "matvec" config {rows = 8 : i64, weight = tensor<64x64xf32>} body {
^bb0(%rows: index, %x: tensor<?x64xf32>, %g: tensor<1x64xf32>, %b: tensor<1x64xf32>):
  %zero = arith.constant 0.0 : f32
  %er = tensor.empty(%rows) : tensor<?x1xf32>
  %init = linalg.fill ins(%zero : f32) outs(%er : tensor<?x1xf32>) -> tensor<?x1xf32>
  %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<?x64xf32>) outs(%init : tensor<?x1xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e fastmath<reassoc> : f32
    linalg.yield %s : f32
  } -> tensor<?x1xf32>
  %mean = linalg.generic {indexing_maps = [#element, #element], iterator_types = ["parallel", "parallel"]}
    ins(%sum : tensor<?x1xf32>) outs(%er : tensor<?x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.constant 64.0 : f32
    %m = arith.divf %a, %n : f32
    linalg.yield %m : f32
  } -> tensor<?x1xf32>
  %sq = linalg.generic {indexing_maps = [#element, #row, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x, %mean : tensor<?x64xf32>, tensor<?x1xf32>) outs(%init : tensor<?x1xf32>) {
  ^bb0(%e: f32, %m: f32, %acc: f32):
    %d = arith.subf %e, %m : f32
    %q = arith.mulf %d, %d : f32
    %s = arith.addf %acc, %q fastmath<reassoc> : f32
    linalg.yield %s : f32
  } -> tensor<?x1xf32>
  %rstd = linalg.generic {indexing_maps = [#element, #element], iterator_types = ["parallel", "parallel"]}
    ins(%sq : tensor<?x1xf32>) outs(%er : tensor<?x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.constant 64.0 : f32
    %eps = arith.constant 1.0e-5 : f32
    %m = arith.divf %a, %n : f32
    %v = arith.addf %m, %eps : f32
    %r = math.rsqrt %v : f32
    linalg.yield %r : f32
  } -> tensor<?x1xf32>
  %ey = tensor.empty(%rows) : tensor<?x64xf32>
  %y = linalg.generic {indexing_maps = [#element, #row, #row, #column, #column, #element], iterator_types = ["parallel", "parallel"]}
    ins(%x, %mean, %rstd, %g, %b : tensor<?x64xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<1x64xf32>, tensor<1x64xf32>) outs(%ey : tensor<?x64xf32>) {
  ^bb0(%e: f32, %m: f32, %r: f32, %gg: f32, %bb: f32, %o: f32):
    %d = arith.subf %e, %m : f32
    %n = arith.mulf %d, %r : f32
    %w = arith.mulf %n, %gg : f32
    %z = arith.addf %w, %bb : f32
    linalg.yield %z : f32
  } -> tensor<?x64xf32>
  plan.yield %y : tensor<?x64xf32>
} epilogue {
^bb0(%rows: index, %acc: tensor<?x64xf32>, %bias: tensor<1x64xf32>):
  %em = tensor.empty(%rows) : tensor<?x64xf32>
  %y = linalg.generic {indexing_maps = [#element, #column, #element], iterator_types = ["parallel", "parallel"]}
    ins(%acc, %bias : tensor<?x64xf32>, tensor<1x64xf32>) outs(%em : tensor<?x64xf32>) {
  ^bb0(%ac: f32, %b: f32, %o: f32):
    %s = arith.addf %ac, %b : f32
    %c0 = arith.constant 0.044715 : f32
    %c1 = arith.constant 0.79788456 : f32
    %x2 = arith.mulf %s, %s : f32
    %x3 = arith.mulf %x2, %s : f32
    %in = arith.mulf %x3, %c0 : f32
    %su = arith.addf %s, %in : f32
    %ar = arith.mulf %su, %c1 : f32
    %th = math.tanh %ar : f32
    %one = arith.constant 1.0 : f32
    %half = arith.constant 0.5 : f32
    %p1 = arith.addf %th, %one : f32
    %hx = arith.mulf %s, %half : f32
    %y = arith.mulf %hx, %p1 : f32
    linalg.yield %y : f32
  } -> tensor<?x64xf32>
  plan.yield %y : tensor<?x64xf32>
}

plan.kernel @odd "matvec" config {rows = 8 : i64, weight = tensor<41x37xbf16>} body {
^bb0(%rows: index, %x: tensor<?x37xf32>, %g: tensor<1x37xf32>, %b: tensor<1x37xf32>):
  %zero = arith.constant 0.0 : f32
  %er = tensor.empty(%rows) : tensor<?x1xf32>
  %init = linalg.fill ins(%zero : f32) outs(%er : tensor<?x1xf32>) -> tensor<?x1xf32>
  %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<?x37xf32>) outs(%init : tensor<?x1xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e fastmath<reassoc> : f32
    linalg.yield %s : f32
  } -> tensor<?x1xf32>
  %mean = linalg.generic {indexing_maps = [#element, #element], iterator_types = ["parallel", "parallel"]}
    ins(%sum : tensor<?x1xf32>) outs(%er : tensor<?x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.constant 37.0 : f32
    %m = arith.divf %a, %n : f32
    linalg.yield %m : f32
  } -> tensor<?x1xf32>
  %sq = linalg.generic {indexing_maps = [#element, #row, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x, %mean : tensor<?x37xf32>, tensor<?x1xf32>) outs(%init : tensor<?x1xf32>) {
  ^bb0(%e: f32, %m: f32, %acc: f32):
    %d = arith.subf %e, %m : f32
    %q = arith.mulf %d, %d : f32
    %s = arith.addf %acc, %q fastmath<reassoc> : f32
    linalg.yield %s : f32
  } -> tensor<?x1xf32>
  %rstd = linalg.generic {indexing_maps = [#element, #element], iterator_types = ["parallel", "parallel"]}
    ins(%sq : tensor<?x1xf32>) outs(%er : tensor<?x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.constant 37.0 : f32
    %eps = arith.constant 1.0e-5 : f32
    %m = arith.divf %a, %n : f32
    %v = arith.addf %m, %eps : f32
    %r = math.rsqrt %v : f32
    linalg.yield %r : f32
  } -> tensor<?x1xf32>
  %ey = tensor.empty(%rows) : tensor<?x37xbf16>
  %y = linalg.generic {indexing_maps = [#element, #row, #row, #column, #column, #element], iterator_types = ["parallel", "parallel"]}
    ins(%x, %mean, %rstd, %g, %b : tensor<?x37xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<1x37xf32>, tensor<1x37xf32>) outs(%ey : tensor<?x37xbf16>) {
  ^bb0(%e: f32, %m: f32, %r: f32, %gg: f32, %bb: f32, %o: bf16):
    %d = arith.subf %e, %m : f32
    %n = arith.mulf %d, %r : f32
    %w = arith.mulf %n, %gg : f32
    %z = arith.addf %w, %bb : f32
    %t = arith.truncf %z : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<?x37xbf16>
  plan.yield %y : tensor<?x37xbf16>
} epilogue {
^bb0(%rows: index, %acc: tensor<?x41xf32>, %bias: tensor<1x41xf32>, %res: tensor<?x41xf32>):
  %e = tensor.empty(%rows) : tensor<?x41xf32>
  %y = linalg.generic {indexing_maps = [#element, #column, #element, #element], iterator_types = ["parallel", "parallel"]}
    ins(%acc, %bias, %res : tensor<?x41xf32>, tensor<1x41xf32>, tensor<?x41xf32>) outs(%e : tensor<?x41xf32>) {
  ^bb0(%a: f32, %b: f32, %r: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    %h = arith.truncf %s : f32 to bf16
    %hf = arith.extf %h : bf16 to f32
    %q = arith.addf %r, %hf : f32
    linalg.yield %q : f32
  } -> tensor<?x41xf32>
  plan.yield %y : tensor<?x41xf32>
}
