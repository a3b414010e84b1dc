// What no emitter prints is named, with what would do.
// SPDX-License-Identifier: Apache-2.0
// RUN: not plan-to-cuda %s --arch=sm_75 2>&1 | FileCheck %s --check-prefix=ARCH
// RUN: plan-to-cuda %s 2>&1 | FileCheck %s

#element = affine_map<(d0, d1) -> (d0, d1)>

// ARCH: error: CUDA architecture 'sm_75' is not supported: use sm_80

// CHECK: error: 'plan.kernel' op no CUDA template is called 'telepathy'
plan.kernel @unknown "telepathy"

// CHECK: error: 'arith.addf' op has no CUDA form
plan.kernel @half_arithmetic "row" body {
^bb0(%rows: index, %x: tensor<?x64xf16>):
  %empty = tensor.empty(%rows) : tensor<?x64xf16>
  %y = linalg.generic {indexing_maps = [#element, #element], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<?x64xf16>) outs(%empty : tensor<?x64xf16>) {
  ^bb0(%a: f16, %o: f16):
    %s = arith.addf %a, %a : f16
    linalg.yield %s : f16
  } -> tensor<?x64xf16>
  plan.yield %y : tensor<?x64xf16>
}

// CHECK: error: a row kernel has one width, not 64 and 32
plan.kernel @two_widths "row" body {
^bb0(%rows: index, %x: tensor<?x64xf32>, %y: tensor<?x32xf32>):
  plan.yield %x, %y : tensor<?x64xf32>, tensor<?x32xf32>
}

// CHECK: error: 'linalg.generic' op a reduction starts from linalg.fill
plan.kernel @no_start "row" body {
^bb0(%rows: index, %x: tensor<?x64xf32>, %start: tensor<?x1xf32>):
  %y = linalg.generic {indexing_maps = [#element, affine_map<(d0, d1) -> (d0, 0)>], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<?x64xf32>) outs(%start : tensor<?x1xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    linalg.yield %s : f32
  } -> tensor<?x1xf32>
  plan.yield %y : tensor<?x1xf32>
}
