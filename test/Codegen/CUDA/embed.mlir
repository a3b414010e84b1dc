// Gathers of table rows, as vectors where rows allow it.
// SPDX-License-Identifier: Apache-2.0
// RUN: plan-to-cuda %s | FileCheck %s

// What depends on the row alone is computed once a vector.
// CHECK-LABEL: row @vectors
// CHECK: const int s0 = p0[row];
// CHECK: = (long long)((unsigned long long)t1 / (unsigned long long)16ll);
// CHECK: = p1[t{{[0-9]+}} * 1 + 0ll];
// CHECK: [[WTE:v[0-9]+]] = ((const Pack<half, 8> *)p2)[t{{[0-9]+}} * 96 + c];
// CHECK: [[WPE:v[0-9]+]] = ((const Pack<half, 8> *)p3)[t{{[0-9]+}} * 96 + c];
// CHECK: for (int k = 0; k < 8; ++k) {
// CHECK: = [[WTE]].get(k) + [[WPE]].get(k);

// CHECK-LABEL: row @elements
// CHECK: for (int k = 0; k < 1; ++k) {
// CHECK: = toFloat(p2[t{{[0-9]+}} * 5 + t{{[0-9]+}}]);

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0, 0)>
#column = affine_map<(d0, d1) -> (0, d1)>

plan.kernel @vectors "row" body {
^bb0(%rows: index, %tok: tensor<?x1xi32>, %starts: tensor<4x1xi32>, %wte: tensor<50x768xf16>, %wpe: tensor<32x768xf16>):
  %e = tensor.empty(%rows) : tensor<?x768xf32>
  %y = linalg.generic {indexing_maps = [#row, #element], iterator_types = ["parallel", "parallel"]}
    ins(%tok : tensor<?x1xi32>) outs(%e : tensor<?x768xf32>) {
  ^bb0(%t: i32, %o: f32):
    %r = linalg.index 0 : index
    %j = linalg.index 1 : index
    %z = arith.constant 0 : index
    %T = arith.constant 16 : index
    %b = arith.divui %r, %T : index
    %tp = arith.remui %r, %T : index
    %st = tensor.extract %starts[%b, %z] : tensor<4x1xi32>
    %sti = arith.index_cast %st : i32 to index
    %p = arith.addi %sti, %tp : index
    %lim = arith.constant 31 : index
    %pp = arith.minsi %p, %lim : index
    %ti = arith.index_cast %t : i32 to index
    %a = tensor.extract %wte[%ti, %j] : tensor<50x768xf16>
    %w = tensor.extract %wpe[%pp, %j] : tensor<32x768xf16>
    %af = arith.extf %a : f16 to f32
    %wf = arith.extf %w : f16 to f32
    %s = arith.addf %af, %wf : f32
    linalg.yield %s : f32
  } -> tensor<?x768xf32>
  plan.yield %y : tensor<?x768xf32>
}

plan.kernel @elements "row" body {
^bb0(%rows: index, %tok: tensor<?x1xi32>, %starts: tensor<4x1xi32>, %wte: tensor<50x5xf32>, %wpe: tensor<32x5xf32>):
  %e = tensor.empty(%rows) : tensor<?x5xf32>
  %y = linalg.generic {indexing_maps = [#row, #element], iterator_types = ["parallel", "parallel"]}
    ins(%tok : tensor<?x1xi32>) outs(%e : tensor<?x5xf32>) {
  ^bb0(%t: i32, %o: f32):
    %r = linalg.index 0 : index
    %j = linalg.index 1 : index
    %z = arith.constant 0 : index
    %T = arith.constant 16 : index
    %b = arith.divui %r, %T : index
    %tp = arith.remui %r, %T : index
    %st = tensor.extract %starts[%b, %z] : tensor<4x1xi32>
    %sti = arith.index_cast %st : i32 to index
    %p = arith.addi %sti, %tp : index
    %lim = arith.constant 31 : index
    %pp = arith.minsi %p, %lim : index
    %ti = arith.index_cast %t : i32 to index
    %a = tensor.extract %wte[%ti, %j] : tensor<50x5xf32>
    %w = tensor.extract %wpe[%pp, %j] : tensor<32x5xf32>
    %s = arith.addf %a, %w : f32
    linalg.yield %s : f32
  } -> tensor<?x5xf32>
  plan.yield %y : tensor<?x5xf32>
}
