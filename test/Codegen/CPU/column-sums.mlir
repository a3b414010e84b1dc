// Blocks of rows, whose column sums are kept on the stack until the block ends.
// RUN: gpt2-opt %s --lower-row-kernels --canonicalize --cse | FileCheck %s

#full = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (0, j)>

// 10 rows in 4 blocks; 20 columns are a vector and four more.
// CHECK-LABEL: func.func @sums(
// CHECK-SAME: %[[X:.*]]: memref<?x20xf32>, %[[Y:.*]]: memref<20x4xf32>,
// CHECK-SAME: %[[BEGIN:.*]]: index, %[[END:.*]]: index)
// CHECK: %[[SUMS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<1x20xf32>
// CHECK: scf.for %[[BLOCK:.*]] = %[[BEGIN]] to %[[END]]
// CHECK: vector.store %cst{{.*}}, %[[SUMS]]
// CHECK: memref.store %cst{{.*}}, %[[SUMS]]
// CHECK: %[[P:.*]] = arith.muli %[[BLOCK]], %c10
// CHECK: %[[FIRST:.*]] = arith.divui %[[P]], %c4
// CHECK: scf.for %[[ROW:.*]] = %[[FIRST]] to
// CHECK: %[[V:.*]] = vector.load %[[X]][%[[ROW]], %[[J:.*]]]
// CHECK: %[[S:.*]] = vector.load %[[SUMS]][%c0, %[[J]]]
// CHECK: %[[N:.*]] = arith.addf %[[V]], %[[S]] : vector<16xf32>
// CHECK: vector.store %[[N]], %[[SUMS]][%c0, %[[J]]]
// CHECK: scf.for %[[K:.*]] = %c0 to %c20 step %c1
// CHECK: %[[DONE:.*]] = memref.load %[[SUMS]][%c0, %[[K]]]
// CHECK: memref.store %[[DONE]], %[[Y]][%[[K]], %[[BLOCK]]]
plan.kernel @sums "row" config {rows = 10 : i64, row_blocks = 4 : i64} body {
^bb0(%rows: index, %x: tensor<?x20xf32>):
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x20xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x20xf32>) -> tensor<1x20xf32>
  %s = linalg.generic {indexing_maps = [#full, #column],
      iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<?x20xf32>) outs(%f : tensor<1x20xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %a, %o fastmath<reassoc> : f32
    linalg.yield %0 : f32
  } -> tensor<1x20xf32>
  plan.yield %s : tensor<1x20xf32>
}
