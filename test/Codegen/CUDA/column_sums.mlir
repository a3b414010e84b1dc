// Sums over rows: a block of threads serves a block of rows.
// SPDX-License-Identifier: Apache-2.0
// REQUIRES: nvrtc
// RUN: plan-to-cuda %s | FileCheck %s
// RUN: plan-to-cuda %s --arch=sm_90 | FileCheck %s --check-prefix=USE
//
// The decompositions of training ops. TrainingKernelChecks.cpp runs them.

// Two warps a row, the next row loaded ahead; a lane's columns in registers.
// CHECK: __launch_bounds__(128, 4)
// CHECK-NEXT: norm_768(const bf16 *p0, const float *p1, const float *p2, const float *p3, const float *p4, float *q0, float *q1, float *q2, int blocks)
// CHECK: constexpr int rows = 37, groups = 2;
// CHECK: const int first = (long long)rows * blockIdx.x / blocks;
// CHECK: float [[DGAMMA:a[0-9]+]][3][4] = {};
// CHECK: for (int round = first; round < end; round += 1 * groups) {
// CHECK: if (round + 1 * groups < end) {
// CHECK: [[DGAMMA]][i][k] += active ? {{t[0-9]+}} : 0.0f;
// CHECK: __syncthreads();
// CHECK: q1[(long long)(c * 4 + k) * blocks + blockIdx.x] = [[DGAMMA]][i][k];

// Four warps a row.
// CHECK-LABEL: norm_1600(
// CHECK: const int lane = threadIdx.x % 128;

// A thread a vector of columns, four blocks an SM.
// CHECK: __launch_bounds__(288, 4)
// CHECK-NEXT: sum_2304(
// CHECK: const int lane = threadIdx.x % 288;
// CHECK: for (int round = first; round < end; round += 4 * groups) {

// A row of a vocabulary fills the registers while the next one arrives in shared
// memory; exponentials are not expanded.
// CHECK-LABEL: loss_staged(
// CHECK: char *held0 = (char *)dynamicShared() + 0;
// CHECK: copyAsync<16>({{.*}}held0 + c, {{.*}}(first + group) * 6288 + c, true);
// CHECK: const int lane = hidden(threadIdx.x);
// CHECK: awaitCopies();
// CHECK: if (place + groups < end) {
// CHECK: copyAsync<16>(
// Columns below 49152 need no comparison, but for the vector of the label.
// CHECK: for (int i = 0; i < 6; ++i) {
// CHECK: s[[M:[0-9]+]] = Max::of(s[[M]], v{{[0-9]+}}[i].max());
// CHECK: const unsigned [[O:o[0-9]+]] = (unsigned){{t[0-9]+}} - c * 8u;
// CHECK: if ([[O]] < 8) {
// CHECK: hide(
// CHECK: for (int i = 6; i < 7; ++i) {
// CHECK: if (c < 6288) {
// CHECK: exp2Approx(
// CHECK-LABEL: loss_streamed(
// CHECK-NOT: held0

// USE: norm_768 sm_90 cubin {{.*}} local 0 threads 128
// USE: norm_1600 sm_90 cubin {{.*}} local 0 threads 128
// USE: sum_2304 sm_90 cubin {{.*}} local 0 threads 288
// USE: loss_staged sm_90 cubin {{.*}} dynamic 100608 local 0 threads 1024

#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (0, d1)>
#map2 = affine_map<(d0, d1) -> (d0, 0)>
#map3 = affine_map<(d0, d1) -> (0, 0)>

