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

// Sums over rows are kept in registers, and are whole only after the kernel.
// CHECK: error: adds up rows of 40000 columns, which do not fit the registers
plan.kernel @too_wide "row" config {rows = 8 : i64, row_blocks = 2 : i64} body {
^bb0(%rows: index, %x: tensor<?x40000xf32>):
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x40000xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x40000xf32>) -> tensor<1x40000xf32>
  %y = linalg.generic {indexing_maps = [#element, affine_map<(d0, d1) -> (0, d1)>], iterator_types = ["reduction", "parallel"]}
    ins(%x : tensor<?x40000xf32>) outs(%f : tensor<1x40000xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    linalg.yield %s : f32
  } -> tensor<1x40000xf32>
  plan.yield %y : tensor<1x40000xf32>
}

// CHECK: error: 'linalg.generic' op reads a sum over rows, which is complete only after the kernel
plan.kernel @reads_sum "row" config {rows = 8 : i64, row_blocks = 2 : i64} body {
^bb0(%rows: index, %x: tensor<?x64xf32>):
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x64xf32>) -> tensor<1x64xf32>
  %y = linalg.generic {indexing_maps = [#element, affine_map<(d0, d1) -> (0, d1)>], iterator_types = ["reduction", "parallel"]}
    ins(%x : tensor<?x64xf32>) outs(%f : tensor<1x64xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    linalg.yield %s : f32
  } -> tensor<1x64xf32>
  %empty = tensor.empty(%rows) : tensor<?x64xf32>
  %z = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, d1)>, #element], iterator_types = ["parallel", "parallel"]}
    ins(%y : tensor<1x64xf32>) outs(%empty : tensor<?x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<?x64xf32>
  plan.yield %z : tensor<?x64xf32>
}
