// The arithmetic of the training ops, in the normal form.
// RUN: gpt2-opt %s --allow-unregistered-dialect --test-outline-kernels | FileCheck %s

// CHECK-DAG: #[[ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[ROW:.*]] = affine_map<(d0, d1) -> (d0, 0)>
// CHECK-DAG: #[[COLUMN:.*]] = affine_map<(d0, d1) -> (0, d1)>
// CHECK-DAG: #[[ONE:.*]] = affine_map<(d0, d1) -> (0, 0)>

func.func @ops(%x: tensor<6x8xbf16>, %r: tensor<6x8xf32>, %g: tensor<8xf32>,
               %m: tensor<6x1xf32>, %rstd: tensor<6x1xf32>, %rng: tensor<4xi32>,
               %l: tensor<6x128xbf16>, %t: tensor<6xi32>,
               %p: tensor<16xf32>, %s: tensor<8xf32>, %n: tensor<1xf32>,
               %part: tensor<8x2xf32>) {

  // Slots are tables of one column, read at constant places. Id 3 times the
  // golden ratio is a constant; a key that nothing uses is not computed.
  // CHECK-LABEL: func.func private @dropout_keys_0(
  // CHECK-SAME: %{{.*}}: index, %[[RNG:.*]]: tensor<4x1xi32>) -> tensor<?x1xi32>
  // CHECK: linalg.generic {indexing_maps = [#[[ID]]], iterator_types = ["parallel", "parallel"]} outs(%{{.*}} : tensor<?x1xi32>)
  // CHECK: %[[START:.*]] = tensor.extract %[[RNG]][%{{.*}}, %{{.*}}] : tensor<4x1xi32>
  // CHECK: %[[NUMBER:.*]] = arith.constant -626627285 : i32
  // CHECK: arith.addi %[[START]], %[[NUMBER]]
  // CHECK: arith.shrui
  // CHECK: arith.xori
  // CHECK: arith.muli
  // CHECK: linalg.yield %{{.*}} : i32
  // CHECK-NOT: linalg.generic
  // CHECK: return
  %k:2 = gpt2.dropout_keys %rng ids [0, 3] : tensor<1xi32>, tensor<1xi32>

  // What the elements of a row share of the hash is a row vector; 0.25 * 2^32
  // is a constant.
  // CHECK-LABEL: func.func private @dropout_1(
  // CHECK-SAME: %{{.*}}: index, %[[X:.*]]: tensor<?x8xbf16>, %[[RNG:.*]]: tensor<4x1xi32>, %[[KEY:.*]]: tensor<1x1xi32>) -> tensor<?x8xbf16>
  // CHECK: %[[HASH:.*]] = linalg.generic {indexing_maps = [#[[ONE]], #[[ID]]], iterator_types = ["parallel", "parallel"]} ins(%[[KEY]] : tensor<1x1xi32>) outs(%{{.*}} : tensor<?x1xi32>)
  // CHECK: %[[N:.*]] = linalg.index 0
  // CHECK: %[[T:.*]] = arith.constant 3 : index
  // CHECK: arith.divsi %[[N]], %[[T]]
  // CHECK: tensor.extract %[[RNG]]
  // CHECK: arith.remsi %[[N]], %[[T]]
  // CHECK: linalg.generic {indexing_maps = [#[[ID]], #[[ROW]], #[[ID]]], {{.*}} ins(%[[X]], %[[HASH]] :
  // CHECK: %[[C:.*]] = linalg.index 1
  // CHECK: arith.index_cast %[[C]] : index to i32
  // CHECK: %[[LIMIT:.*]] = arith.constant 1073741824 : i32
  // CHECK: %[[DROPPED:.*]] = arith.cmpi ult, %{{.*}}, %[[LIMIT]]
  // CHECK: arith.constant 1.33333337
  // CHECK: arith.select %[[DROPPED]]
  // CHECK-NEXT: arith.truncf
  %d = gpt2.dropout %x, %rng, %k#1 probability 0.25 batch 2 : tensor<6x8xbf16>
  "test.use"(%d) : (tensor<6x8xbf16>) -> ()

  // Two row sums, dx, and two column sums over (reduction, parallel).
  // CHECK-LABEL: func.func private @layer_norm_grad_2(
  // CHECK-SAME: %{{.*}}: index, %[[DY:.*]]: tensor<?x8xbf16>, %[[X:.*]]: tensor<?x8xf32>, %[[G:.*]]: tensor<1x8xf32>, %[[M:.*]]: tensor<?x1xf32>, %[[R:.*]]: tensor<?x1xf32>) -> (tensor<?x8xf32>, tensor<1x8xf32>, tensor<1x8xf32>)
  // CHECK: linalg.generic {indexing_maps = [#[[ID]], #[[COLUMN]], #[[ROW]]], iterator_types = ["parallel", "reduction"]} ins(%[[DY]], %[[G]] :
  // CHECK: linalg.generic {indexing_maps = [#[[ID]], #[[COLUMN]], #[[ID]], #[[ROW]], #[[ROW]], #[[ROW]]], iterator_types = ["parallel", "reduction"]} ins(%[[DY]], %[[G]], %[[X]], %[[M]], %[[R]] :
  // CHECK: %[[DX:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} ins(%[[DY]], %[[G]], %[[X]], %[[M]], %[[R]], %{{.*}}, %{{.*}} :
  // CHECK: %[[EMPTY:.*]] = tensor.empty() : tensor<1x8xf32>
  // CHECK: %[[FILL:.*]] = linalg.fill {{.*}} outs(%[[EMPTY]]
  // CHECK: %[[DG:.*]] = linalg.generic {indexing_maps = [#[[ID]], #[[ID]], #[[ROW]], #[[ROW]], #[[COLUMN]]], iterator_types = ["reduction", "parallel"]} ins(%[[DY]], %[[X]], %[[M]], %[[R]] : {{.*}} outs(%[[FILL]] : tensor<1x8xf32>)
  // CHECK: arith.addf %{{.*}}, %{{.*}} fastmath<reassoc>
  // CHECK: %[[DB:.*]] = linalg.generic {indexing_maps = [#[[ID]], #[[COLUMN]]], iterator_types = ["reduction", "parallel"]} ins(%[[DY]] :
  // CHECK: return %[[DX]], %[[DG]], %[[DB]]
  %ln:3 = gpt2.layer_norm_grad %x, %r, %g, %m, %rstd : (tensor<6x8xbf16>, tensor<6x8xf32>, tensor<8xf32>, tensor<6x1xf32>, tensor<6x1xf32>) -> (tensor<6x8xf32>, tensor<8x2xf32>, tensor<8x2xf32>)
  "test.use"(%ln#0, %ln#1, %ln#2) : (tensor<6x8xf32>, tensor<8x2xf32>, tensor<8x2xf32>) -> ()

  // Without its column results it is an ordinary row kernel.
  // CHECK-LABEL: func.func private @layer_norm_grad_3(
  // CHECK-SAME: -> tensor<?x8xf32>
  // CHECK-NOT: ["reduction", "parallel"]
  // CHECK: return
  %dx:3 = gpt2.layer_norm_grad %x, %r, %g, %m, %rstd : (tensor<6x8xbf16>, tensor<6x8xf32>, tensor<8xf32>, tensor<6x1xf32>, tensor<6x1xf32>) -> (tensor<6x8xf32>, tensor<8x2xf32>, tensor<8x2xf32>)
  "test.use"(%dx#0) : (tensor<6x8xf32>) -> ()

  // Without its statistics, a norm is one map.
  // CHECK-LABEL: func.func private @normalize_4(
  // CHECK-SAME: %{{.*}}: index, %[[X:.*]]: tensor<?x8xf32>, %[[M:.*]]: tensor<?x1xf32>, %[[R:.*]]: tensor<?x1xf32>, %[[G:.*]]: tensor<1x8xf32>) -> tensor<?x8xbf16>
  // CHECK-NOT: reduction
  // CHECK: ins(%[[X]], %[[M]], %[[R]], %[[G]], %[[G]] :
  // CHECK-NOT: reduction
  // CHECK: return
  %y = gpt2.normalize %r, %m, %rstd, %g, %g : (tensor<6x8xf32>, tensor<6x1xf32>, tensor<6x1xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<6x8xbf16>
  "test.use"(%y) : (tensor<6x8xbf16>) -> ()

  // A vector is one column.
  // CHECK-LABEL: func.func private @column_sum_5(
  // CHECK-SAME: %{{.*}}: index, %[[X:.*]]: tensor<?x1xf32>) -> tensor<1x1xf32>
  // CHECK: linalg.generic {indexing_maps = [#[[ID]], #[[COLUMN]]], iterator_types = ["reduction", "parallel"]} ins(%[[X]] :
  %c = gpt2.column_sum %g : tensor<8xf32> -> tensor<1x2xf32>
  "test.use"(%c) : (tensor<1x2xf32>) -> ()

  // An ordinary row kernel over the columns.
  // CHECK-LABEL: func.func private @column_finish_6(
  // CHECK-SAME: %{{.*}}: index, %[[P:.*]]: tensor<?x2xf32>, %[[A:.*]]: tensor<?x1xf32>) -> tensor<?x1xf32>
  // CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ["parallel", "reduction"]} ins(%[[P]] :
  // CHECK: linalg.generic {{.*}} ins(%[[A]], %[[SUM]] :
  // CHECK: arith.addf %{{.*}}, %{{.*}} : f32
  %f = gpt2.column_finish %part into %g : tensor<8x2xf32>, tensor<8xf32>
  "test.use"(%f) : (tensor<8xf32>) -> ()

  // CHECK-LABEL: func.func private @column_finish_7(
  // CHECK-SAME: %{{.*}}: index, %[[P:.*]]: tensor<?x2xf32>) -> tensor<?x1xf32>
  // CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ["parallel", "reduction"]} ins(%[[P]] :
  // CHECK: linalg.generic {{.*}} ins(%[[SUM]] :
  %alone = gpt2.column_finish %part : tensor<8x2xf32>
  "test.use"(%alone) : (tensor<8xf32>) -> ()

  // CHECK-LABEL: func.func private @activation_grad_8(
  // CHECK: ^bb0(%[[DY:.*]]: bf16, %[[X:.*]]: bf16, %{{.*}}: bf16):
  // CHECK-DAG: %[[DYF:.*]] = arith.extf %[[DY]]
  // CHECK-DAG: %[[XF:.*]] = arith.extf %[[X]]
  // CHECK: %[[POSITIVE:.*]] = arith.cmpf ogt, %[[XF]]
  // CHECK: %[[SLOPE:.*]] = arith.select %[[POSITIVE]]
  // CHECK-NEXT: %[[DX:.*]] = arith.mulf %[[DYF]], %[[SLOPE]]
  // CHECK-NEXT: arith.truncf %[[DX]] : f32 to bf16
  %a = gpt2.activation_grad relu %x, %x : tensor<6x8xbf16>
  "test.use"(%a) : (tensor<6x8xbf16>) -> ()

  // The losses' column result is 1x1; the factor of a row that is not scored
  // is 0.
  // CHECK-LABEL: func.func private @cross_entropy_grad_9(
  // CHECK-SAME: %{{.*}}: index, %[[L:.*]]: tensor<?x128xbf16>, %[[T:.*]]: tensor<?x1xi32>, %[[P:.*]]: tensor<16x1xf32>, %[[S:.*]]: tensor<8x1xf32>) -> (tensor<?x1xf32>, tensor<1x1xf32>, tensor<?x128xbf16>)
  // CHECK: math.log
  // CHECK: %[[TOTAL:.*]] = linalg.generic {indexing_maps = [#[[ID]], #[[COLUMN]]], iterator_types = ["reduction", "parallel"]}
  // CHECK: %[[FACTOR:.*]] = linalg.generic {{.*}} ins(%[[T]] :
  // CHECK: tensor.extract %[[P]]
  // CHECK: tensor.extract %[[S]]
  // CHECK: arith.cmpi ult
  // CHECK: %[[SCALE:.*]] = linalg.generic {{.*}} ins(%[[FACTOR]], %{{.*}} :
  // CHECK: arith.divf
  // CHECK: linalg.generic {{.*}} ins(%[[L]], %[[T]], %{{.*}}, %[[SCALE]], %[[FACTOR]] :
  // CHECK: math.exp
  // CHECK: arith.cmpi eq
  // CHECK: arith.cmpi slt
  // CHECK: arith.select
  // CHECK: arith.truncf
  // CHECK: return %{{.*}}, %[[TOTAL]], %{{.*}}
  %ce:3 = gpt2.cross_entropy_grad %l, %t, %p, %s vocab 100 : tensor<6x128xbf16>, tensor<6xi32> -> tensor<6xf32>, tensor<1x2xf32>
  "test.use"(%ce#0, %ce#1, %ce#2) : (tensor<6xf32>, tensor<1x2xf32>, tensor<6x128xbf16>) -> ()

  // Row sums first, then the sum over rows; of a vector only the latter.
  // CHECK-LABEL: func.func private @square_sum_10(
  // CHECK: %[[SCALE:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<?x1xf32>)
  // CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]}
  // CHECK: arith.divf
  // CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]}
  %q = gpt2.square_sum %r, %s : tensor<6x8xf32> -> tensor<1x2xf32>
  "test.use"(%q) : (tensor<1x2xf32>) -> ()
  // CHECK-LABEL: func.func private @square_sum_11(
  // CHECK-NOT: ["parallel", "reduction"]
  // CHECK: iterator_types = ["reduction", "parallel"]}
  %v = gpt2.square_sum %g, %s : tensor<8xf32> -> tensor<1x2xf32>
  "test.use"(%v) : (tensor<1x2xf32>) -> ()

  // A row is a number of the state, chosen by the row's number.
  // CHECK-LABEL: func.func private @step_state_12(
  // CHECK-SAME: %{{.*}}: index, %[[N:.*]]: tensor<1x1xf32>, %{{.*}}: tensor<16x1xf32>, %{{.*}}: tensor<8x1xf32>) -> tensor<?x1xf32>
  // CHECK: linalg.generic {indexing_maps = [#[[ONE]], #[[ID]]], {{.*}} ins(%[[N]] :
  // CHECK: math.sqrt
  // CHECK: %[[I:.*]] = linalg.index 0
  // CHECK-COUNT-7: arith.cmpi eq, %[[I]]
  %st = gpt2.step_state %n, %p, %s
  "test.use"(%st) : (tensor<8xf32>) -> ()

  // Without decay and a low result; the gradient is cleared last.
  // CHECK-LABEL: func.func private @adamw_13(
  // CHECK-SAME: -> (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>)
  // CHECK: math.sqrt
  // CHECK: %[[ZEROS:.*]] = linalg.generic
  // CHECK: linalg.yield %cst
  // CHECK-NEXT: } -> tensor<?x8xf32>
  // CHECK-NEXT: return %{{.*}}, %{{.*}}, %{{.*}}, %[[ZEROS]]
  %w:4 = gpt2.adamw %r, %r, %r, %r, %p, %s : tensor<6x8xf32>
  "test.use"(%w#0, %w#1, %w#2, %w#3) : (tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>) -> ()

  // Decay adds one number, and low is p rounded.
  // CHECK-LABEL: func.func private @adamw_14(
  // CHECK-SAME: -> (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf16>)
  // CHECK: arith.truncf %{{.*}} : f32 to f16
  %u:5 = gpt2.adamw %r, %r, %r, %r, %p, %s {decay} : tensor<6x8xf32> -> tensor<6x8xf16>
  "test.use"(%u#0, %u#1, %u#2, %u#3, %u#4) : (tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf16>) -> ()
  return
}

// A fused region's column result; its rows are those of the other ops.
func.func @fused(%dy: tensor<6x8xf32>, %x: tensor<6x8xf32>) {
  // CHECK-LABEL: func.func private @fused_15(
  // CHECK-SAME: -> (tensor<1x8xf32>, tensor<?x8xf32>)
  // CHECK: %[[DX:.*]] = linalg.generic
  // CHECK: %[[SUM:.*]] = linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%[[DX]] :
  // CHECK: return %[[SUM]], %[[DX]]
  %sum, %dx = gpt2.fused row (%a = %dy : tensor<6x8xf32>, %b = %x : tensor<6x8xf32>) -> (tensor<8x2xf32>, tensor<6x8xf32>) {
    %0 = gpt2.activation_grad relu %a, %b : tensor<6x8xf32>
    %1 = gpt2.column_sum %0 : tensor<6x8xf32> -> tensor<8x2xf32>
    gpt2.yield %1, %0 : tensor<8x2xf32>, tensor<6x8xf32>
  }
  "test.use"(%sum, %dx) : (tensor<8x2xf32>, tensor<6x8xf32>) -> ()
  return
}