plan.kernel @norm_768 "row" config {rows = 37 : i64, row_blocks = 5 : i64} body {
^bb0(%arg0: index, %arg1: tensor<?x768xbf16>, %arg2: tensor<?x768xf32>, %arg3: tensor<1x768xf32>, %arg4: tensor<?x1xf32>, %arg5: tensor<?x1xf32>):
  %cst = arith.constant 7.680000e+02 : f32
  %0 = tensor.empty(%arg0) : tensor<?x1xf32>
  %cst_0 = arith.constant 0.000000e+00 : f32
  %1 = linalg.fill ins(%cst_0 : f32) outs(%0 : tensor<?x1xf32>) -> tensor<?x1xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "reduction"]}
      ins(%arg1, %arg3 : tensor<?x768xbf16>, tensor<1x768xf32>)
      outs(%1 : tensor<?x1xf32>) {
  ^bb0(%in: bf16, %in_4: f32, %out: f32):
    %18 = arith.extf %in : bf16 to f32
    %19 = arith.mulf %18, %in_4 : f32
    %20 = arith.addf %19, %out fastmath<reassoc> : f32
    linalg.yield %20 : f32
  } -> tensor<?x1xf32>
  %3 = tensor.empty(%arg0) : tensor<?x1xf32>
  %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%2 : tensor<?x1xf32>)
      outs(%3 : tensor<?x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %18 = arith.divf %in, %cst : f32
    linalg.yield %18 : f32
  } -> tensor<?x1xf32>
  %5 = tensor.empty(%arg0) : tensor<?x1xf32>
  %cst_1 = arith.constant 0.000000e+00 : f32
  %6 = linalg.fill ins(%cst_1 : f32) outs(%5 : tensor<?x1xf32>) -> tensor<?x1xf32>
  %7 = linalg.generic {indexing_maps = [#map, #map1, #map, #map2, #map2, #map2], iterator_types = ["parallel", "reduction"]}
      ins(%arg1, %arg3, %arg2, %arg4, %arg5 : tensor<?x768xbf16>, tensor<1x768xf32>, tensor<?x768xf32>, tensor<?x1xf32>, tensor<?x1xf32>)
      outs(%6 : tensor<?x1xf32>) {
  ^bb0(%in: bf16, %in_4: f32, %in_5: f32, %in_6: f32, %in_7: f32, %out: f32):
    %18 = arith.extf %in : bf16 to f32
    %19 = arith.subf %in_5, %in_6 : f32
    %20 = arith.mulf %19, %in_7 : f32
    %21 = arith.mulf %18, %in_4 : f32
    %22 = arith.mulf %21, %20 : f32
    %23 = arith.addf %22, %out fastmath<reassoc> : f32
    linalg.yield %23 : f32
  } -> tensor<?x1xf32>
  %8 = tensor.empty(%arg0) : tensor<?x1xf32>
  %9 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%7 : tensor<?x1xf32>)
      outs(%8 : tensor<?x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %18 = arith.divf %in, %cst : f32
    linalg.yield %18 : f32
  } -> tensor<?x1xf32>
  %10 = tensor.empty(%arg0) : tensor<?x768xf32>
  %11 = linalg.generic {indexing_maps = [#map, #map1, #map, #map2, #map2, #map2, #map2, #map], iterator_types = ["parallel", "parallel"]}
      ins(%arg1, %arg3, %arg2, %arg4, %arg5, %4, %9 : tensor<?x768xbf16>, tensor<1x768xf32>, tensor<?x768xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>)
      outs(%10 : tensor<?x768xf32>) {
  ^bb0(%in: bf16, %in_4: f32, %in_5: f32, %in_6: f32, %in_7: f32, %in_8: f32, %in_9: f32, %out: f32):
    %18 = arith.extf %in : bf16 to f32
    %19 = arith.subf %in_5, %in_6 : f32
    %20 = arith.mulf %19, %in_7 : f32
    %21 = arith.mulf %20, %in_9 : f32
    %22 = arith.mulf %18, %in_4 : f32
    %23 = arith.subf %22, %in_8 : f32
    %24 = arith.subf %23, %21 : f32
    %25 = arith.mulf %24, %in_7 : f32
    linalg.yield %25 : f32
  } -> tensor<?x768xf32>
  %12 = tensor.empty() : tensor<1x768xf32>
  %cst_2 = arith.constant 0.000000e+00 : f32
  %13 = linalg.fill ins(%cst_2 : f32) outs(%12 : tensor<1x768xf32>) -> tensor<1x768xf32>
  %14 = linalg.generic {indexing_maps = [#map, #map, #map2, #map2, #map1], iterator_types = ["reduction", "parallel"]}
      ins(%arg1, %arg2, %arg4, %arg5 : tensor<?x768xbf16>, tensor<?x768xf32>, tensor<?x1xf32>, tensor<?x1xf32>)
      outs(%13 : tensor<1x768xf32>) {
  ^bb0(%in: bf16, %in_4: f32, %in_5: f32, %in_6: f32, %out: f32):
    %18 = arith.extf %in : bf16 to f32
    %19 = arith.subf %in_4, %in_5 : f32
    %20 = arith.mulf %19, %in_6 : f32
    %21 = arith.mulf %18, %20 : f32
    %22 = arith.addf %21, %out fastmath<reassoc> : f32
    linalg.yield %22 : f32
  } -> tensor<1x768xf32>
  %15 = tensor.empty() : tensor<1x768xf32>
  %cst_3 = arith.constant 0.000000e+00 : f32
  %16 = linalg.fill ins(%cst_3 : f32) outs(%15 : tensor<1x768xf32>) -> tensor<1x768xf32>
  %17 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["reduction", "parallel"]}
      ins(%arg1 : tensor<?x768xbf16>)
      outs(%16 : tensor<1x768xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %18 = arith.extf %in : bf16 to f32
    %19 = arith.addf %18, %out fastmath<reassoc> : f32
    linalg.yield %19 : f32
  } -> tensor<1x768xf32>
  plan.yield %11, %14, %17 : tensor<?x768xf32>, tensor<1x768xf32>, tensor<1x768xf32>
}

plan.kernel @norm_1600 "row" config {rows = 37 : i64, row_blocks = 5 : i64} body {
^bb0(%arg0: index, %arg1: tensor<?x1600xf16>, %arg2: tensor<?x1600xf32>, %arg3: tensor<1x1600xf32>, %arg4: tensor<?x1xf32>, %arg5: tensor<?x1xf32>):
  %cst = arith.constant 1.600000e+03 : f32
  %0 = tensor.empty(%arg0) : tensor<?x1xf32>
  %cst_0 = arith.constant 0.000000e+00 : f32
  %1 = linalg.fill ins(%cst_0 : f32) outs(%0 : tensor<?x1xf32>) -> tensor<?x1xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "reduction"]}
      ins(%arg1, %arg3 : tensor<?x1600xf16>, tensor<1x1600xf32>)
      outs(%1 : tensor<?x1xf32>) {
  ^bb0(%in: f16, %in_4: f32, %out: f32):
    %18 = arith.extf %in : f16 to f32
    %19 = arith.mulf %18, %in_4 : f32
    %20 = arith.addf %19, %out fastmath<reassoc> : f32
    linalg.yield %20 : f32
  } -> tensor<?x1xf32>
  %3 = tensor.empty(%arg0) : tensor<?x1xf32>
  %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%2 : tensor<?x1xf32>)
      outs(%3 : tensor<?x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %18 = arith.divf %in, %cst : f32
    linalg.yield %18 : f32
  } -> tensor<?x1xf32>
  %5 = tensor.empty(%arg0) : tensor<?x1xf32>
  %cst_1 = arith.constant 0.000000e+00 : f32
  %6 = linalg.fill ins(%cst_1 : f32) outs(%5 : tensor<?x1xf32>) -> tensor<?x1xf32>
  %7 = linalg.generic {indexing_maps = [#map, #map1, #map, #map2, #map2, #map2], iterator_types = ["parallel", "reduction"]}
      ins(%arg1, %arg3, %arg2, %arg4, %arg5 : tensor<?x1600xf16>, tensor<1x1600xf32>, tensor<?x1600xf32>, tensor<?x1xf32>, tensor<?x1xf32>)
      outs(%6 : tensor<?x1xf32>) {
  ^bb0(%in: f16, %in_4: f32, %in_5: f32, %in_6: f32, %in_7: f32, %out: f32):
    %18 = arith.extf %in : f16 to f32
    %19 = arith.subf %in_5, %in_6 : f32
    %20 = arith.mulf %19, %in_7 : f32
    %21 = arith.mulf %18, %in_4 : f32
    %22 = arith.mulf %21, %20 : f32
    %23 = arith.addf %22, %out fastmath<reassoc> : f32
    linalg.yield %23 : f32
  } -> tensor<?x1xf32>
  %8 = tensor.empty(%arg0) : tensor<?x1xf32>
  %9 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%7 : tensor<?x1xf32>)
      outs(%8 : tensor<?x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %18 = arith.divf %in, %cst : f32
    linalg.yield %18 : f32
  } -> tensor<?x1xf32>
  %10 = tensor.empty(%arg0) : tensor<?x1600xf32>
  %11 = linalg.generic {indexing_maps = [#map, #map1, #map, #map2, #map2, #map2, #map2, #map], iterator_types = ["parallel", "parallel"]}
      ins(%arg1, %arg3, %arg2, %arg4, %arg5, %4, %9 : tensor<?x1600xf16>, tensor<1x1600xf32>, tensor<?x1600xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>)
      outs(%10 : tensor<?x1600xf32>) {
  ^bb0(%in: f16, %in_4: f32, %in_5: f32, %in_6: f32, %in_7: f32, %in_8: f32, %in_9: f32, %out: f32):
    %18 = arith.extf %in : f16 to f32
    %19 = arith.subf %in_5, %in_6 : f32
    %20 = arith.mulf %19, %in_7 : f32
    %21 = arith.mulf %20, %in_9 : f32
    %22 = arith.mulf %18, %in_4 : f32
    %23 = arith.subf %22, %in_8 : f32
    %24 = arith.subf %23, %21 : f32
    %25 = arith.mulf %24, %in_7 : f32
    linalg.yield %25 : f32
  } -> tensor<?x1600xf32>
  %12 = tensor.empty() : tensor<1x1600xf32>
  %cst_2 = arith.constant 0.000000e+00 : f32
  %13 = linalg.fill ins(%cst_2 : f32) outs(%12 : tensor<1x1600xf32>) -> tensor<1x1600xf32>
  %14 = linalg.generic {indexing_maps = [#map, #map, #map2, #map2, #map1], iterator_types = ["reduction", "parallel"]}
      ins(%arg1, %arg2, %arg4, %arg5 : tensor<?x1600xf16>, tensor<?x1600xf32>, tensor<?x1xf32>, tensor<?x1xf32>)
      outs(%13 : tensor<1x1600xf32>) {
  ^bb0(%in: f16, %in_4: f32, %in_5: f32, %in_6: f32, %out: f32):
    %18 = arith.extf %in : f16 to f32
    %19 = arith.subf %in_4, %in_5 : f32
    %20 = arith.mulf %19, %in_6 : f32
    %21 = arith.mulf %18, %20 : f32
    %22 = arith.addf %21, %out fastmath<reassoc> : f32
    linalg.yield %22 : f32
  } -> tensor<1x1600xf32>
  %15 = tensor.empty() : tensor<1x1600xf32>
  %cst_3 = arith.constant 0.000000e+00 : f32
  %16 = linalg.fill ins(%cst_3 : f32) outs(%15 : tensor<1x1600xf32>) -> tensor<1x1600xf32>
  %17 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["reduction", "parallel"]}
      ins(%arg1 : tensor<?x1600xf16>)
      outs(%16 : tensor<1x1600xf32>) {
  ^bb0(%in: f16, %out: f32):
    %18 = arith.extf %in : f16 to f32
    %19 = arith.addf %18, %out fastmath<reassoc> : f32
    linalg.yield %19 : f32
  } -> tensor<1x1600xf32>
  plan.yield %11, %14, %17 : tensor<?x1600xf32>, tensor<1x1600xf32>, tensor<1x1600xf32>
}

plan.kernel @norm_20 "row" config {rows = 37 : i64, row_blocks = 5 : i64} body {
^bb0(%arg0: index, %arg1: tensor<?x20xf32>, %arg2: tensor<1x20xf32>, %arg3: tensor<?x1xf32>, %arg4: tensor<?x1xf32>):
  %cst = arith.constant 2.000000e+01 : f32
  %0 = tensor.empty(%arg0) : tensor<?x1xf32>
  %cst_0 = arith.constant 0.000000e+00 : f32
  %1 = linalg.fill ins(%cst_0 : f32) outs(%0 : tensor<?x1xf32>) -> tensor<?x1xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "reduction"]}
      ins(%arg1, %arg2 : tensor<?x20xf32>, tensor<1x20xf32>)
      outs(%1 : tensor<?x1xf32>) {
  ^bb0(%in: f32, %in_4: f32, %out: f32):
    %18 = arith.mulf %in, %in_4 : f32
    %19 = arith.addf %18, %out fastmath<reassoc> : f32
    linalg.yield %19 : f32
  } -> tensor<?x1xf32>
  %3 = tensor.empty(%arg0) : tensor<?x1xf32>
  %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%2 : tensor<?x1xf32>)
      outs(%3 : tensor<?x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %18 = arith.divf %in, %cst : f32
    linalg.yield %18 : f32
  } -> tensor<?x1xf32>
  %5 = tensor.empty(%arg0) : tensor<?x1xf32>
  %cst_1 = arith.constant 0.000000e+00 : f32
  %6 = linalg.fill ins(%cst_1 : f32) outs(%5 : tensor<?x1xf32>) -> tensor<?x1xf32>
  %7 = linalg.generic {indexing_maps = [#map, #map1, #map, #map2, #map2, #map2], iterator_types = ["parallel", "reduction"]}
      ins(%arg1, %arg2, %arg1, %arg3, %arg4 : tensor<?x20xf32>, tensor<1x20xf32>, tensor<?x20xf32>, tensor<?x1xf32>, tensor<?x1xf32>)
      outs(%6 : tensor<?x1xf32>) {
  ^bb0(%in: f32, %in_4: f32, %in_5: f32, %in_6: f32, %in_7: f32, %out: f32):
    %18 = arith.subf %in_5, %in_6 : f32
    %19 = arith.mulf %18, %in_7 : f32
    %20 = arith.mulf %in, %in_4 : f32
    %21 = arith.mulf %20, %19 : f32
    %22 = arith.addf %21, %out fastmath<reassoc> : f32
    linalg.yield %22 : f32
  } -> tensor<?x1xf32>
  %8 = tensor.empty(%arg0) : tensor<?x1xf32>
  %9 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%7 : tensor<?x1xf32>)
      outs(%8 : tensor<?x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %18 = arith.divf %in, %cst : f32
    linalg.yield %18 : f32
  } -> tensor<?x1xf32>
  %10 = tensor.empty(%arg0) : tensor<?x20xf32>
  %11 = linalg.generic {indexing_maps = [#map, #map1, #map, #map2, #map2, #map2, #map2, #map], iterator_types = ["parallel", "parallel"]}
      ins(%arg1, %arg2, %arg1, %arg3, %arg4, %4, %9 : tensor<?x20xf32>, tensor<1x20xf32>, tensor<?x20xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>)
      outs(%10 : tensor<?x20xf32>) {
  ^bb0(%in: f32, %in_4: f32, %in_5: f32, %in_6: f32, %in_7: f32, %in_8: f32, %in_9: f32, %out: f32):
    %18 = arith.subf %in_5, %in_6 : f32
    %19 = arith.mulf %18, %in_7 : f32
    %20 = arith.mulf %19, %in_9 : f32
    %21 = arith.mulf %in, %in_4 : f32
    %22 = arith.subf %21, %in_8 : f32
    %23 = arith.subf %22, %20 : f32
    %24 = arith.mulf %23, %in_7 : f32
    linalg.yield %24 : f32
  } -> tensor<?x20xf32>
  %12 = tensor.empty() : tensor<1x20xf32>
  %cst_2 = arith.constant 0.000000e+00 : f32
  %13 = linalg.fill ins(%cst_2 : f32) outs(%12 : tensor<1x20xf32>) -> tensor<1x20xf32>
  %14 = linalg.generic {indexing_maps = [#map, #map, #map2, #map2, #map1], iterator_types = ["reduction", "parallel"]}
      ins(%arg1, %arg1, %arg3, %arg4 : tensor<?x20xf32>, tensor<?x20xf32>, tensor<?x1xf32>, tensor<?x1xf32>)
      outs(%13 : tensor<1x20xf32>) {
  ^bb0(%in: f32, %in_4: f32, %in_5: f32, %in_6: f32, %out: f32):
    %18 = arith.subf %in_4, %in_5 : f32
    %19 = arith.mulf %18, %in_6 : f32
    %20 = arith.mulf %in, %19 : f32
    %21 = arith.addf %20, %out fastmath<reassoc> : f32
    linalg.yield %21 : f32
  } -> tensor<1x20xf32>
  %15 = tensor.empty() : tensor<1x20xf32>
  %cst_3 = arith.constant 0.000000e+00 : f32
  %16 = linalg.fill ins(%cst_3 : f32) outs(%15 : tensor<1x20xf32>) -> tensor<1x20xf32>
  %17 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["reduction", "parallel"]}
      ins(%arg1 : tensor<?x20xf32>)
      outs(%16 : tensor<1x20xf32>) {
  ^bb0(%in: f32, %out: f32):
    %18 = arith.addf %in, %out fastmath<reassoc> : f32
    linalg.yield %18 : f32
  } -> tensor<1x20xf32>
  plan.yield %11, %14, %17 : tensor<?x20xf32>, tensor<1x20xf32>, tensor<1x20xf32>
}

plan.kernel @sum_2304 "row" config {rows = 37 : i64, row_blocks = 5 : i64} body {
^bb0(%arg0: index, %arg1: tensor<?x2304xbf16>):
  %0 = tensor.empty() : tensor<1x2304xf32>
  %cst = arith.constant 0.000000e+00 : f32
  %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<1x2304xf32>) -> tensor<1x2304xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["reduction", "parallel"]}
      ins(%arg1 : tensor<?x2304xbf16>)
      outs(%1 : tensor<1x2304xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %3 = arith.extf %in : bf16 to f32
    %4 = arith.addf %3, %out fastmath<reassoc> : f32
    linalg.yield %4 : f32
  } -> tensor<1x2304xf32>
  plan.yield %2 : tensor<1x2304xf32>
}

plan.kernel @sum_6400 "row" config {rows = 37 : i64, row_blocks = 5 : i64} body {
^bb0(%arg0: index, %arg1: tensor<?x6400xf16>):
  %0 = tensor.empty() : tensor<1x6400xf32>
  %cst = arith.constant 0.000000e+00 : f32
  %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<1x6400xf32>) -> tensor<1x6400xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["reduction", "parallel"]}
      ins(%arg1 : tensor<?x6400xf16>)
      outs(%1 : tensor<1x6400xf32>) {
  ^bb0(%in: f16, %out: f32):
    %3 = arith.extf %in : f16 to f32
    %4 = arith.addf %3, %out fastmath<reassoc> : f32
    linalg.yield %4 : f32
  } -> tensor<1x6400xf32>
  plan.yield %2 : tensor<1x6400xf32>
}

plan.kernel @sum_7 "row" config {rows = 37 : i64, row_blocks = 5 : i64} body {
^bb0(%arg0: index, %arg1: tensor<?x7xf32>):
  %0 = tensor.empty() : tensor<1x7xf32>
  %cst = arith.constant 0.000000e+00 : f32
  %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<1x7xf32>) -> tensor<1x7xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["reduction", "parallel"]}
      ins(%arg1 : tensor<?x7xf32>)
      outs(%1 : tensor<1x7xf32>) {
  ^bb0(%in: f32, %out: f32):
    %3 = arith.addf %in, %out fastmath<reassoc> : f32
    linalg.yield %3 : f32
  } -> tensor<1x7xf32>
  plan.yield %2 : tensor<1x7xf32>
}

