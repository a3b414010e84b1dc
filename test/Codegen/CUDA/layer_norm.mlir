// Row reductions: values in registers, odd widths, streamed rows.
// SPDX-License-Identifier: Apache-2.0
// RUN: plan-to-cuda %s | FileCheck %s

// A row of 64 is eight vectors: eight lanes, sixteen rows a block.
// CHECK-LABEL: row @narrow
// CHECK: __launch_bounds__(128)
// CHECK: narrow(const half *p0, const float *p1, const float *p2, half *q0, float *q1, float *q2, int rows) {
// CHECK: launchDependents();
// CHECK: const int slot = blockIdx.x * 16 + threadIdx.x / 8;
// CHECK: waitForPrevious();
// CHECK: v0[i] = ((const Pack<half, 8> *)p0)[(long long)row * 8 + c];
// CHECK: s1 = Add::of(s1, t{{[0-9]+}});
// CHECK: s1 = reduceLanes<Add, 8>(s1);
// CHECK-NEXT: const float [[MEAN:t[0-9]+]] = s1 / 0x1p+6f;
// CHECK: 1.0f / sqrtf(
// The rounding to f16 is the pack's.
// CHECK-NOT: roundTo
// CHECK: if (active) ((Pack<half, 8> *)q0)
// CHECK: if (active && lane == 0) q1[row] =

// Seven columns: no vectors, no row is aligned.
// CHECK-LABEL: row @odd
// CHECK: threadIdx.x / 8;
// CHECK: if (c < 7) {
// CHECK-NEXT: v0[i] = ((const Pack<bf16, 1> *)p0)[(long long)row * 7 + c];

// CHECK-LABEL: row @wide
// CHECK: Pack<float, 8> v0[3];

// CHECK-LABEL: row @block
// CHECK: reduceWarps<Add, 64>(s1, shared{{[0-9]+}});

// Every pass reads the row again.
// CHECK-LABEL: row @streamed
// CHECK: __launch_bounds__(512, 2)
// CHECK-COUNT-3: Pack<float, 8> v{{[0-9]+}} = ((const Pack<float, 8> *)p0)
// CHECK-NOT: *)p0)

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0, 0)>
#column = affine_map<(d0, d1) -> (0, d1)>

