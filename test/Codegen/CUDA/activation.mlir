// Maps alone: a thread a vector; approximations of exp, log, tanh, erf.
// SPDX-License-Identifier: Apache-2.0
// RUN: plan-to-cuda %s | FileCheck %s

// CHECK-LABEL: row @gelu_tanh
// CHECK: const unsigned index = blockIdx.x * 256u + threadIdx.x;
// CHECK: const bool active = index < rows * 12u;
// CHECK: for (int k = 0; k < 8; ++k) {
// CHECK-NOT: tanh
// CHECK: if (active) ((Pack<half, 8> *)q0)[(long long)row * 12 + c] =

// Twenty columns move as vectors of four.
// CHECK-LABEL: row @gelu_erf
// CHECK: Pack<bf16, 4>
// CHECK-NOT: erf{{f?}}(

// CHECK-LABEL: row @exp_log
// CHECK: Pack<float, 1>
// CHECK: fmaf(
// CHECK: asFloat((unsigned)
// CHECK-NOT: {{expf|logf|Approx}}

// What is rounded to 16 bits need not be exact before.
// CHECK-LABEL: row @rounded
// CHECK: [[P:t[0-9]+]] = {{t[0-9]+}} * 0x1.715476p+0f;
// CHECK: [[E:t[0-9]+]] = exp2Approx([[P]]);
// CHECK: [[D:t[0-9]+]] = [[E]] + 0x1p+0f;
// CHECK: divideApprox({{t[0-9]+}}, [[D]]);

// One column: a row's scalar, a thread a row.
// CHECK-LABEL: row @one_column
// CHECK: const float s0 = toFloat(p0[row]);
// CHECK: if (active) q0[row] =

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0, 0)>
#column = affine_map<(d0, d1) -> (0, d1)>

plan.kernel @gelu_tanh "row" body {
^bb0(%rows: index, %x: tensor<?x96xf16>):
  %ey = tensor.empty(%rows) : tensor<?x96xf16>
  %y = linalg.generic {indexing_maps = [#element, #element], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<?x96xf16>) outs(%ey : tensor<?x96xf16>) {
  ^bb0(%a: f16, %o: f16):
    %e = arith.extf %a : f16 to f32
    %c0 = arith.constant 0.044715 : f32
    %c1 = arith.constant 0.79788456 : f32
    %x2 = arith.mulf %e, %e : f32
    %x3 = arith.mulf %x2, %e : f32
    %in = arith.mulf %x3, %c0 : f32
    %su = arith.addf %e, %in : f32
    %ar = arith.mulf %su, %c1 : f32
    %th = math.tanh %ar : f32
    %one = arith.constant 1.0 : f32
    %half = arith.constant 0.5 : f32
    %p1 = arith.addf %th, %one : f32
    %hx = arith.mulf %e, %half : f32
    %y = arith.mulf %hx, %p1 : f32
    %t = arith.truncf %y : f32 to f16
    linalg.yield %t : f16
  } -> tensor<?x96xf16>
  plan.yield %y : tensor<?x96xf16>
}

plan.kernel @gelu_erf "row" body {
^bb0(%rows: index, %x: tensor<?x20xbf16>):
  %ey = tensor.empty(%rows) : tensor<?x20xbf16>
  %y = linalg.generic {indexing_maps = [#element, #element], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<?x20xbf16>) outs(%ey : tensor<?x20xbf16>) {
  ^bb0(%a: bf16, %o: bf16):
    %e = arith.extf %a : bf16 to f32
    %c1 = arith.constant 0.70710678 : f32
    %ar = arith.mulf %e, %c1 : f32
    %th = math.erf %ar : f32
    %one = arith.constant 1.0 : f32
    %half = arith.constant 0.5 : f32
    %p1 = arith.addf %th, %one : f32
    %hx = arith.mulf %e, %half : f32
    %y = arith.mulf %hx, %p1 : f32
    %t = arith.truncf %y : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<?x20xbf16>
  plan.yield %y : tensor<?x20xbf16>
}

plan.kernel @exp_log "row" body {
^bb0(%rows: index, %x: tensor<?x3xf32>):
  %ey = tensor.empty(%rows) : tensor<?x3xf32>
  %y = linalg.generic {indexing_maps = [#element, #element], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<?x3xf32>) outs(%ey : tensor<?x3xf32>) {
  ^bb0(%a: f32, %o: f32):
    %ne = arith.negf %a : f32
    %ex = math.exp %ne : f32
    %lg = math.log %ex : f32
    %th = arith.addf %ex, %lg : f32
    %one = arith.constant 1.0 : f32
    %half = arith.constant 0.5 : f32
    %p1 = arith.addf %th, %one : f32
    %hx = arith.mulf %a, %half : f32
    %y = arith.mulf %hx, %p1 : f32
    linalg.yield %y : f32
  } -> tensor<?x3xf32>
  plan.yield %y : tensor<?x3xf32>
}

plan.kernel @rounded "row" body {
^bb0(%rows: index, %x: tensor<?x8xbf16>):
  %ey = tensor.empty(%rows) : tensor<?x8xbf16>
  %y = linalg.generic {indexing_maps = [#element, #element], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<?x8xbf16>) outs(%ey : tensor<?x8xbf16>) {
  ^bb0(%a: bf16, %o: bf16):
    %e = arith.extf %a : bf16 to f32
    %ne = arith.negf %e : f32
    %ex = math.exp %ne : f32
    %one = arith.constant 1.0 : f32
    %p1 = arith.addf %ex, %one : f32
    %y = arith.divf %e, %p1 : f32
    %t = arith.truncf %y : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<?x8xbf16>
  plan.yield %y : tensor<?x8xbf16>
}

plan.kernel @one_column "row" body {
^bb0(%rows: index, %x: tensor<?x1xf32>):
  %ey = tensor.empty(%rows) : tensor<?x1xf32>
  %y = linalg.generic {indexing_maps = [#element, #element], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<?x1xf32>) outs(%ey : tensor<?x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %c0 = arith.constant 0.044715 : f32
    %c1 = arith.constant 0.79788456 : f32
    %x2 = arith.mulf %a, %a : f32
    %x3 = arith.mulf %x2, %a : f32
    %in = arith.mulf %x3, %c0 : f32
    %su = arith.addf %a, %in : f32
    %ar = arith.mulf %su, %c1 : f32
    %th = math.tanh %ar : f32
    %one = arith.constant 1.0 : f32
    %half = arith.constant 0.5 : f32
    %p1 = arith.addf %th, %one : f32
    %hx = arith.mulf %a, %half : f32
    %y = arith.mulf %hx, %p1 : f32
    linalg.yield %y : f32
  } -> tensor<?x1xf32>
  plan.yield %y : tensor<?x1xf32>
}