plan.kernel @sum_vector "row" config {rows = 200 : i64, row_blocks = 5 : i64} body {
^bb0(%arg0: index, %arg1: tensor<?x1xf32>):
  %0 = tensor.empty() : tensor<1x1xf32>
  %cst = arith.constant 0.000000e+00 : f32
  %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<1x1xf32>) -> tensor<1x1xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["reduction", "parallel"]}
      ins(%arg1 : tensor<?x1xf32>)
      outs(%1 : tensor<1x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %3 = arith.addf %in, %out fastmath<reassoc> : f32
    linalg.yield %3 : f32
  } -> tensor<1x1xf32>
  plan.yield %2 : tensor<1x1xf32>
}

plan.kernel @loss_held "row" config {rows = 9 : i64, row_blocks = 2 : i64} body {
^bb0(%arg0: index, %arg1: tensor<?x384xbf16>, %arg2: tensor<?x1xi32>, %arg3: tensor<16x1xf32>, %arg4: tensor<8x1xf32>):
  %cst = arith.constant 0.000000e+00 : f32
  %cst_0 = arith.constant 0xFF800000 : f32
  %0 = tensor.empty(%arg0) : tensor<?x1xf32>
  %cst_1 = arith.constant 0xFF800000 : f32
  %1 = linalg.fill ins(%cst_1 : f32) outs(%0 : tensor<?x1xf32>) -> tensor<?x1xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map2], iterator_types = ["parallel", "reduction"]}
      ins(%arg1 : tensor<?x384xbf16>)
      outs(%1 : tensor<?x1xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %20 = arith.extf %in : bf16 to f32
    %21 = linalg.index 1 : index
    %c371 = arith.constant 371 : index
    %22 = arith.cmpi slt, %21, %c371 : index
    %23 = arith.select %22, %20, %cst_0 : f32
    %24 = arith.maximumf %23, %out : f32
    linalg.yield %24 : f32
  } -> tensor<?x1xf32>
  %3 = tensor.empty(%arg0) : tensor<?x1xf32>
  %cst_2 = arith.constant 0.000000e+00 : f32
  %4 = linalg.fill ins(%cst_2 : f32) outs(%3 : tensor<?x1xf32>) -> tensor<?x1xf32>
  %5 = linalg.generic {indexing_maps = [#map, #map2, #map2], iterator_types = ["parallel", "reduction"]}
      ins(%arg1, %2 : tensor<?x384xbf16>, tensor<?x1xf32>)
      outs(%4 : tensor<?x1xf32>) {
  ^bb0(%in: bf16, %in_6: f32, %out: f32):
    %20 = arith.extf %in : bf16 to f32
    %21 = arith.subf %20, %in_6 : f32
    %22 = math.exp %21 : f32
    %23 = linalg.index 1 : index
    %c371 = arith.constant 371 : index
    %24 = arith.cmpi slt, %23, %c371 : index
    %25 = arith.select %24, %22, %cst : f32
    %26 = arith.addf %25, %out fastmath<reassoc> : f32
    linalg.yield %26 : f32
  } -> tensor<?x1xf32>
  %cst_3 = arith.constant 0.000000e+00 : f32
  %6 = tensor.empty(%arg0) : tensor<?x1xf32>
  %cst_4 = arith.constant 0.000000e+00 : f32
  %7 = linalg.fill ins(%cst_4 : f32) outs(%6 : tensor<?x1xf32>) -> tensor<?x1xf32>
  %8 = linalg.generic {indexing_maps = [#map, #map2, #map2], iterator_types = ["parallel", "reduction"]}
      ins(%arg1, %arg2 : tensor<?x384xbf16>, tensor<?x1xi32>)
      outs(%7 : tensor<?x1xf32>) {
  ^bb0(%in: bf16, %in_6: i32, %out: f32):
    %20 = arith.extf %in : bf16 to f32
    %21 = linalg.index 1 : index
    %22 = arith.index_cast %in_6 : i32 to index
    %23 = arith.cmpi eq, %21, %22 : index
    %24 = arith.select %23, %20, %cst_3 : f32
    %25 = arith.addf %24, %out fastmath<reassoc> : f32
    linalg.yield %25 : f32
  } -> tensor<?x1xf32>
  %9 = tensor.empty(%arg0) : tensor<?x1xf32>
  %10 = linalg.generic {indexing_maps = [#map, #map, #map, #map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%5, %2, %8, %arg2 : tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xi32>)
      outs(%9 : tensor<?x1xf32>) {
  ^bb0(%in: f32, %in_6: f32, %in_7: f32, %in_8: i32, %out: f32):
    %20 = math.log %in : f32
    %21 = arith.addf %20, %in_6 : f32
    %22 = arith.subf %21, %in_7 : f32
    %c371_i32 = arith.constant 371 : i32
    %23 = arith.cmpi ult, %in_8, %c371_i32 : i32
    %24 = arith.select %23, %22, %cst_3 : f32
    linalg.yield %24 : f32
  } -> tensor<?x1xf32>
  %11 = tensor.empty() : tensor<1x1xf32>
  %cst_5 = arith.constant 0.000000e+00 : f32
  %12 = linalg.fill ins(%cst_5 : f32) outs(%11 : tensor<1x1xf32>) -> tensor<1x1xf32>
  %13 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["reduction", "parallel"]}
      ins(%10 : tensor<?x1xf32>)
      outs(%12 : tensor<1x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %20 = arith.addf %in, %out fastmath<reassoc> : f32
    linalg.yield %20 : f32
  } -> tensor<1x1xf32>
  %14 = tensor.empty(%arg0) : tensor<?x1xf32>
  %15 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%5 : tensor<?x1xf32>)
      outs(%14 : tensor<?x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %cst_6 = arith.constant 1.000000e+00 : f32
    %20 = arith.divf %cst_6, %in : f32
    linalg.yield %20 : f32
  } -> tensor<?x1xf32>
  %16 = tensor.empty(%arg0) : tensor<?x1xf32>
  %17 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%arg2 : tensor<?x1xi32>)
      outs(%16 : tensor<?x1xf32>) {
  ^bb0(%in: i32, %out: f32):
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %extracted = tensor.extract %arg3[%c1, %c0] : tensor<16x1xf32>
    %c0_6 = arith.constant 0 : index
    %c0_7 = arith.constant 0 : index
    %extracted_8 = tensor.extract %arg4[%c0_6, %c0_7] : tensor<8x1xf32>
    %20 = arith.mulf %extracted, %extracted_8 : f32
    %cst_9 = arith.constant 0.000000e+00 : f32
    %c371_i32 = arith.constant 371 : i32
    %21 = arith.cmpi ult, %in, %c371_i32 : i32
    %22 = arith.select %21, %20, %cst_9 : f32
    linalg.yield %22 : f32
  } -> tensor<?x1xf32>
  %18 = tensor.empty(%arg0) : tensor<?x384xbf16>
  %19 = linalg.generic {indexing_maps = [#map, #map2, #map2, #map2, #map2, #map], iterator_types = ["parallel", "parallel"]}
      ins(%arg1, %arg2, %2, %15, %17 : tensor<?x384xbf16>, tensor<?x1xi32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>)
      outs(%18 : tensor<?x384xbf16>) {
  ^bb0(%in: bf16, %in_6: i32, %in_7: f32, %in_8: f32, %in_9: f32, %out: bf16):
    %20 = arith.extf %in : bf16 to f32
    %21 = arith.subf %20, %in_7 : f32
    %22 = math.exp %21 : f32
    %23 = arith.mulf %22, %in_8 : f32
    %cst_10 = arith.constant 1.000000e+00 : f32
    %24 = arith.subf %23, %cst_10 : f32
    %25 = linalg.index 1 : index
    %26 = arith.index_cast %in_6 : i32 to index
    %27 = arith.cmpi eq, %25, %26 : index
    %28 = arith.select %27, %24, %23 : f32
    %cst_11 = arith.constant 0.000000e+00 : f32
    %29 = arith.mulf %28, %in_9 : f32
    %30 = linalg.index 1 : index
    %c371 = arith.constant 371 : index
    %31 = arith.cmpi slt, %30, %c371 : index
    %32 = arith.select %31, %29, %cst_11 : f32
    %33 = arith.truncf %32 : f32 to bf16
    linalg.yield %33 : bf16
  } -> tensor<?x384xbf16>
  plan.yield %10, %13, %19 : tensor<?x1xf32>, tensor<1x1xf32>, tensor<?x384xbf16>
}

plan.kernel @loss_staged "row" config {rows = 9 : i64, row_blocks = 2 : i64} body {
^bb0(%arg0: index, %arg1: tensor<?x50304xf16>, %arg2: tensor<?x1xi32>, %arg3: tensor<16x1xf32>, %arg4: tensor<8x1xf32>):
  %cst = arith.constant 0.000000e+00 : f32
  %cst_0 = arith.constant 0xFF800000 : f32
  %0 = tensor.empty(%arg0) : tensor<?x1xf32>
  %cst_1 = arith.constant 0xFF800000 : f32
  %1 = linalg.fill ins(%cst_1 : f32) outs(%0 : tensor<?x1xf32>) -> tensor<?x1xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map2], iterator_types = ["parallel", "reduction"]}
      ins(%arg1 : tensor<?x50304xf16>)
      outs(%1 : tensor<?x1xf32>) {
  ^bb0(%in: f16, %out: f32):
    %20 = arith.extf %in : f16 to f32
    %21 = linalg.index 1 : index
    %c50257 = arith.constant 50257 : index
    %22 = arith.cmpi slt, %21, %c50257 : index
    %23 = arith.select %22, %20, %cst_0 : f32
    %24 = arith.maximumf %23, %out : f32
    linalg.yield %24 : f32
  } -> tensor<?x1xf32>
  %3 = tensor.empty(%arg0) : tensor<?x1xf32>
  %cst_2 = arith.constant 0.000000e+00 : f32
  %4 = linalg.fill ins(%cst_2 : f32) outs(%3 : tensor<?x1xf32>) -> tensor<?x1xf32>
  %5 = linalg.generic {indexing_maps = [#map, #map2, #map2], iterator_types = ["parallel", "reduction"]}
      ins(%arg1, %2 : tensor<?x50304xf16>, tensor<?x1xf32>)
      outs(%4 : tensor<?x1xf32>) {
  ^bb0(%in: f16, %in_6: f32, %out: f32):
    %20 = arith.extf %in : f16 to f32
    %21 = arith.subf %20, %in_6 : f32
    %22 = math.exp %21 : f32
    %23 = linalg.index 1 : index
    %c50257 = arith.constant 50257 : index
    %24 = arith.cmpi slt, %23, %c50257 : index
    %25 = arith.select %24, %22, %cst : f32
    %26 = arith.addf %25, %out fastmath<reassoc> : f32
    linalg.yield %26 : f32
  } -> tensor<?x1xf32>
  %cst_3 = arith.constant 0.000000e+00 : f32
  %6 = tensor.empty(%arg0) : tensor<?x1xf32>
  %cst_4 = arith.constant 0.000000e+00 : f32
  %7 = linalg.fill ins(%cst_4 : f32) outs(%6 : tensor<?x1xf32>) -> tensor<?x1xf32>
  %8 = linalg.generic {indexing_maps = [#map, #map2, #map2], iterator_types = ["parallel", "reduction"]}
      ins(%arg1, %arg2 : tensor<?x50304xf16>, tensor<?x1xi32>)
      outs(%7 : tensor<?x1xf32>) {
  ^bb0(%in: f16, %in_6: i32, %out: f32):
    %20 = arith.extf %in : f16 to f32
    %21 = linalg.index 1 : index
    %22 = arith.index_cast %in_6 : i32 to index
    %23 = arith.cmpi eq, %21, %22 : index
    %24 = arith.select %23, %20, %cst_3 : f32
    %25 = arith.addf %24, %out fastmath<reassoc> : f32
    linalg.yield %25 : f32
  } -> tensor<?x1xf32>
  %9 = tensor.empty(%arg0) : tensor<?x1xf32>
  %10 = linalg.generic {indexing_maps = [#map, #map, #map, #map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%5, %2, %8, %arg2 : tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xi32>)
      outs(%9 : tensor<?x1xf32>) {
  ^bb0(%in: f32, %in_6: f32, %in_7: f32, %in_8: i32, %out: f32):
    %20 = math.log %in : f32
    %21 = arith.addf %20, %in_6 : f32
    %22 = arith.subf %21, %in_7 : f32
    %c50257_i32 = arith.constant 50257 : i32
    %23 = arith.cmpi ult, %in_8, %c50257_i32 : i32
    %24 = arith.select %23, %22, %cst_3 : f32
    linalg.yield %24 : f32
  } -> tensor<?x1xf32>
  %11 = tensor.empty() : tensor<1x1xf32>
  %cst_5 = arith.constant 0.000000e+00 : f32
  %12 = linalg.fill ins(%cst_5 : f32) outs(%11 : tensor<1x1xf32>) -> tensor<1x1xf32>
  %13 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["reduction", "parallel"]}
      ins(%10 : tensor<?x1xf32>)
      outs(%12 : tensor<1x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %20 = arith.addf %in, %out fastmath<reassoc> : f32
    linalg.yield %20 : f32
  } -> tensor<1x1xf32>
  %14 = tensor.empty(%arg0) : tensor<?x1xf32>
  %15 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%5 : tensor<?x1xf32>)
      outs(%14 : tensor<?x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %cst_6 = arith.constant 1.000000e+00 : f32
    %20 = arith.divf %cst_6, %in : f32
    linalg.yield %20 : f32
  } -> tensor<?x1xf32>
  %16 = tensor.empty(%arg0) : tensor<?x1xf32>
  %17 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%arg2 : tensor<?x1xi32>)
      outs(%16 : tensor<?x1xf32>) {
  ^bb0(%in: i32, %out: f32):
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %extracted = tensor.extract %arg3[%c1, %c0] : tensor<16x1xf32>
    %c0_6 = arith.constant 0 : index
    %c0_7 = arith.constant 0 : index
    %extracted_8 = tensor.extract %arg4[%c0_6, %c0_7] : tensor<8x1xf32>
    %20 = arith.mulf %extracted, %extracted_8 : f32
    %cst_9 = arith.constant 0.000000e+00 : f32
    %c50257_i32 = arith.constant 50257 : i32
    %21 = arith.cmpi ult, %in, %c50257_i32 : i32
    %22 = arith.select %21, %20, %cst_9 : f32
    linalg.yield %22 : f32
  } -> tensor<?x1xf32>
  %18 = tensor.empty(%arg0) : tensor<?x50304xf16>
  %19 = linalg.generic {indexing_maps = [#map, #map2, #map2, #map2, #map2, #map], iterator_types = ["parallel", "parallel"]}
      ins(%arg1, %arg2, %2, %15, %17 : tensor<?x50304xf16>, tensor<?x1xi32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>)
      outs(%18 : tensor<?x50304xf16>) {
  ^bb0(%in: f16, %in_6: i32, %in_7: f32, %in_8: f32, %in_9: f32, %out: f16):
    %20 = arith.extf %in : f16 to f32
    %21 = arith.subf %20, %in_7 : f32
    %22 = math.exp %21 : f32
    %23 = arith.mulf %22, %in_8 : f32
    %cst_10 = arith.constant 1.000000e+00 : f32
    %24 = arith.subf %23, %cst_10 : f32
    %25 = linalg.index 1 : index
    %26 = arith.index_cast %in_6 : i32 to index
    %27 = arith.cmpi eq, %25, %26 : index
    %28 = arith.select %27, %24, %23 : f32
    %cst_11 = arith.constant 0.000000e+00 : f32
    %29 = arith.mulf %28, %in_9 : f32
    %30 = linalg.index 1 : index
    %c50257 = arith.constant 50257 : index
    %31 = arith.cmpi slt, %30, %c50257 : index
    %32 = arith.select %31, %29, %cst_11 : f32
    %33 = arith.truncf %32 : f32 to f16
    linalg.yield %33 : f16
  } -> tensor<?x50304xf16>
  plan.yield %10, %13, %19 : tensor<?x1xf32>, tensor<1x1xf32>, tensor<?x50304xf16>
}

plan.kernel @loss_streamed "row" config {rows = 9 : i64, row_blocks = 2 : i64} body {
^bb0(%arg0: index, %arg1: tensor<?x50304xf32>, %arg2: tensor<?x1xi32>, %arg3: tensor<16x1xf32>, %arg4: tensor<8x1xf32>):
  %cst = arith.constant 0.000000e+00 : f32
  %cst_0 = arith.constant 0xFF800000 : f32
  %0 = tensor.empty(%arg0) : tensor<?x1xf32>
  %cst_1 = arith.constant 0xFF800000 : f32
  %1 = linalg.fill ins(%cst_1 : f32) outs(%0 : tensor<?x1xf32>) -> tensor<?x1xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map2], iterator_types = ["parallel", "reduction"]}
      ins(%arg1 : tensor<?x50304xf32>)
      outs(%1 : tensor<?x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %20 = linalg.index 1 : index
    %c50257 = arith.constant 50257 : index
    %21 = arith.cmpi slt, %20, %c50257 : index
    %22 = arith.select %21, %in, %cst_0 : f32
    %23 = arith.maximumf %22, %out : f32
    linalg.yield %23 : f32
  } -> tensor<?x1xf32>
  %3 = tensor.empty(%arg0) : tensor<?x1xf32>
  %cst_2 = arith.constant 0.000000e+00 : f32
  %4 = linalg.fill ins(%cst_2 : f32) outs(%3 : tensor<?x1xf32>) -> tensor<?x1xf32>
  %5 = linalg.generic {indexing_maps = [#map, #map2, #map2], iterator_types = ["parallel", "reduction"]}
      ins(%arg1, %2 : tensor<?x50304xf32>, tensor<?x1xf32>)
      outs(%4 : tensor<?x1xf32>) {
  ^bb0(%in: f32, %in_6: f32, %out: f32):
    %20 = arith.subf %in, %in_6 : f32
    %21 = math.exp %20 : f32
    %22 = linalg.index 1 : index
    %c50257 = arith.constant 50257 : index
    %23 = arith.cmpi slt, %22, %c50257 : index
    %24 = arith.select %23, %21, %cst : f32
    %25 = arith.addf %24, %out fastmath<reassoc> : f32
    linalg.yield %25 : f32
  } -> tensor<?x1xf32>
  %cst_3 = arith.constant 0.000000e+00 : f32
  %6 = tensor.empty(%arg0) : tensor<?x1xf32>
  %cst_4 = arith.constant 0.000000e+00 : f32
  %7 = linalg.fill ins(%cst_4 : f32) outs(%6 : tensor<?x1xf32>) -> tensor<?x1xf32>
  %8 = linalg.generic {indexing_maps = [#map, #map2, #map2], iterator_types = ["parallel", "reduction"]}
      ins(%arg1, %arg2 : tensor<?x50304xf32>, tensor<?x1xi32>)
      outs(%7 : tensor<?x1xf32>) {
  ^bb0(%in: f32, %in_6: i32, %out: f32):
    %20 = linalg.index 1 : index
    %21 = arith.index_cast %in_6 : i32 to index
    %22 = arith.cmpi eq, %20, %21 : index
    %23 = arith.select %22, %in, %cst_3 : f32
    %24 = arith.addf %23, %out fastmath<reassoc> : f32
    linalg.yield %24 : f32
  } -> tensor<?x1xf32>
  %9 = tensor.empty(%arg0) : tensor<?x1xf32>
  %10 = linalg.generic {indexing_maps = [#map, #map, #map, #map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%5, %2, %8, %arg2 : tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xi32>)
      outs(%9 : tensor<?x1xf32>) {
  ^bb0(%in: f32, %in_6: f32, %in_7: f32, %in_8: i32, %out: f32):
    %20 = math.log %in : f32
    %21 = arith.addf %20, %in_6 : f32
    %22 = arith.subf %21, %in_7 : f32
    %c50257_i32 = arith.constant 50257 : i32
    %23 = arith.cmpi ult, %in_8, %c50257_i32 : i32
    %24 = arith.select %23, %22, %cst_3 : f32
    linalg.yield %24 : f32
  } -> tensor<?x1xf32>
  %11 = tensor.empty() : tensor<1x1xf32>
  %cst_5 = arith.constant 0.000000e+00 : f32
  %12 = linalg.fill ins(%cst_5 : f32) outs(%11 : tensor<1x1xf32>) -> tensor<1x1xf32>
  %13 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["reduction", "parallel"]}
      ins(%10 : tensor<?x1xf32>)
      outs(%12 : tensor<1x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %20 = arith.addf %in, %out fastmath<reassoc> : f32
    linalg.yield %20 : f32
  } -> tensor<1x1xf32>
  %14 = tensor.empty(%arg0) : tensor<?x1xf32>
  %15 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%5 : tensor<?x1xf32>)
      outs(%14 : tensor<?x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %cst_6 = arith.constant 1.000000e+00 : f32
    %20 = arith.divf %cst_6, %in : f32
    linalg.yield %20 : f32
  } -> tensor<?x1xf32>
  %16 = tensor.empty(%arg0) : tensor<?x1xf32>
  %17 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%arg2 : tensor<?x1xi32>)
      outs(%16 : tensor<?x1xf32>) {
  ^bb0(%in: i32, %out: f32):
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %extracted = tensor.extract %arg3[%c1, %c0] : tensor<16x1xf32>
    %c0_6 = arith.constant 0 : index
    %c0_7 = arith.constant 0 : index
    %extracted_8 = tensor.extract %arg4[%c0_6, %c0_7] : tensor<8x1xf32>
    %20 = arith.mulf %extracted, %extracted_8 : f32
    %cst_9 = arith.constant 0.000000e+00 : f32
    %c50257_i32 = arith.constant 50257 : i32
    %21 = arith.cmpi ult, %in, %c50257_i32 : i32
    %22 = arith.select %21, %20, %cst_9 : f32
    linalg.yield %22 : f32
  } -> tensor<?x1xf32>
  %18 = tensor.empty(%arg0) : tensor<?x50304xf32>
  %19 = linalg.generic {indexing_maps = [#map, #map2, #map2, #map2, #map2, #map], iterator_types = ["parallel", "parallel"]}
      ins(%arg1, %arg2, %2, %15, %17 : tensor<?x50304xf32>, tensor<?x1xi32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>)
      outs(%18 : tensor<?x50304xf32>) {
  ^bb0(%in: f32, %in_6: i32, %in_7: f32, %in_8: f32, %in_9: f32, %out: f32):
    %20 = arith.subf %in, %in_7 : f32
    %21 = math.exp %20 : f32
    %22 = arith.mulf %21, %in_8 : f32
    %cst_10 = arith.constant 1.000000e+00 : f32
    %23 = arith.subf %22, %cst_10 : f32
    %24 = linalg.index 1 : index
    %25 = arith.index_cast %in_6 : i32 to index
    %26 = arith.cmpi eq, %24, %25 : index
    %27 = arith.select %26, %23, %22 : f32
    %cst_11 = arith.constant 0.000000e+00 : f32
    %28 = arith.mulf %27, %in_9 : f32
    %29 = linalg.index 1 : index
    %c50257 = arith.constant 50257 : index
    %30 = arith.cmpi slt, %29, %c50257 : index
    %31 = arith.select %30, %28, %cst_11 : f32
    linalg.yield %31 : f32
  } -> tensor<?x50304xf32>
  plan.yield %10, %13, %19 : tensor<?x1xf32>, tensor<1x1xf32>, tensor<?x50304xf32>
}

plan.kernel @square_matrix "row" config {rows = 37 : i64, row_blocks = 5 : i64} body {
^bb0(%arg0: index, %arg1: tensor<?x768xf32>, %arg2: tensor<8x1xf32>):
  %0 = tensor.empty(%arg0) : tensor<?x1xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel"]}
      outs(%0 : tensor<?x1xf32>) {
  ^bb0(%out: f32):
    %c0 = arith.constant 0 : index
    %c0_1 = arith.constant 0 : index
    %extracted = tensor.extract %arg2[%c0, %c0_1] : tensor<8x1xf32>
    linalg.yield %extracted : f32
  } -> tensor<?x1xf32>
  %2 = tensor.empty(%arg0) : tensor<?x1xf32>
  %cst = arith.constant 0.000000e+00 : f32
  %3 = linalg.fill ins(%cst : f32) outs(%2 : tensor<?x1xf32>) -> tensor<?x1xf32>
  %4 = linalg.generic {indexing_maps = [#map, #map2, #map2], iterator_types = ["parallel", "reduction"]}
      ins(%arg1, %1 : tensor<?x768xf32>, tensor<?x1xf32>)
      outs(%3 : tensor<?x1xf32>) {
  ^bb0(%in: f32, %in_1: f32, %out: f32):
    %8 = arith.divf %in, %in_1 : f32
    %9 = arith.mulf %8, %8 : f32
    %10 = arith.addf %9, %out fastmath<reassoc> : f32
    linalg.yield %10 : f32
  } -> tensor<?x1xf32>
  %5 = tensor.empty() : tensor<1x1xf32>
  %cst_0 = arith.constant 0.000000e+00 : f32
  %6 = linalg.fill ins(%cst_0 : f32) outs(%5 : tensor<1x1xf32>) -> tensor<1x1xf32>
  %7 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["reduction", "parallel"]}
      ins(%4 : tensor<?x1xf32>)
      outs(%6 : tensor<1x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %8 = arith.addf %in, %out fastmath<reassoc> : f32
    linalg.yield %8 : f32
  } -> tensor<1x1xf32>
  plan.yield %7 : tensor<1x1xf32>
}

plan.kernel @square_vector "row" config {rows = 200 : i64, row_blocks = 5 : i64} body {
^bb0(%arg0: index, %arg1: tensor<?x1xf32>, %arg2: tensor<8x1xf32>):
  %0 = tensor.empty(%arg0) : tensor<?x1xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel"]}
      outs(%0 : tensor<?x1xf32>) {
  ^bb0(%out: f32):
    %c0 = arith.constant 0 : index
    %c0_0 = arith.constant 0 : index
    %extracted = tensor.extract %arg2[%c0, %c0_0] : tensor<8x1xf32>
    linalg.yield %extracted : f32
  } -> tensor<?x1xf32>
  %2 = tensor.empty() : tensor<1x1xf32>
  %cst = arith.constant 0.000000e+00 : f32
  %3 = linalg.fill ins(%cst : f32) outs(%2 : tensor<1x1xf32>) -> tensor<1x1xf32>
  %4 = linalg.generic {indexing_maps = [#map, #map, #map1], iterator_types = ["reduction", "parallel"]}
      ins(%arg1, %1 : tensor<?x1xf32>, tensor<?x1xf32>)
      outs(%3 : tensor<1x1xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %5 = arith.divf %in, %in_0 : f32
    %6 = arith.mulf %5, %5 : f32
    %7 = arith.addf %6, %out fastmath<reassoc> : f32
    linalg.yield %7 : f32
  } -> tensor<1x1xf32>
  plan.yield %4 : tensor<1x1xf32>
}

plan.kernel @finish "row" body {
^bb0(%arg0: index, %arg1: tensor<?x5xf32>, %arg2: tensor<?x1xf32>):
  %0 = tensor.empty(%arg0) : tensor<?x1xf32>
  %cst = arith.constant 0.000000e+00 : f32
  %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<?x1xf32>) -> tensor<?x1xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map2], iterator_types = ["parallel", "reduction"]}
      ins(%arg1 : tensor<?x5xf32>)
      outs(%1 : tensor<?x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %5 = arith.addf %in, %out fastmath<reassoc> : f32
    linalg.yield %5 : f32
  } -> tensor<?x1xf32>
  %3 = tensor.empty(%arg0) : tensor<?x1xf32>
  %4 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%arg2, %2 : tensor<?x1xf32>, tensor<?x1xf32>)
      outs(%3 : tensor<?x1xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %5 = arith.addf %in, %in_0 : f32
    linalg.yield %5 : f32
  } -> tensor<?x1xf32>
  plan.yield %4 : tensor<?x1xf32>
}

plan.kernel @step_state "row" body {
^bb0(%arg0: index, %arg1: tensor<1x1xf32>, %arg2: tensor<16x1xf32>, %arg3: tensor<8x1xf32>):
  %0 = tensor.empty(%arg0) : tensor<?x1xf32>
  %1 = linalg.generic {indexing_maps = [#map3, #map], iterator_types = ["parallel", "parallel"]}
      ins(%arg1 : tensor<1x1xf32>)
      outs(%0 : tensor<?x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 1.000000e+00 : f32
    %cst_1 = arith.constant 3.40282347E+38 : f32
    %c0 = arith.constant 0 : index
    %c0_2 = arith.constant 0 : index
    %extracted = tensor.extract %arg3[%c0, %c0_2] : tensor<8x1xf32>
    %c1 = arith.constant 1 : index
    %c0_3 = arith.constant 0 : index
    %extracted_4 = tensor.extract %arg3[%c1, %c0_3] : tensor<8x1xf32>
    %2 = math.sqrt %in : f32
    %3 = arith.cmpf ole, %2, %cst_1 : f32
    %c9 = arith.constant 9 : index
    %c0_5 = arith.constant 0 : index
    %extracted_6 = tensor.extract %arg2[%c9, %c0_5] : tensor<16x1xf32>
    %4 = arith.minimumf %extracted_6, %cst_1 : f32
    %5 = arith.cmpf ogt, %extracted_6, %cst : f32
    %6 = arith.select %5, %4, %cst_1 : f32
    %7 = arith.cmpf ole, %2, %6 : f32
    %c6 = arith.constant 6 : index
    %c0_7 = arith.constant 0 : index
    %extracted_8 = tensor.extract %arg2[%c6, %c0_7] : tensor<16x1xf32>
    %cst_9 = arith.constant 9.99999997E-7 : f32
    %8 = arith.addf %2, %cst_9 : f32
    %9 = arith.divf %extracted_8, %8 : f32
    %10 = arith.minimumf %9, %cst_0 : f32
    %11 = arith.cmpf ogt, %extracted_8, %cst : f32
    %12 = arith.select %11, %10, %cst_0 : f32
    %13 = arith.divf %12, %extracted : f32
    %14 = arith.select %7, %13, %cst : f32
    %15 = arith.select %7, %cst_0, %cst : f32
    %16 = arith.select %7, %cst, %cst_0 : f32
    %c6_10 = arith.constant 6 : index
    %c0_11 = arith.constant 0 : index
    %extracted_12 = tensor.extract %arg3[%c6_10, %c0_11] : tensor<8x1xf32>
    %17 = arith.addf %extracted_12, %15 : f32
    %c7 = arith.constant 7 : index
    %c0_13 = arith.constant 0 : index
    %extracted_14 = tensor.extract %arg3[%c7, %c0_13] : tensor<8x1xf32>
    %18 = arith.addf %extracted_14, %16 : f32
    %19 = linalg.index 0 : index
    %c0_15 = arith.constant 0 : index
    %20 = arith.cmpi eq, %19, %c0_15 : index
    %21 = arith.select %20, %extracted, %18 : f32
    %c1_16 = arith.constant 1 : index
    %22 = arith.cmpi eq, %19, %c1_16 : index
    %23 = arith.select %22, %extracted_4, %21 : f32
    %c2 = arith.constant 2 : index
    %24 = arith.cmpi eq, %19, %c2 : index
    %25 = arith.select %24, %16, %23 : f32
    %c3 = arith.constant 3 : index
    %26 = arith.cmpi eq, %19, %c3 : index
    %27 = arith.select %26, %2, %25 : f32
    %c4 = arith.constant 4 : index
    %28 = arith.cmpi eq, %19, %c4 : index
    %29 = arith.select %28, %14, %27 : f32
    %c5 = arith.constant 5 : index
    %30 = arith.cmpi eq, %19, %c5 : index
    %31 = arith.select %30, %cst, %29 : f32
    %c6_17 = arith.constant 6 : index
    %32 = arith.cmpi eq, %19, %c6_17 : index
    %33 = arith.select %32, %17, %31 : f32
    linalg.yield %33 : f32
  } -> tensor<?x1xf32>
  plan.yield %1 : tensor<?x1xf32>
}