plan.kernel @narrow "row" body {
^bb0(%rows: index, %x: tensor<?x64xf16>, %g: tensor<1x64xf32>, %b: tensor<1x64xf32>):
  %zero = arith.constant 0.0 : f32
  %er = tensor.empty(%rows) : tensor<?x1xf32>
  %init = linalg.fill ins(%zero : f32) outs(%er : tensor<?x1xf32>) -> tensor<?x1xf32>
  %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<?x64xf16>) outs(%init : tensor<?x1xf32>) {
  ^bb0(%a: f16, %acc: f32):
    %e = arith.extf %a : f16 to f32
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
    ins(%x, %mean : tensor<?x64xf16>, tensor<?x1xf32>) outs(%init : tensor<?x1xf32>) {
  ^bb0(%a: f16, %m: f32, %acc: f32):
    %e = arith.extf %a : f16 to f32
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
  %ey = tensor.empty(%rows) : tensor<?x64xf16>
  %y = linalg.generic {indexing_maps = [#element, #row, #row, #column, #column, #element], iterator_types = ["parallel", "parallel"]}
    ins(%x, %mean, %rstd, %g, %b : tensor<?x64xf16>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<1x64xf32>, tensor<1x64xf32>) outs(%ey : tensor<?x64xf16>) {
  ^bb0(%a: f16, %m: f32, %r: f32, %gg: f32, %bb: f32, %o: f16):
    %e = arith.extf %a : f16 to f32
    %d = arith.subf %e, %m : f32
    %n = arith.mulf %d, %r : f32
    %w = arith.mulf %n, %gg : f32
    %z = arith.addf %w, %bb : f32
    %t = arith.truncf %z : f32 to f16
    linalg.yield %t : f16
  } -> tensor<?x64xf16>
  plan.yield %y, %mean, %rstd : tensor<?x64xf16>, tensor<?x1xf32>, tensor<?x1xf32>
}

plan.kernel @odd "row" body {
^bb0(%rows: index, %x: tensor<?x7xbf16>, %g: tensor<1x7xf32>, %b: tensor<1x7xf32>):
  %zero = arith.constant 0.0 : f32
  %er = tensor.empty(%rows) : tensor<?x1xf32>
  %init = linalg.fill ins(%zero : f32) outs(%er : tensor<?x1xf32>) -> tensor<?x1xf32>
  %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<?x7xbf16>) outs(%init : tensor<?x1xf32>) {
  ^bb0(%a: bf16, %acc: f32):
    %e = arith.extf %a : bf16 to f32
    %s = arith.addf %acc, %e fastmath<reassoc> : f32
    linalg.yield %s : f32
  } -> tensor<?x1xf32>
  %mean = linalg.generic {indexing_maps = [#element, #element], iterator_types = ["parallel", "parallel"]}
    ins(%sum : tensor<?x1xf32>) outs(%er : tensor<?x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.constant 7.0 : f32
    %m = arith.divf %a, %n : f32
    linalg.yield %m : f32
  } -> tensor<?x1xf32>
  %sq = linalg.generic {indexing_maps = [#element, #row, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x, %mean : tensor<?x7xbf16>, tensor<?x1xf32>) outs(%init : tensor<?x1xf32>) {
  ^bb0(%a: bf16, %m: f32, %acc: f32):
    %e = arith.extf %a : bf16 to f32
    %d = arith.subf %e, %m : f32
    %q = arith.mulf %d, %d : f32
    %s = arith.addf %acc, %q fastmath<reassoc> : f32
    linalg.yield %s : f32
  } -> tensor<?x1xf32>
  %rstd = linalg.generic {indexing_maps = [#element, #element], iterator_types = ["parallel", "parallel"]}
    ins(%sq : tensor<?x1xf32>) outs(%er : tensor<?x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.constant 7.0 : f32
    %eps = arith.constant 1.0e-5 : f32
    %m = arith.divf %a, %n : f32
    %v = arith.addf %m, %eps : f32
    %r = math.rsqrt %v : f32
    linalg.yield %r : f32
  } -> tensor<?x1xf32>
  %ey = tensor.empty(%rows) : tensor<?x7xf32>
  %y = linalg.generic {indexing_maps = [#element, #row, #row, #column, #column, #element], iterator_types = ["parallel", "parallel"]}
    ins(%x, %mean, %rstd, %g, %b : tensor<?x7xbf16>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<1x7xf32>, tensor<1x7xf32>) outs(%ey : tensor<?x7xf32>) {
  ^bb0(%a: bf16, %m: f32, %r: f32, %gg: f32, %bb: f32, %o: f32):
    %e = arith.extf %a : bf16 to f32
    %d = arith.subf %e, %m : f32
    %n = arith.mulf %d, %r : f32
    %w = arith.mulf %n, %gg : f32
    %z = arith.addf %w, %bb : f32
    linalg.yield %z : f32
  } -> tensor<?x7xf32>
  plan.yield %y, %mean, %rstd : tensor<?x7xf32>, tensor<?x1xf32>, tensor<?x1xf32>
}

plan.kernel @wide "row" body {
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
  plan.yield %y, %mean, %rstd : tensor<?x768xf16>, tensor<?x1xf32>, tensor<?x1xf32>
}

plan.kernel @block "row" body {
^bb0(%rows: index, %x: tensor<?x6000xbf16>, %g: tensor<1x6000xf32>, %b: tensor<1x6000xf32>):
  %zero = arith.constant 0.0 : f32
  %er = tensor.empty(%rows) : tensor<?x1xf32>
  %init = linalg.fill ins(%zero : f32) outs(%er : tensor<?x1xf32>) -> tensor<?x1xf32>
  %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<?x6000xbf16>) outs(%init : tensor<?x1xf32>) {
  ^bb0(%a: bf16, %acc: f32):
    %e = arith.extf %a : bf16 to f32
    %s = arith.addf %acc, %e fastmath<reassoc> : f32
    linalg.yield %s : f32
  } -> tensor<?x1xf32>
  %mean = linalg.generic {indexing_maps = [#element, #element], iterator_types = ["parallel", "parallel"]}
    ins(%sum : tensor<?x1xf32>) outs(%er : tensor<?x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.constant 6000.0 : f32
    %m = arith.divf %a, %n : f32
    linalg.yield %m : f32
  } -> tensor<?x1xf32>
  %sq = linalg.generic {indexing_maps = [#element, #row, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x, %mean : tensor<?x6000xbf16>, tensor<?x1xf32>) outs(%init : tensor<?x1xf32>) {
  ^bb0(%a: bf16, %m: f32, %acc: f32):
    %e = arith.extf %a : bf16 to f32
    %d = arith.subf %e, %m : f32
    %q = arith.mulf %d, %d : f32
    %s = arith.addf %acc, %q fastmath<reassoc> : f32
    linalg.yield %s : f32
  } -> tensor<?x1xf32>
  %rstd = linalg.generic {indexing_maps = [#element, #element], iterator_types = ["parallel", "parallel"]}
    ins(%sq : tensor<?x1xf32>) outs(%er : tensor<?x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.constant 6000.0 : f32
    %eps = arith.constant 1.0e-5 : f32
    %m = arith.divf %a, %n : f32
    %v = arith.addf %m, %eps : f32
    %r = math.rsqrt %v : f32
    linalg.yield %r : f32
  } -> tensor<?x1xf32>
  %ey = tensor.empty(%rows) : tensor<?x6000xbf16>
  %y = linalg.generic {indexing_maps = [#element, #row, #row, #column, #column, #element], iterator_types = ["parallel", "parallel"]}
    ins(%x, %mean, %rstd, %g, %b : tensor<?x6000xbf16>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<1x6000xf32>, tensor<1x6000xf32>) outs(%ey : tensor<?x6000xbf16>) {
  ^bb0(%a: bf16, %m: f32, %r: f32, %gg: f32, %bb: f32, %o: bf16):
    %e = arith.extf %a : bf16 to f32
    %d = arith.subf %e, %m : f32
    %n = arith.mulf %d, %r : f32
    %w = arith.mulf %n, %gg : f32
    %z = arith.addf %w, %bb : f32
    %t = arith.truncf %z : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<?x6000xbf16>
  plan.yield %y, %mean, %rstd : tensor<?x6000xbf16>, tensor<?x1xf32>, tensor<?x1xf32>
}

plan.kernel @streamed "row" body {
^bb0(%rows: index, %x: tensor<?x33000xf32>, %g: tensor<1x33000xf32>, %b: tensor<1x33000xf32>):
  %zero = arith.constant 0.0 : f32
  %er = tensor.empty(%rows) : tensor<?x1xf32>
  %init = linalg.fill ins(%zero : f32) outs(%er : tensor<?x1xf32>) -> tensor<?x1xf32>
  %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<?x33000xf32>) outs(%init : tensor<?x1xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e fastmath<reassoc> : f32
    linalg.yield %s : f32
  } -> tensor<?x1xf32>
  %mean = linalg.generic {indexing_maps = [#element, #element], iterator_types = ["parallel", "parallel"]}
    ins(%sum : tensor<?x1xf32>) outs(%er : tensor<?x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.constant 33000.0 : f32
    %m = arith.divf %a, %n : f32
    linalg.yield %m : f32
  } -> tensor<?x1xf32>
  %sq = linalg.generic {indexing_maps = [#element, #row, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x, %mean : tensor<?x33000xf32>, tensor<?x1xf32>) outs(%init : tensor<?x1xf32>) {
  ^bb0(%e: f32, %m: f32, %acc: f32):
    %d = arith.subf %e, %m : f32
    %q = arith.mulf %d, %d : f32
    %s = arith.addf %acc, %q fastmath<reassoc> : f32
    linalg.yield %s : f32
  } -> tensor<?x1xf32>
  %rstd = linalg.generic {indexing_maps = [#element, #element], iterator_types = ["parallel", "parallel"]}
    ins(%sq : tensor<?x1xf32>) outs(%er : tensor<?x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.constant 33000.0 : f32
    %eps = arith.constant 1.0e-5 : f32
    %m = arith.divf %a, %n : f32
    %v = arith.addf %m, %eps : f32
    %r = math.rsqrt %v : f32
    linalg.yield %r : f32
  } -> tensor<?x1xf32>
  %ey = tensor.empty(%rows) : tensor<?x33000xf16>
  %y = linalg.generic {indexing_maps = [#element, #row, #row, #column, #column, #element], iterator_types = ["parallel", "parallel"]}
    ins(%x, %mean, %rstd, %g, %b : tensor<?x33000xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<1x33000xf32>, tensor<1x33000xf32>) outs(%ey : tensor<?x33000xf16>) {
  ^bb0(%e: f32, %m: f32, %r: f32, %gg: f32, %bb: f32, %o: f16):
    %d = arith.subf %e, %m : f32
    %n = arith.mulf %d, %r : f32
    %w = arith.mulf %n, %gg : f32
    %z = arith.addf %w, %bb : f32
    %t = arith.truncf %z : f32 to f16
    linalg.yield %t : f16
  } -> tensor<?x33000xf16>
  plan.yield %y, %mean, %rstd : tensor<?x33000xf16>, tensor<?x1xf32>, tensor<?x1xf32>
}
