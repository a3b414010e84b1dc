// A value that a later pass reads is kept on the stack where computing it again
// would cost more and the stack has room.
// RUN: gpt2-opt %s --lower-row-kernels --split-input-file | FileCheck %s


#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i, 0)>

// CHECK-LABEL: func.func @expensive
// CHECK: %[[T:.*]] = memref.alloca() {alignment = 64 : i64} : memref<1x768xf32>
// CHECK: scf.for
// CHECK: math.exp
// CHECK: vector.store {{.*}}, %[[T]][
// CHECK: vector.load %[[T]][
// CHECK-NOT: math.exp
plan.kernel @expensive "row" body {
^bb0(%rows: index, %x: tensor<?x768xf32>):
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%rows) : tensor<?x768xf32>
  %e1 = tensor.empty(%rows) : tensor<?x1xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e1 : tensor<?x1xf32>) -> tensor<?x1xf32>
  %p = linalg.generic {indexing_maps = [#full, #full],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x768xf32>) outs(%e : tensor<?x768xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  } -> tensor<?x768xf32>
  %s = linalg.generic {indexing_maps = [#full, #row],
      iterator_types = ["parallel", "reduction"]}
      ins(%p : tensor<?x768xf32>) outs(%f : tensor<?x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %a, %o fastmath<reassoc> : f32
    linalg.yield %0 : f32
  } -> tensor<?x1xf32>
  %y = linalg.generic {indexing_maps = [#full, #row, #full],
      iterator_types = ["parallel", "parallel"]}
      ins(%p, %s : tensor<?x768xf32>, tensor<?x1xf32>)
      outs(%e : tensor<?x768xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<?x768xf32>
  plan.yield %y : tensor<?x768xf32>
}

// -----

#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i, 0)>

// 100000 columns would take 400000 bytes of stack.
// CHECK-LABEL: func.func @wide
// CHECK-NOT: memref.alloca
// CHECK: math.exp
// CHECK: scf.yield
// CHECK: math.exp
plan.kernel @wide "row" body {
^bb0(%rows: index, %x: tensor<?x100000xf32>):
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%rows) : tensor<?x100000xf32>
  %e1 = tensor.empty(%rows) : tensor<?x1xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e1 : tensor<?x1xf32>) -> tensor<?x1xf32>
  %p = linalg.generic {indexing_maps = [#full, #full],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x100000xf32>) outs(%e : tensor<?x100000xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  } -> tensor<?x100000xf32>
  %s = linalg.generic {indexing_maps = [#full, #row],
      iterator_types = ["parallel", "reduction"]}
      ins(%p : tensor<?x100000xf32>) outs(%f : tensor<?x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %a, %o fastmath<reassoc> : f32
    linalg.yield %0 : f32
  } -> tensor<?x1xf32>
  %y = linalg.generic {indexing_maps = [#full, #row, #full],
      iterator_types = ["parallel", "parallel"]}
      ins(%p, %s : tensor<?x100000xf32>, tensor<?x1xf32>)
      outs(%e : tensor<?x100000xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<?x100000xf32>
  plan.yield %y : tensor<?x100000xf32>
}
