// One row at a time, in as few passes over its columns as the reductions allow.
// RUN: gpt2-opt %s --lower-row-kernels --canonicalize --cse --split-input-file | FileCheck %s

#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i, 0)>
#column = affine_map<(i, j) -> (0, j)>

// Two passes: the first stores a + b and adds it up, the second reads it back
// from the output. No temporary, no allocation.
// CHECK-LABEL: func.func @center(
// CHECK-SAME: %[[A:.*]]: memref<?x128xf32>, %[[B:.*]]: memref<1x128xf32>,
// CHECK-SAME: %[[R:.*]]: memref<?x128xf32>, %[[Y:.*]]: memref<?x128xf32>, %[[MEAN:.*]]: memref<?x1xf32>,
// CHECK-SAME: %[[BEGIN:.*]]: index, %[[END:.*]]: index)
// CHECK-NOT: memref.alloc
// CHECK: scf.for %[[ROW:.*]] = %[[BEGIN]] to %[[END]]
// CHECK: %[[SUMS:.*]]:4 = scf.for %[[J:.*]] = %c0{{.*}} to %c128{{.*}} step %c64
// CHECK-SAME: iter_args(%[[S0:.*]] = %{{.*}}, %[[S1:.*]] = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}})
// CHECK: %[[VA:.*]] = vector.load %[[A]][%[[ROW]], %[[J]]] : memref<?x128xf32>, vector<16xf32>
// CHECK: %[[VB:.*]] = vector.load %[[B]][%c0, %[[J]]] : memref<1x128xf32>, vector<16xf32>
// CHECK: %[[V:.*]] = arith.addf %[[VA]], %[[VB]] : vector<16xf32>
// CHECK: vector.store %[[V]], %[[R]][%[[ROW]], %[[J]]]
// The order of the sum is fixed by now: no leave to change it is left.
// CHECK: arith.addf %[[V]], %[[S0]] : vector<16xf32>
// CHECK-COUNT-3: vector.store {{.*}}, %[[R]]
// CHECK: scf.yield
// Four vectors become one, then halves are added.
// CHECK: arith.addf %[[SUMS]]#2, %[[SUMS]]#0 : vector<16xf32>
// CHECK: arith.addf %[[SUMS]]#3, %[[SUMS]]#1 : vector<16xf32>
// CHECK: arith.addf {{.*}} : vector<8xf32>
// CHECK: arith.addf {{.*}} : vector<4xf32>
// CHECK: arith.addf {{.*}} : vector<2xf32>
// CHECK: %[[M:.*]] = arith.divf
// CHECK: scf.for %[[K:.*]] = %c0{{.*}} to %c128{{.*}} step %c16
// CHECK: vector.load %[[R]][%[[ROW]], %[[K]]]
// CHECK: vector.broadcast %[[M]]
// CHECK: vector.store {{.*}}, %[[Y]][%[[ROW]], %[[K]]]
// CHECK-NOT: vector.store
// CHECK: memref.store %[[M]], %[[MEAN]][%[[ROW]], %c0
plan.kernel @center "row" body {
^bb0(%rows: index, %a: tensor<?x128xf32>, %b: tensor<1x128xf32>):
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 128.0 : f32
  %e = tensor.empty(%rows) : tensor<?x128xf32>
  %e1 = tensor.empty(%rows) : tensor<?x1xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e1 : tensor<?x1xf32>) -> tensor<?x1xf32>
  %r = linalg.generic {indexing_maps = [#full, #column, #full],
      iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<?x128xf32>, tensor<1x128xf32>)
      outs(%e : tensor<?x128xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %0 = arith.addf %x, %y : f32
    linalg.yield %0 : f32
  } -> tensor<?x128xf32>
  %s = linalg.generic {indexing_maps = [#full, #row],
      iterator_types = ["parallel", "reduction"]}
      ins(%r : tensor<?x128xf32>) outs(%f : tensor<?x1xf32>) {
  ^bb0(%x: f32, %o: f32):
    %0 = arith.addf %x, %o fastmath<reassoc> : f32
    linalg.yield %0 : f32
  } -> tensor<?x1xf32>
  %mean = linalg.generic {indexing_maps = [#full, #full],
      iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<?x1xf32>) outs(%e1 : tensor<?x1xf32>) {
  ^bb0(%x: f32, %o: f32):
    %0 = arith.divf %x, %n : f32
    linalg.yield %0 : f32
  } -> tensor<?x1xf32>
  %c = linalg.generic {indexing_maps = [#full, #row, #full],
      iterator_types = ["parallel", "parallel"]}
      ins(%r, %mean : tensor<?x128xf32>, tensor<?x1xf32>)
      outs(%e : tensor<?x128xf32>) {
  ^bb0(%x: f32, %m: f32, %o: f32):
    %0 = arith.subf %x, %m : f32
    linalg.yield %0 : f32
  } -> tensor<?x128xf32>
  plan.yield %r, %c, %mean : tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x1xf32>
}

// -----

#full = affine_map<(i, j) -> (i, j)>

// 37 columns are two vectors and five scalars; a table is read at the row that
// the token names; column indices are compared as vectors.
// CHECK-LABEL: func.func @gather(
// CHECK-SAME: %[[TOKENS:.*]]: memref<?x1xi32>, %[[TABLE:.*]]: memref<9x37xf32>, %[[OUT:.*]]: memref<?x37xf32>
// CHECK: scf.for %[[ROW:.*]] =
// CHECK: scf.for %[[J:.*]] = %c0{{.*}} to %c32{{.*}} step %c16
// CHECK: %[[TOKEN:.*]] = memref.load %[[TOKENS]][%[[ROW]], %c0
// CHECK: %[[AT:.*]] = arith.index_cast %[[TOKEN]] : i32 to index
// CHECK: vector.load %[[TABLE]][%[[AT]], %[[J]]] : memref<9x37xf32>, vector<16xf32>
// CHECK: arith.cmpi slt, {{.*}} : vector<16xindex>
// CHECK: vector.store {{.*}}, %[[OUT]][%[[ROW]], %[[J]]]
// CHECK: scf.for %[[K:.*]] = %c32{{.*}} to %c37{{.*}} step %c1
// CHECK: memref.load %[[TABLE]][%{{.*}}, %[[K]]]
// CHECK: arith.cmpi slt, %[[K]], {{.*}} : index
// CHECK: memref.store {{.*}}, %[[OUT]][%[[ROW]], %[[K]]]
plan.kernel @gather "row" body {
^bb0(%rows: index, %tokens: tensor<?x1xi32>, %table: tensor<9x37xf32>):
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%rows) : tensor<?x37xf32>
  %y = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, 0)>, #full],
      iterator_types = ["parallel", "parallel"]}
      ins(%tokens : tensor<?x1xi32>) outs(%e : tensor<?x37xf32>) {
  ^bb0(%t: i32, %o: f32):
    %at = arith.index_cast %t : i32 to index
    %j = linalg.index 1 : index
    %v = tensor.extract %table[%at, %j] : tensor<9x37xf32>
    %last = arith.constant 30 : index
    %in = arith.cmpi slt, %j, %last : index
    %r = arith.select %in, %v, %zero : f32
    linalg.yield %r : f32
  } -> tensor<?x37xf32>
  plan.yield %y : tensor<?x37xf32>
}
