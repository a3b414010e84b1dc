// Indices, masks, integer operands, a gather from the row itself.
// SPDX-License-Identifier: Apache-2.0
// RUN: plan-to-cuda %s | FileCheck %s

// CHECK-LABEL: row @held
// CHECK: const int s0 = p1[row];
// CHECK: Pack<float, 8> v1[2];
// CHECK: float s2 = asFloat(0xff800000);
// CHECK: const long long [[J:t[0-9]+]] = c * 8 + k;
// CHECK: const bool [[IN:t[0-9]+]] = [[J]] < 371ll;
// CHECK: = [[IN]] ? t{{[0-9]+}} : asFloat(0xff800000);
// CHECK: s2 = reduceLanes<Max, 32>(s2);
// CHECK: reduceLanes<Add, 32>
// The gather of the target's logit runs once a row, after the reductions.
// CHECK: const int [[CLAMPED:t[0-9]+]] = s0 > 0 ? s0 : 0;
// CHECK: = toFloat(p0[t{{[0-9]+}} * 384 + t{{[0-9]+}}]);
// All lanes have read the label before a loss may replace it.
// CHECK: __syncwarp();
// CHECK-NEXT: if (active && lane == 0) q0[row] =

// CHECK-LABEL: row @streamed
// Only the last vectors of a row are compared with the vocabulary's size.
// CHECK: for (int c = lane; c < 6282; c += 512) {
// CHECK-NOT: < 50257ll
// CHECK: for (int c = lane + 6282; c < 6288; c += 512) {
// CHECK: < 50257ll
// CHECK: reduceWarps<Max, 512>
// CHECK: for (int c = lane; c < 6282; c += 512) {
// CHECK: for (int c = lane + 6282; c < 6288; c += 512) {
// CHECK: reduceWarps<Add, 512>
// CHECK: __syncthreads();
// CHECK-NEXT: if (active && lane == 0) q0[row] =

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0, 0)>
#column = affine_map<(d0, d1) -> (0, d1)>

plan.kernel @held "row" body {
^bb0(%rows: index, %x: tensor<?x384xf32>, %t: tensor<?x1xi32>):
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %er = tensor.empty(%rows) : tensor<?x1xf32>
  %i0 = linalg.fill ins(%zero : f32) outs(%er : tensor<?x1xf32>) -> tensor<?x1xf32>
  %i1 = linalg.fill ins(%ninf : f32) outs(%er : tensor<?x1xf32>) -> tensor<?x1xf32>
  %max = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<?x384xf32>) outs(%i1 : tensor<?x1xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %j = linalg.index 1 : index
    %v = arith.constant 371 : index
    %in = arith.cmpi slt, %j, %v : index
    %ni = arith.constant 0xFF800000 : f32
    %s = arith.select %in, %a, %ni : f32
    %m = arith.maximumf %acc, %s : f32
    linalg.yield %m : f32
  } -> tensor<?x1xf32>
  %sum = linalg.generic {indexing_maps = [#element, #row, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x, %max : tensor<?x384xf32>, tensor<?x1xf32>) outs(%i0 : tensor<?x1xf32>) {
  ^bb0(%a: f32, %mx: f32, %acc: f32):
    %j = linalg.index 1 : index
    %v = arith.constant 371 : index
    %in = arith.cmpi slt, %j, %v : index
    %d = arith.subf %a, %mx : f32
    %e = math.exp %d : f32
    %z = arith.constant 0.0 : f32
    %s = arith.select %in, %e, %z : f32
    %m = arith.addf %acc, %s : f32
    linalg.yield %m : f32
  } -> tensor<?x1xf32>
  %loss = linalg.generic {indexing_maps = [#element, #element, #element, #element], iterator_types = ["parallel", "parallel"]}
    ins(%t, %max, %sum : tensor<?x1xi32>, tensor<?x1xf32>, tensor<?x1xf32>) outs(%er : tensor<?x1xf32>) {
  ^bb0(%tt: i32, %mx: f32, %su: f32, %o: f32):
    %r = linalg.index 0 : index
    %z = arith.constant 0 : i32
    %valid = arith.cmpi sge, %tt, %z : i32
    %cl = arith.maxsi %tt, %z : i32
    %ti = arith.index_cast %cl : i32 to index
    %lg = tensor.extract %x[%r, %ti] : tensor<?x384xf32>
    %ls = math.log %su : f32
    %a = arith.subf %lg, %mx : f32
    %l = arith.subf %ls, %a : f32
    %zf = arith.constant 0.0 : f32
    %res = arith.select %valid, %l, %zf : f32
    linalg.yield %res : f32
  } -> tensor<?x1xf32>
  plan.yield %loss : tensor<?x1xf32>
}

plan.kernel @streamed "row" body {
^bb0(%rows: index, %x: tensor<?x50304xf32>, %t: tensor<?x1xi32>):
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %er = tensor.empty(%rows) : tensor<?x1xf32>
  %i0 = linalg.fill ins(%zero : f32) outs(%er : tensor<?x1xf32>) -> tensor<?x1xf32>
  %i1 = linalg.fill ins(%ninf : f32) outs(%er : tensor<?x1xf32>) -> tensor<?x1xf32>
  %max = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<?x50304xf32>) outs(%i1 : tensor<?x1xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %j = linalg.index 1 : index
    %v = arith.constant 50257 : index
    %in = arith.cmpi slt, %j, %v : index
    %ni = arith.constant 0xFF800000 : f32
    %s = arith.select %in, %a, %ni : f32
    %m = arith.maximumf %acc, %s : f32
    linalg.yield %m : f32
  } -> tensor<?x1xf32>
  %sum = linalg.generic {indexing_maps = [#element, #row, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x, %max : tensor<?x50304xf32>, tensor<?x1xf32>) outs(%i0 : tensor<?x1xf32>) {
  ^bb0(%a: f32, %mx: f32, %acc: f32):
    %j = linalg.index 1 : index
    %v = arith.constant 50257 : index
    %in = arith.cmpi slt, %j, %v : index
    %d = arith.subf %a, %mx : f32
    %e = math.exp %d : f32
    %z = arith.constant 0.0 : f32
    %s = arith.select %in, %e, %z : f32
    %m = arith.addf %acc, %s : f32
    linalg.yield %m : f32
  } -> tensor<?x1xf32>
  %loss = linalg.generic {indexing_maps = [#element, #element, #element, #element], iterator_types = ["parallel", "parallel"]}
    ins(%t, %max, %sum : tensor<?x1xi32>, tensor<?x1xf32>, tensor<?x1xf32>) outs(%er : tensor<?x1xf32>) {
  ^bb0(%tt: i32, %mx: f32, %su: f32, %o: f32):
    %r = linalg.index 0 : index
    %z = arith.constant 0 : i32
    %valid = arith.cmpi sge, %tt, %z : i32
    %cl = arith.maxsi %tt, %z : i32
    %ti = arith.index_cast %cl : i32 to index
    %lg = tensor.extract %x[%r, %ti] : tensor<?x50304xf32>
    %ls = math.log %su : f32
    %a = arith.subf %lg, %mx : f32
    %l = arith.subf %ls, %a : f32
    %zf = arith.constant 0.0 : f32
    %res = arith.select %valid, %l, %zf : f32
    linalg.yield %res : f32
  } -> tensor<?x1xf32>
  plan.yield %loss : tensor<?x1xf32>
}
