// Kernels of a training step of gpt2 at 64 x 1024 tokens: what training_bench
// times. Decompositions of the ops, as gpt2-opt --test-outline-kernels prints
// them, and instances of the templates.
// SPDX-License-Identifier: Apache-2.0

#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (0, d1)>
#map2 = affine_map<(d0, d1) -> (d0, 0)>

plan.kernel @norm_grad_768 "row" config {rows = 65536 : i64, row_blocks = 512 : i64} body {
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

plan.kernel @norm_grad_1600 "row" config {rows = 32768 : i64, row_blocks = 512 : i64} body {
^bb0(%arg0: index, %arg1: tensor<?x1600xbf16>, %arg2: tensor<?x1600xf32>, %arg3: tensor<1x1600xf32>, %arg4: tensor<?x1xf32>, %arg5: tensor<?x1xf32>):
  %cst = arith.constant 1.600000e+03 : f32
  %0 = tensor.empty(%arg0) : tensor<?x1xf32>
  %cst_0 = arith.constant 0.000000e+00 : f32
  %1 = linalg.fill ins(%cst_0 : f32) outs(%0 : tensor<?x1xf32>) -> tensor<?x1xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "reduction"]}
      ins(%arg1, %arg3 : tensor<?x1600xbf16>, tensor<1x1600xf32>)
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
      ins(%arg1, %arg3, %arg2, %arg4, %arg5 : tensor<?x1600xbf16>, tensor<1x1600xf32>, tensor<?x1600xf32>, tensor<?x1xf32>, tensor<?x1xf32>)
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
  %10 = tensor.empty(%arg0) : tensor<?x1600xf32>
  %11 = linalg.generic {indexing_maps = [#map, #map1, #map, #map2, #map2, #map2, #map2, #map], iterator_types = ["parallel", "parallel"]}
      ins(%arg1, %arg3, %arg2, %arg4, %arg5, %4, %9 : tensor<?x1600xbf16>, tensor<1x1600xf32>, tensor<?x1600xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>)
      outs(%10 : tensor<?x1600xf32>) {
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
  } -> tensor<?x1600xf32>
  %12 = tensor.empty() : tensor<1x1600xf32>
  %cst_2 = arith.constant 0.000000e+00 : f32
  %13 = linalg.fill ins(%cst_2 : f32) outs(%12 : tensor<1x1600xf32>) -> tensor<1x1600xf32>
  %14 = linalg.generic {indexing_maps = [#map, #map, #map2, #map2, #map1], iterator_types = ["reduction", "parallel"]}
      ins(%arg1, %arg2, %arg4, %arg5 : tensor<?x1600xbf16>, tensor<?x1600xf32>, tensor<?x1xf32>, tensor<?x1xf32>)
      outs(%13 : tensor<1x1600xf32>) {
  ^bb0(%in: bf16, %in_4: f32, %in_5: f32, %in_6: f32, %out: f32):
    %18 = arith.extf %in : bf16 to f32
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
      ins(%arg1 : tensor<?x1600xbf16>)
      outs(%16 : tensor<1x1600xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %18 = arith.extf %in : bf16 to f32
    %19 = arith.addf %18, %out fastmath<reassoc> : f32
    linalg.yield %19 : f32
  } -> tensor<1x1600xf32>
  plan.yield %11, %14, %17 : tensor<?x1600xf32>, tensor<1x1600xf32>, tensor<1x1600xf32>
}

plan.kernel @column_sum_768 "row" config {rows = 65536 : i64, row_blocks = 512 : i64} body {
^bb0(%arg0: index, %arg1: tensor<?x768xbf16>):
  %0 = tensor.empty() : tensor<1x768xf32>
  %cst = arith.constant 0.000000e+00 : f32
  %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<1x768xf32>) -> tensor<1x768xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["reduction", "parallel"]}
      ins(%arg1 : tensor<?x768xbf16>)
      outs(%1 : tensor<1x768xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %3 = arith.extf %in : bf16 to f32
    %4 = arith.addf %3, %out fastmath<reassoc> : f32
    linalg.yield %4 : f32
  } -> tensor<1x768xf32>
  plan.yield %2 : tensor<1x768xf32>
}

plan.kernel @column_sum_2304 "row" config {rows = 65536 : i64, row_blocks = 512 : i64} body {
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

plan.kernel @activation_grad "row" body {
^bb0(%arg0: index, %arg1: tensor<?x3072xbf16>, %arg2: tensor<?x3072xbf16>):
  %0 = tensor.empty(%arg0) : tensor<?x3072xbf16>
  %1 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%arg1, %arg2 : tensor<?x3072xbf16>, tensor<?x3072xbf16>)
      outs(%0 : tensor<?x3072xbf16>) {
  ^bb0(%in: bf16, %in_0: bf16, %out: bf16):
    %2 = arith.extf %in : bf16 to f32
    %3 = arith.extf %in_0 : bf16 to f32
    %cst = arith.constant 1.000000e+00 : f32
    %cst_1 = arith.constant 1.59576917 : f32
    %cst_2 = arith.constant 4.471500e-02 : f32
    %4 = arith.mulf %3, %cst_2 : f32
    %5 = arith.mulf %4, %3 : f32
    %6 = arith.addf %5, %cst : f32
    %7 = arith.mulf %3, %cst_1 : f32
    %8 = arith.mulf %7, %6 : f32
    %cst_3 = arith.constant 3.000000e+00 : f32
    %9 = arith.mulf %5, %cst_3 : f32
    %10 = arith.addf %9, %cst : f32
    %11 = arith.mulf %10, %cst_1 : f32
    %12 = math.absf %8 : f32
    %13 = arith.negf %12 : f32
    %14 = math.exp %13 : f32
    %cst_4 = arith.constant 1.000000e+00 : f32
    %15 = arith.addf %14, %cst_4 : f32
    %cst_5 = arith.constant 1.000000e+00 : f32
    %16 = arith.divf %cst_5, %15 : f32
    %17 = arith.mulf %14, %16 : f32
    %cst_6 = arith.constant 0.000000e+00 : f32
    %18 = arith.cmpf ogt, %8, %cst_6 : f32
    %19 = arith.select %18, %16, %17 : f32
    %20 = arith.mulf %17, %16 : f32
    %21 = arith.mulf %3, %11 : f32
    %22 = arith.mulf %21, %20 : f32
    %23 = arith.addf %19, %22 : f32
    %24 = arith.mulf %2, %23 : f32
    %25 = arith.truncf %24 : f32 to bf16
    linalg.yield %25 : bf16
  } -> tensor<?x3072xbf16>
  plan.yield %1 : tensor<?x3072xbf16>
}

plan.kernel @loss_grad "row" config {rows = 65536 : i64, row_blocks = 512 : i64} body {
^bb0(%arg0: index, %arg1: tensor<?x50304xbf16>, %arg2: tensor<?x1xi32>, %arg3: tensor<16x1xf32>, %arg4: tensor<8x1xf32>):
  %cst = arith.constant 0.000000e+00 : f32
  %cst_0 = arith.constant 0xFF800000 : f32
  %0 = tensor.empty(%arg0) : tensor<?x1xf32>
  %cst_1 = arith.constant 0xFF800000 : f32
  %1 = linalg.fill ins(%cst_1 : f32) outs(%0 : tensor<?x1xf32>) -> tensor<?x1xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map2], iterator_types = ["parallel", "reduction"]}
      ins(%arg1 : tensor<?x50304xbf16>)
      outs(%1 : tensor<?x1xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %20 = arith.extf %in : bf16 to f32
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
      ins(%arg1, %2 : tensor<?x50304xbf16>, tensor<?x1xf32>)
      outs(%4 : tensor<?x1xf32>) {
  ^bb0(%in: bf16, %in_6: f32, %out: f32):
    %20 = arith.extf %in : bf16 to f32
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
      ins(%arg1, %arg2 : tensor<?x50304xbf16>, tensor<?x1xi32>)
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
  %18 = tensor.empty(%arg0) : tensor<?x50304xbf16>
  %19 = linalg.generic {indexing_maps = [#map, #map2, #map2, #map2, #map2, #map], iterator_types = ["parallel", "parallel"]}
      ins(%arg1, %arg2, %2, %15, %17 : tensor<?x50304xbf16>, tensor<?x1xi32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>)
      outs(%18 : tensor<?x50304xbf16>) {
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
    %c50257 = arith.constant 50257 : index
    %31 = arith.cmpi slt, %30, %c50257 : index
    %32 = arith.select %31, %29, %cst_11 : f32
    %33 = arith.truncf %32 : f32 to bf16
    linalg.yield %33 : bf16
  } -> tensor<?x50304xbf16>
  plan.yield %10, %13, %19 : tensor<?x1xf32>, tensor<1x1xf32>, tensor<?x50304xbf16>
}

plan.kernel @square_sum "row" config {rows = 50304 : i64, row_blocks = 512 : i64} body {
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

plan.kernel @adamw "row" body {
^bb0(%arg0: index, %arg1: tensor<?x768xf32>, %arg2: tensor<?x768xf32>, %arg3: tensor<?x768xf32>, %arg4: tensor<?x768xf32>, %arg5: tensor<16x1xf32>, %arg6: tensor<8x1xf32>):
  %0 = tensor.empty(%arg0) : tensor<?x1xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel"]}
      outs(%0 : tensor<?x1xf32>) {
  ^bb0(%out: f32):
    %c4 = arith.constant 4 : index
    %c0 = arith.constant 0 : index
    %extracted = tensor.extract %arg6[%c4, %c0] : tensor<8x1xf32>
    linalg.yield %extracted : f32
  } -> tensor<?x1xf32>
  %2 = tensor.empty(%arg0) : tensor<?x1xf32>
  %3 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel"]}
      outs(%2 : tensor<?x1xf32>) {
  ^bb0(%out: f32):
    %c2 = arith.constant 2 : index
    %c0 = arith.constant 0 : index
    %extracted = tensor.extract %arg6[%c2, %c0] : tensor<8x1xf32>
    linalg.yield %extracted : f32
  } -> tensor<?x1xf32>
  %4 = tensor.empty(%arg0) : tensor<?x1xf32>
  %5 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel"]}
      outs(%4 : tensor<?x1xf32>) {
  ^bb0(%out: f32):
    %c3 = arith.constant 3 : index
    %c0 = arith.constant 0 : index
    %extracted = tensor.extract %arg5[%c3, %c0] : tensor<16x1xf32>
    linalg.yield %extracted : f32
  } -> tensor<?x1xf32>
  %6 = tensor.empty(%arg0) : tensor<?x1xf32>
  %7 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel"]}
      outs(%6 : tensor<?x1xf32>) {
  ^bb0(%out: f32):
    %c10 = arith.constant 10 : index
    %c0 = arith.constant 0 : index
    %extracted = tensor.extract %arg5[%c10, %c0] : tensor<16x1xf32>
    linalg.yield %extracted : f32
  } -> tensor<?x1xf32>
  %8 = tensor.empty(%arg0) : tensor<?x768xf32>
  %9 = linalg.generic {indexing_maps = [#map, #map, #map2, #map2, #map2, #map2, #map], iterator_types = ["parallel", "parallel"]}
      ins(%arg2, %arg4, %1, %5, %7, %3 : tensor<?x768xf32>, tensor<?x768xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>)
      outs(%8 : tensor<?x768xf32>) {
  ^bb0(%in: f32, %in_0: f32, %in_1: f32, %in_2: f32, %in_3: f32, %in_4: f32, %out: f32):
    %30 = arith.mulf %in_0, %in_1 : f32
    %31 = arith.mulf %in_3, %30 : f32
    %32 = arith.mulf %in_2, %in : f32
    %33 = arith.addf %32, %31 : f32
    %cst = arith.constant 0.000000e+00 : f32
    %34 = arith.cmpf ogt, %in_4, %cst : f32
    %35 = arith.select %34, %in, %33 : f32
    linalg.yield %35 : f32
  } -> tensor<?x768xf32>
  %10 = tensor.empty(%arg0) : tensor<?x1xf32>
  %11 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel"]}
      outs(%10 : tensor<?x1xf32>) {
  ^bb0(%out: f32):
    %c4 = arith.constant 4 : index
    %c0 = arith.constant 0 : index
    %extracted = tensor.extract %arg5[%c4, %c0] : tensor<16x1xf32>
    linalg.yield %extracted : f32
  } -> tensor<?x1xf32>
  %12 = tensor.empty(%arg0) : tensor<?x1xf32>
  %13 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel"]}
      outs(%12 : tensor<?x1xf32>) {
  ^bb0(%out: f32):
    %c11 = arith.constant 11 : index
    %c0 = arith.constant 0 : index
    %extracted = tensor.extract %arg5[%c11, %c0] : tensor<16x1xf32>
    linalg.yield %extracted : f32
  } -> tensor<?x1xf32>
  %14 = tensor.empty(%arg0) : tensor<?x768xf32>
  %15 = linalg.generic {indexing_maps = [#map, #map, #map2, #map2, #map2, #map2, #map], iterator_types = ["parallel", "parallel"]}
      ins(%arg3, %arg4, %1, %11, %13, %3 : tensor<?x768xf32>, tensor<?x768xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>)
      outs(%14 : tensor<?x768xf32>) {
  ^bb0(%in: f32, %in_0: f32, %in_1: f32, %in_2: f32, %in_3: f32, %in_4: f32, %out: f32):
    %30 = arith.mulf %in_0, %in_1 : f32
    %31 = arith.mulf %in_3, %30 : f32
    %32 = arith.mulf %31, %30 : f32
    %33 = arith.mulf %in_2, %in : f32
    %34 = arith.addf %33, %32 : f32
    %cst = arith.constant 0.000000e+00 : f32
    %35 = arith.cmpf ogt, %in_4, %cst : f32
    %36 = arith.select %35, %in, %34 : f32
    linalg.yield %36 : f32
  } -> tensor<?x768xf32>
  %16 = tensor.empty(%arg0) : tensor<?x1xf32>
  %17 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel"]}
      outs(%16 : tensor<?x1xf32>) {
  ^bb0(%out: f32):
    %c0 = arith.constant 0 : index
    %c0_0 = arith.constant 0 : index
    %extracted = tensor.extract %arg5[%c0, %c0_0] : tensor<16x1xf32>
    %c7 = arith.constant 7 : index
    %c0_1 = arith.constant 0 : index
    %extracted_2 = tensor.extract %arg5[%c7, %c0_1] : tensor<16x1xf32>
    %30 = arith.divf %extracted, %extracted_2 : f32
    linalg.yield %30 : f32
  } -> tensor<?x1xf32>
  %18 = tensor.empty(%arg0) : tensor<?x1xf32>
  %19 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel"]}
      outs(%18 : tensor<?x1xf32>) {
  ^bb0(%out: f32):
    %c8 = arith.constant 8 : index
    %c0 = arith.constant 0 : index
    %extracted = tensor.extract %arg5[%c8, %c0] : tensor<16x1xf32>
    linalg.yield %extracted : f32
  } -> tensor<?x1xf32>
  %20 = tensor.empty(%arg0) : tensor<?x1xf32>
  %21 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel"]}
      outs(%20 : tensor<?x1xf32>) {
  ^bb0(%out: f32):
    %c5 = arith.constant 5 : index
    %c0 = arith.constant 0 : index
    %extracted = tensor.extract %arg5[%c5, %c0] : tensor<16x1xf32>
    linalg.yield %extracted : f32
  } -> tensor<?x1xf32>
  %22 = tensor.empty(%arg0) : tensor<?x1xf32>
  %23 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel"]}
      outs(%22 : tensor<?x1xf32>) {
  ^bb0(%out: f32):
    %c0 = arith.constant 0 : index
    %c0_0 = arith.constant 0 : index
    %extracted = tensor.extract %arg5[%c0, %c0_0] : tensor<16x1xf32>
    %c2 = arith.constant 2 : index
    %c0_1 = arith.constant 0 : index
    %extracted_2 = tensor.extract %arg5[%c2, %c0_1] : tensor<16x1xf32>
    %30 = arith.mulf %extracted, %extracted_2 : f32
    %cst = arith.constant 1.000000e+00 : f32
    %31 = arith.subf %cst, %30 : f32
    linalg.yield %31 : f32
  } -> tensor<?x1xf32>
  %24 = tensor.empty(%arg0) : tensor<?x768xf32>
  %25 = linalg.generic {indexing_maps = [#map, #map, #map, #map2, #map2, #map2, #map2, #map2, #map], iterator_types = ["parallel", "parallel"]}
      ins(%arg1, %9, %15, %17, %19, %21, %23, %3 : tensor<?x768xf32>, tensor<?x768xf32>, tensor<?x768xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>)
      outs(%24 : tensor<?x768xf32>) {
  ^bb0(%in: f32, %in_0: f32, %in_1: f32, %in_2: f32, %in_3: f32, %in_4: f32, %in_5: f32, %in_6: f32, %out: f32):
    %30 = arith.mulf %in, %in_5 : f32
    %31 = math.sqrt %in_1 : f32
    %32 = arith.divf %31, %in_3 : f32
    %33 = arith.addf %32, %in_4 : f32
    %34 = arith.divf %in_0, %33 : f32
    %35 = arith.mulf %in_2, %34 : f32
    %36 = arith.subf %30, %35 : f32
    %cst = arith.constant 0.000000e+00 : f32
    %37 = arith.cmpf ogt, %in_6, %cst : f32
    %38 = arith.select %37, %in, %36 : f32
    linalg.yield %38 : f32
  } -> tensor<?x768xf32>
  %26 = tensor.empty(%arg0) : tensor<?x768xf32>
  %27 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%arg4 : tensor<?x768xf32>)
      outs(%26 : tensor<?x768xf32>) {
  ^bb0(%in: f32, %out: f32):
    %cst = arith.constant 0.000000e+00 : f32
    linalg.yield %cst : f32
  } -> tensor<?x768xf32>
  %28 = tensor.empty(%arg0) : tensor<?x768xbf16>
  %29 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%25 : tensor<?x768xf32>)
      outs(%28 : tensor<?x768xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %30 = arith.truncf %in : f32 to bf16
    linalg.yield %30 : bf16
  } -> tensor<?x768xbf16>
  plan.yield %25, %9, %15, %27, %29 : tensor<?x768xf32>, tensor<?x768xf32>, tensor<?x768xf32>, tensor<?x768xf32>, tensor<?x768xbf16>
}

plan.kernel @dropout "row" body {
^bb0(%arg0: index, %arg1: tensor<?x768xbf16>, %arg2: tensor<4x1xi32>):
  %0 = tensor.empty(%arg0) : tensor<?x1xi32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel"]}
      outs(%0 : tensor<?x1xi32>) {
  ^bb0(%out: i32):
    %c-626627285_i32 = arith.constant -626627285 : i32
    %c0 = arith.constant 0 : index
    %c0_0 = arith.constant 0 : index
    %extracted = tensor.extract %arg2[%c0, %c0_0] : tensor<4x1xi32>
    %4 = arith.addi %extracted, %c-626627285_i32 : i32
    %c2146121005_i32 = arith.constant 2146121005 : i32
    %c16_i32 = arith.constant 16 : i32
    %5 = arith.shrui %4, %c16_i32 : i32
    %6 = arith.xori %4, %5 : i32
    %7 = arith.muli %6, %c2146121005_i32 : i32
    %c-2073254261_i32 = arith.constant -2073254261 : i32
    %c15_i32 = arith.constant 15 : i32
    %8 = arith.shrui %7, %c15_i32 : i32
    %9 = arith.xori %7, %8 : i32
    %10 = arith.muli %9, %c-2073254261_i32 : i32
    %c16_i32_1 = arith.constant 16 : i32
    %11 = arith.shrui %10, %c16_i32_1 : i32
    %12 = arith.xori %10, %11 : i32
    %c1 = arith.constant 1 : index
    %c0_2 = arith.constant 0 : index
    %extracted_3 = tensor.extract %arg2[%c1, %c0_2] : tensor<4x1xi32>
    %13 = arith.xori %12, %extracted_3 : i32
    %c2146121005_i32_4 = arith.constant 2146121005 : i32
    %c16_i32_5 = arith.constant 16 : i32
    %14 = arith.shrui %13, %c16_i32_5 : i32
    %15 = arith.xori %13, %14 : i32
    %16 = arith.muli %15, %c2146121005_i32_4 : i32
    %c-2073254261_i32_6 = arith.constant -2073254261 : i32
    %c15_i32_7 = arith.constant 15 : i32
    %17 = arith.shrui %16, %c15_i32_7 : i32
    %18 = arith.xori %16, %17 : i32
    %19 = arith.muli %18, %c-2073254261_i32_6 : i32
    %c16_i32_8 = arith.constant 16 : i32
    %20 = arith.shrui %19, %c16_i32_8 : i32
    %21 = arith.xori %19, %20 : i32
    %c2 = arith.constant 2 : index
    %c0_9 = arith.constant 0 : index
    %extracted_10 = tensor.extract %arg2[%c2, %c0_9] : tensor<4x1xi32>
    %22 = arith.xori %21, %extracted_10 : i32
    %c2146121005_i32_11 = arith.constant 2146121005 : i32
    %c16_i32_12 = arith.constant 16 : i32
    %23 = arith.shrui %22, %c16_i32_12 : i32
    %24 = arith.xori %22, %23 : i32
    %25 = arith.muli %24, %c2146121005_i32_11 : i32
    %c-2073254261_i32_13 = arith.constant -2073254261 : i32
    %c15_i32_14 = arith.constant 15 : i32
    %26 = arith.shrui %25, %c15_i32_14 : i32
    %27 = arith.xori %25, %26 : i32
    %28 = arith.muli %27, %c-2073254261_i32_13 : i32
    %c16_i32_15 = arith.constant 16 : i32
    %29 = arith.shrui %28, %c16_i32_15 : i32
    %30 = arith.xori %28, %29 : i32
    %31 = linalg.index 0 : index
    %c1024 = arith.constant 1024 : index
    %32 = arith.divsi %31, %c1024 : index
    %33 = arith.index_cast %32 : index to i32
    %c3 = arith.constant 3 : index
    %c0_16 = arith.constant 0 : index
    %extracted_17 = tensor.extract %arg2[%c3, %c0_16] : tensor<4x1xi32>
    %34 = arith.addi %extracted_17, %33 : i32
    %35 = arith.xori %30, %34 : i32
    %c2146121005_i32_18 = arith.constant 2146121005 : i32
    %c16_i32_19 = arith.constant 16 : i32
    %36 = arith.shrui %35, %c16_i32_19 : i32
    %37 = arith.xori %35, %36 : i32
    %38 = arith.muli %37, %c2146121005_i32_18 : i32
    %c-2073254261_i32_20 = arith.constant -2073254261 : i32
    %c15_i32_21 = arith.constant 15 : i32
    %39 = arith.shrui %38, %c15_i32_21 : i32
    %40 = arith.xori %38, %39 : i32
    %41 = arith.muli %40, %c-2073254261_i32_20 : i32
    %c16_i32_22 = arith.constant 16 : i32
    %42 = arith.shrui %41, %c16_i32_22 : i32
    %43 = arith.xori %41, %42 : i32
    %44 = arith.remsi %31, %c1024 : index
    %45 = arith.index_cast %44 : index to i32
    %46 = arith.xori %43, %45 : i32
    %c2146121005_i32_23 = arith.constant 2146121005 : i32
    %c16_i32_24 = arith.constant 16 : i32
    %47 = arith.shrui %46, %c16_i32_24 : i32
    %48 = arith.xori %46, %47 : i32
    %49 = arith.muli %48, %c2146121005_i32_23 : i32
    %c-2073254261_i32_25 = arith.constant -2073254261 : i32
    %c15_i32_26 = arith.constant 15 : i32
    %50 = arith.shrui %49, %c15_i32_26 : i32
    %51 = arith.xori %49, %50 : i32
    %52 = arith.muli %51, %c-2073254261_i32_25 : i32
    %c16_i32_27 = arith.constant 16 : i32
    %53 = arith.shrui %52, %c16_i32_27 : i32
    %54 = arith.xori %52, %53 : i32
    linalg.yield %54 : i32
  } -> tensor<?x1xi32>
  %2 = tensor.empty(%arg0) : tensor<?x768xbf16>
  %3 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel"]}
      ins(%arg1, %1 : tensor<?x768xbf16>, tensor<?x1xi32>)
      outs(%2 : tensor<?x768xbf16>) {
  ^bb0(%in: bf16, %in_0: i32, %out: bf16):
    %4 = arith.extf %in : bf16 to f32
    %5 = linalg.index 1 : index
    %6 = arith.index_cast %5 : index to i32
    %7 = arith.xori %in_0, %6 : i32
    %c2146121005_i32 = arith.constant 2146121005 : i32
    %c16_i32 = arith.constant 16 : i32
    %8 = arith.shrui %7, %c16_i32 : i32
    %9 = arith.xori %7, %8 : i32
    %10 = arith.muli %9, %c2146121005_i32 : i32
    %c-2073254261_i32 = arith.constant -2073254261 : i32
    %c15_i32 = arith.constant 15 : i32
    %11 = arith.shrui %10, %c15_i32 : i32
    %12 = arith.xori %10, %11 : i32
    %13 = arith.muli %12, %c-2073254261_i32 : i32
    %c16_i32_1 = arith.constant 16 : i32
    %14 = arith.shrui %13, %c16_i32_1 : i32
    %15 = arith.xori %13, %14 : i32
    %c429496736_i32 = arith.constant 429496736 : i32
    %16 = arith.cmpi ult, %15, %c429496736_i32 : i32
    %cst = arith.constant 1.11111116 : f32
    %17 = arith.mulf %4, %cst : f32
    %cst_2 = arith.constant 0.000000e+00 : f32
    %18 = arith.select %16, %cst_2, %17 : f32
    %19 = arith.truncf %18 : f32 to bf16
    linalg.yield %19 : bf16
  } -> tensor<?x768xbf16>
  plan.yield %3 : tensor<?x768xbf16>
}

plan.kernel @forward_bf16 "flash_forward" config
  {dtype = bf16, heads = 12 : i64, head_size = 64 : i64, positions = 1024 : i64,
   scale = 0.125 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}

plan.kernel @backward_query_bf16 "flash_backward_query" config
  {dtype = bf16, heads = 12 : i64, head_size = 64 : i64, positions = 1024 : i64,
   scale = 0.125 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}

plan.kernel @backward_key_bf16 "flash_backward_key" config
  {dtype = bf16, heads = 12 : i64, head_size = 64 : i64, positions = 1024 : i64,
   scale = 0.125 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}

plan.kernel @forward_drop "flash_forward" config
  {dtype = bf16, heads = 12 : i64, head_size = 64 : i64, positions = 1024 : i64,
   scale = 0.125 : f32, dropout_threshold = 429496729 : i64,
   dropout_scale = 1.1111111640930176 : f32}

plan.kernel @backward_query_drop "flash_backward_query" config
  {dtype = bf16, heads = 12 : i64, head_size = 64 : i64, positions = 1024 : i64,
   scale = 0.125 : f32, dropout_threshold = 429496729 : i64,
   dropout_scale = 1.1111111640930176 : f32}

plan.kernel @backward_key_drop "flash_backward_key" config
  {dtype = bf16, heads = 12 : i64, head_size = 64 : i64, positions = 1024 : i64,
   scale = 0.125 : f32, dropout_threshold = 429496729 : i64,
   dropout_scale = 1.1111111640930176 : f32}

plan.kernel @forward_f32 "flash_forward" config
  {dtype = f32, heads = 12 : i64, head_size = 64 : i64, positions = 1024 : i64,
   scale = 0.125 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}

plan.kernel @backward_query_f32 "flash_backward_query" config
  {dtype = f32, heads = 12 : i64, head_size = 64 : i64, positions = 1024 : i64,
   scale = 0.125 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}

plan.kernel @backward_key_f32 "flash_backward_key" config
  {dtype = f32, heads = 12 : i64, head_size = 64 : i64, positions = 1024 : i64,
   scale = 0.125 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}

plan.kernel @forward_tf32 "flash_forward" config
  {dtype = tf32, heads = 12 : i64, head_size = 64 : i64, positions = 1024 : i64,
   scale = 0.125 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}

plan.kernel @backward_query_tf32 "flash_backward_query" config
  {dtype = tf32, heads = 12 : i64, head_size = 64 : i64, positions = 1024 : i64,
   scale = 0.125 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}

plan.kernel @backward_key_tf32 "flash_backward_key" config
  {dtype = tf32, heads = 12 : i64, head_size = 64 : i64, positions = 1024 : i64,
   scale = 0.125 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}

plan.kernel @forward_tf32_drop "flash_forward" config
  {dtype = tf32, heads = 12 : i64, head_size = 64 : i64, positions = 1024 : i64,
   scale = 0.125 : f32, dropout_threshold = 429496736 : i64,
   dropout_scale = 1.1111111640930176 : f32}

plan.kernel @backward_query_tf32_drop "flash_backward_query" config
  {dtype = tf32, heads = 12 : i64, head_size = 64 : i64, positions = 1024 : i64,
   scale = 0.125 : f32, dropout_threshold = 429496736 : i64,
   dropout_scale = 1.1111111640930176 : f32}

plan.kernel @backward_key_tf32_drop "flash_backward_key" config
  {dtype = tf32, heads = 12 : i64, head_size = 64 : i64, positions = 1024 : i64,
   scale = 0.125 : f32, dropout_threshold = 429496736 : i64,
   dropout_scale = 1.1111111640930176 : f32}

plan.kernel @forward_wide "flash_forward" config
  {dtype = f16, heads = 6 : i64, head_size = 128 : i64, positions = 1024 : i64,
   scale = 0.08838834764831845 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}

plan.kernel @backward_query_wide "flash_backward_query" config
  {dtype = f16, heads = 6 : i64, head_size = 128 : i64, positions = 1024 : i64,
   scale = 0.08838834764831845 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}

plan.kernel @backward_key_wide "flash_backward_key" config
  {dtype = f16, heads = 6 : i64, head_size = 128 : i64, positions = 1024 : i64,
   scale = 0.08838834764831845 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}

plan.kernel @embed_grad "embed_grad" config
  {columns = 768 : i64, vocab = 50304 : i64, positions = 1024 : i64}
