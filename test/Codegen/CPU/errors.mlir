// What is not in the normal form is refused at the op that is not.
// RUN: gpt2-opt %s --lower-row-kernels --split-input-file --verify-diagnostics

// expected-error @below {{has kind 'sample', but the CPU target generates code for row kernels only}}
plan.kernel @template "sample"

// -----

#full = affine_map<(i, j) -> (i, j)>
plan.kernel @columns "row" body {
^bb0(%rows: index, %x: tensor<?x16xf32>):
  %e = tensor.empty(%rows) : tensor<?x16xf32>
  // expected-error @below {{is not in the normal form of row kernels}}
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, #full],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x16xf32>) outs(%e : tensor<?x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<?x16xf32>
  plan.yield %y : tensor<?x16xf32>
}

// -----

#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i, 0)>
plan.kernel @accumulator "row" body {
^bb0(%rows: index, %x: tensor<?x16xf32>):
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%rows) : tensor<?x1xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x1xf32>) -> tensor<?x1xf32>
  // expected-error @below {{is a reduction outside the normal form}}
  %y = linalg.generic {indexing_maps = [#full, #row],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x16xf32>) outs(%f : tensor<?x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.mulf %a, %o : f32
    %1 = arith.addf %0, %o : f32
    linalg.yield %1 : f32
  } -> tensor<?x1xf32>
  plan.yield %y : tensor<?x1xf32>
}

// -----

plan.kernel @through "row" body {
^bb0(%rows: index, %x: tensor<?x16xf32>):
  // expected-error @below {{result 0 is not computed by a linalg.generic of the kernel}}
  plan.yield %x : tensor<?x16xf32>
}

// -----

#column = affine_map<(i, j) -> (0, j)>
#full = affine_map<(i, j) -> (i, j)>
plan.kernel @product "row" config {rows = 8 : i64, row_blocks = 2 : i64} body {
^bb0(%rows: index, %x: tensor<?x16xf32>):
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<1x16xf32>
  %f = linalg.fill ins(%one : f32) outs(%e : tensor<1x16xf32>) -> tensor<1x16xf32>
  // expected-error @below {{reduces rows outside the normal form}}
  %y = linalg.generic {indexing_maps = [#full, #column],
      iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<?x16xf32>) outs(%f : tensor<1x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.mulf %a, %o : f32
    linalg.yield %0 : f32
  } -> tensor<1x16xf32>
  plan.yield %y : tensor<1x16xf32>
}

// -----

#column = affine_map<(i, j) -> (0, j)>
#full = affine_map<(i, j) -> (i, j)>
plan.kernel @unfinished "row" config {rows = 8 : i64, row_blocks = 2 : i64} body {
^bb0(%rows: index, %x: tensor<?x16xf32>):
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x16xf32>
  %ex = tensor.empty(%rows) : tensor<?x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x16xf32>) -> tensor<1x16xf32>
  %s = linalg.generic {indexing_maps = [#full, #column],
      iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<?x16xf32>) outs(%f : tensor<1x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %a, %o : f32
    linalg.yield %0 : f32
  } -> tensor<1x16xf32>
  // expected-error @below {{reads operand 1, a sum over rows, which is complete only after the kernel}}
  %y = linalg.generic {indexing_maps = [#full, #column, #full],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<?x16xf32>, tensor<1x16xf32>)
      outs(%ex : tensor<?x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<?x16xf32>
  plan.yield %y : tensor<?x16xf32>
}
