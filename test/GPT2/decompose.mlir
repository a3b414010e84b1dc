// The definition of every op's arithmetic, in the normal form.
// RUN: gpt2-opt %s --allow-unregistered-dialect --test-outline-kernels | FileCheck %s

// CHECK-DAG: #[[ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[ROW:.*]] = affine_map<(d0, d1) -> (d0, 0)>
// CHECK-DAG: #[[COLUMN:.*]] = affine_map<(d0, d1) -> (0, d1)>
// CHECK-DAG: #[[ONE:.*]] = affine_map<(d0, d1) -> (0, 0)>

// Functions are appended in the order of the ops below.
func.func @ops(%x: tensor<6x8xf32>, %l: tensor<6x8xbf16>, %g: tensor<8xf32>,
               %t: tensor<6xi32>, %s1: tensor<1xi32>, %s6: tensor<6xi32>,
               %wte: tensor<128x8xbf16>, %wpe: tensor<16x8xbf16>,
               %logits: tensor<6x128xf32>, %w: tensor<4x8xbf16>,
               %b: tensor<4xf32>) {

  // One sequence: the scalar start plus the row's number, both clamped.
  // CHECK-LABEL: func.func private @embed_0(
  // CHECK-SAME: %[[ROWS:.*]]: index, %[[T:.*]]: tensor<?x1xi32>, %[[WTE:.*]]: tensor<128x8xbf16>, %[[WPE:.*]]: tensor<16x8xbf16>, %[[S:.*]]: tensor<1x1xi32>) -> tensor<?x8xf32>
  // CHECK: %[[INIT:.*]] = tensor.empty(%[[ROWS]]) : tensor<?x8xf32>
  // CHECK: linalg.generic {indexing_maps = [#[[ROW]], #[[ONE]], #[[ID]]], iterator_types = ["parallel", "parallel"]} ins(%[[T]], %[[S]] : tensor<?x1xi32>, tensor<1x1xi32>) outs(%[[INIT]] : tensor<?x8xf32>)
  // CHECK: ^bb0(%[[TOKEN:.*]]: i32, %[[START:.*]]: i32, %{{.*}}: f32):
  // CHECK: arith.index_cast %[[TOKEN]] : i32 to index
  // CHECK: arith.maxsi
  // CHECK: %[[WORD:.*]] = arith.minsi
  // CHECK: %[[FROM:.*]] = arith.index_cast %[[START]] : i32 to index
  // CHECK: %[[INDEX:.*]] = linalg.index 0
  // CHECK: arith.addi %[[FROM]], %[[INDEX]]
  // CHECK: arith.maxsi
  // CHECK: %[[PLACE:.*]] = arith.minsi
  // CHECK: %[[P:.*]] = tensor.extract %[[WPE]][%[[PLACE]], %{{.*}}] : tensor<16x8xbf16>
  // CHECK: %[[PF:.*]] = arith.extf %[[P]] : bf16 to f32
  // CHECK: %[[E:.*]] = tensor.extract %[[WTE]][%[[WORD]], %{{.*}}] : tensor<128x8xbf16>
  // CHECK: %[[EF:.*]] = arith.extf %[[E]] : bf16 to f32
  // CHECK: %[[SUM:.*]] = arith.addf %[[EF]], %[[PF]] : f32
  // CHECK: linalg.yield %[[SUM]] : f32
  %e0 = gpt2.embed %t, %wte, %wpe at %s1 batch 1 : tensor<6xi32>, tensor<128x8xbf16>, tensor<16x8xbf16>, tensor<1xi32> -> tensor<6x8xf32>
  "test.use"(%e0) : (tensor<6x8xf32>) -> ()

  // One token a sequence: starts is a row vector, and the row's number is not
  // part of the position.
  // CHECK-LABEL: func.func private @embed_1(
  // CHECK-SAME: tensor<?x1xi32>, %{{.*}}: tensor<128x8xbf16>, %{{.*}}: tensor<16x8xbf16>, %{{.*}}: tensor<?x1xi32>)
  // CHECK: indexing_maps = [#[[ROW]], #[[ROW]], #[[ID]]]
  // CHECK-NOT: linalg.index 0
  // CHECK: return
  %e1 = gpt2.embed %t, %wte, %wpe at %s6 batch 6 : tensor<6xi32>, tensor<128x8xbf16>, tensor<16x8xbf16>, tensor<6xi32> -> tensor<6x8xf32>
  "test.use"(%e1) : (tensor<6x8xf32>) -> ()

  // Evaluation: every sequence starts at 0.
  // CHECK-LABEL: func.func private @embed_2(
  // CHECK: %[[INDEX:.*]] = linalg.index 0
  // CHECK: %[[SEQ:.*]] = arith.constant 3 : index
  // CHECK: arith.remsi %[[INDEX]], %[[SEQ]]
  %e2 = gpt2.embed %t, %wte, %wpe batch 2 : tensor<6xi32>, tensor<128x8xbf16>, tensor<16x8xbf16> -> tensor<6x8xf32>
  "test.use"(%e2) : (tensor<6x8xf32>) -> ()

  // CHECK-LABEL: func.func private @layer_norm_3(
  // CHECK-SAME: %{{.*}}: index, %[[X:.*]]: tensor<?x8xbf16>, %[[G:.*]]: tensor<1x8xf32>) -> (tensor<?x8xbf16>, tensor<?x1xf32>, tensor<?x1xf32>)
  // CHECK-DAG: %[[N:.*]] = arith.constant 8.000000e+00 : f32
  // CHECK-DAG: %[[EPS:.*]] = arith.constant 9.99999974E-6 : f32
  // CHECK: %[[ZERO:.*]] = linalg.fill
  // CHECK: %[[TOTAL:.*]] = linalg.generic {indexing_maps = [#[[ID]], #[[ROW]]], iterator_types = ["parallel", "reduction"]} ins(%[[X]] : tensor<?x8xbf16>)
  // CHECK: ^bb0(%[[V:.*]]: bf16, %[[ACC:.*]]: f32):
  // CHECK-NEXT: %[[F:.*]] = arith.extf %[[V]]
  // CHECK-NEXT: %[[S:.*]] = arith.addf %[[F]], %[[ACC]] fastmath<reassoc> : f32
  // CHECK-NEXT: linalg.yield %[[S]]
  // CHECK: %[[MEAN:.*]] = linalg.generic {indexing_maps = [#[[ID]], #[[ID]]], iterator_types = ["parallel", "parallel"]} ins(%[[TOTAL]] : tensor<?x1xf32>)
  // CHECK: arith.divf %{{.*}}, %[[N]]
  // CHECK: linalg.fill
  // CHECK: %[[SQUARES:.*]] = linalg.generic {indexing_maps = [#[[ID]], #[[ROW]], #[[ROW]]], iterator_types = ["parallel", "reduction"]} ins(%[[X]], %[[MEAN]]
  // CHECK: %[[D:.*]] = arith.subf
  // CHECK-NEXT: %[[D2:.*]] = arith.mulf %[[D]], %[[D]]
  // CHECK-NEXT: arith.addf %[[D2]], %{{.*}} fastmath<reassoc>
  // CHECK: %[[RSTD:.*]] = linalg.generic {{.*}} ins(%[[SQUARES]] : tensor<?x1xf32>)
  // CHECK: %[[VAR:.*]] = arith.divf %{{.*}}, %[[N]]
  // CHECK-NEXT: %[[SAFE:.*]] = arith.addf %[[VAR]], %[[EPS]]
  // CHECK-NEXT: math.rsqrt %[[SAFE]]
  // CHECK: %[[Y:.*]] = linalg.generic {indexing_maps = [#[[ID]], #[[ROW]], #[[ROW]], #[[COLUMN]], #[[COLUMN]], #[[ID]]], iterator_types = ["parallel", "parallel"]} ins(%[[X]], %[[MEAN]], %[[RSTD]], %[[G]], %[[G]]
  // CHECK: arith.subf
  // CHECK-NEXT: arith.mulf
  // CHECK-NEXT: arith.mulf
  // CHECK-NEXT: %[[OUT:.*]] = arith.addf
  // CHECK-NEXT: %[[ROUNDED:.*]] = arith.truncf %[[OUT]] : f32 to bf16
  // CHECK-NEXT: linalg.yield %[[ROUNDED]]
  // CHECK: return %[[Y]], %[[MEAN]], %[[RSTD]]
  %y, %mean, %rstd = gpt2.layer_norm %l, %g, %g epsilon 1.0e-5 : (tensor<6x8xbf16>, tensor<8xf32>, tensor<8xf32>) -> (tensor<6x8xbf16>, tensor<6x1xf32>, tensor<6x1xf32>)
  "test.use"(%y, %mean, %rstd) : (tensor<6x8xbf16>, tensor<6x1xf32>, tensor<6x1xf32>) -> ()

  // Sums are rounded once; widening is exact.
  // CHECK-LABEL: func.func private @add_4(
  // CHECK: arith.extf
  // CHECK-NEXT: arith.extf
  // CHECK-NEXT: arith.addf
  // CHECK-NEXT: arith.truncf
  %a = gpt2.add %l, %y : tensor<6x8xbf16>
  "test.use"(%a) : (tensor<6x8xbf16>) -> ()

  // Between 16-bit types the value goes through f32.
  // CHECK-LABEL: func.func private @cast_5(
  // CHECK: arith.extf %{{.*}} : bf16 to f32
  // CHECK-NEXT: arith.truncf %{{.*}} : f32 to f16
  %h = gpt2.cast %l : tensor<6x8xbf16> to tensor<6x8xf16>
  "test.use"(%h) : (tensor<6x8xf16>) -> ()

  // A row kernel of one row that reads a table: the row is count - 1, clamped.
  // CHECK-LABEL: func.func private @select_row_6(
  // CHECK-SAME: %{{.*}}: index, %[[X:.*]]: tensor<6x8xf32>, %[[COUNT:.*]]: tensor<1x1xi32>) -> tensor<?x8xf32>
  // CHECK: indexing_maps = [#[[ONE]], #[[ID]]]
  // CHECK: arith.subi
  // CHECK: arith.maxsi
  // CHECK: %[[R:.*]] = arith.minsi
  // CHECK: tensor.extract %[[X]][%[[R]], %{{.*}}] : tensor<6x8xf32>
  %r = gpt2.select_row %x at %s1 : tensor<6x8xf32> -> tensor<1x8xf32>
  "test.use"(%r) : (tensor<1x8xf32>) -> ()

  // Maximum, sum of exponentials and the label's logit are row reductions;
  // padding is -inf in the first and 0 in the second.
  // CHECK-LABEL: func.func private @cross_entropy_7(
  // CHECK-SAME: %{{.*}}: index, %[[L:.*]]: tensor<?x128xf32>, %[[T:.*]]: tensor<?x1xi32>) -> tensor<?x1xf32>
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
  // CHECK-DAG: %[[LOWEST:.*]] = arith.constant 0xFF800000 : f32
  // CHECK: %[[TOP:.*]] = linalg.generic {indexing_maps = [#[[ID]], #[[ROW]]], iterator_types = ["parallel", "reduction"]} ins(%[[L]] :
  // CHECK: %[[C:.*]] = linalg.index 1
  // CHECK: %[[VOCAB:.*]] = arith.constant 100 : index
  // CHECK: %[[WORD:.*]] = arith.cmpi slt, %[[C]], %[[VOCAB]]
  // CHECK: arith.select %[[WORD]], %{{.*}}, %[[LOWEST]]
  // CHECK: arith.maximumf
  // CHECK: %[[TOTAL:.*]] = linalg.generic {{.*}} ins(%[[L]], %[[TOP]] :
  // CHECK: arith.subf
  // CHECK: math.exp
  // CHECK: arith.select %{{.*}}, %{{.*}}, %[[ZERO]]
  // CHECK: arith.addf {{.*}} fastmath<reassoc>
  // CHECK: %[[LABEL:.*]] = linalg.generic {{.*}} ins(%[[L]], %[[T]] :
  // CHECK: arith.cmpi eq
  // CHECK: arith.select %{{.*}}, %{{.*}}, %[[ZERO]]
  // CHECK: linalg.generic {{.*}} ins(%[[TOTAL]], %[[TOP]], %[[LABEL]], %[[T]] :
  // CHECK: math.log
  // CHECK-NEXT: arith.addf
  // CHECK-NEXT: arith.subf
  // CHECK: arith.cmpi ult
  // CHECK: arith.select %{{.*}}, %{{.*}}, %[[ZERO]]
  %losses = gpt2.cross_entropy %logits, %t vocab 100 : (tensor<6x128xf32>, tensor<6xi32>) -> tensor<6xf32>
  "test.use"(%losses) : (tensor<6xf32>) -> ()

  // A linear alone: x as it is, and the rounding of sums plus bias.
  // CHECK-LABEL: func.func private @linear_prologue_8(
  // CHECK-SAME: %{{.*}}: index, %[[X:.*]]: tensor<?x8xbf16>) -> tensor<?x8xbf16>
  // CHECK-NEXT: return %[[X]]
  // CHECK-LABEL: func.func private @linear_epilogue_8(
  // CHECK-SAME: %{{.*}}: index, %[[SUMS:.*]]: tensor<?x4xf32>, %[[B:.*]]: tensor<1x4xf32>) -> tensor<?x4xbf16>
  // CHECK: ins(%[[SUMS]], %[[B]] :
  // CHECK: arith.addf
  // CHECK-NEXT: arith.truncf
  %o = gpt2.linear %l, %w, %b : (tensor<6x8xbf16>, tensor<4x8xbf16>, tensor<4xf32>) -> tensor<6x4xbf16>
  "test.use"(%o) : (tensor<6x4xbf16>) -> ()
  return
}

// A fused region is its ops one after another; %z leaves no trace, as nothing
// uses it, and neither do the statistics.
func.func @fused(%x: tensor<6x8xf32>, %y: tensor<6x8xbf16>, %g: tensor<8xf32>) {
  // CHECK-LABEL: func.func private @fused_9(
  // CHECK-SAME: %{{.*}}: index, %[[Y:.*]]: tensor<?x8xbf16>, %[[X:.*]]: tensor<?x8xf32>, %[[G:.*]]: tensor<1x8xf32>) -> tensor<?x8xf32>
  // CHECK: linalg.generic {{.*}} ins(%[[Y]] :
  // CHECK: arith.extf
  // CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%[[X]], %{{.*}} :
  // CHECK: linalg.generic {{.*}} ins(%[[S]] :
  // CHECK-NOT: math.tanh
  // CHECK: return
  %n, %z = gpt2.fused row (%b = %y : tensor<6x8xbf16>, %a = %x : tensor<6x8xf32>, %c = %g : tensor<8xf32>) -> (tensor<6x8xf32>, tensor<6x8xf32>) {
    %f = gpt2.cast %b : tensor<6x8xbf16> to tensor<6x8xf32>
    %s = gpt2.add %a, %f : tensor<6x8xf32>
    %0:3 = gpt2.layer_norm %s, %c, %c epsilon 1.0e-5 : (tensor<6x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<6x8xf32>, tensor<6x1xf32>, tensor<6x1xf32>)
    %t = gpt2.activation tanh %s : tensor<6x8xf32>
    gpt2.yield %0#0, %t : tensor<6x8xf32>, tensor<6x8xf32>
  }
  "test.use"(%n) : (tensor<6x8xf32>) -> ()
  return
}

// A matvec region: the prologue's block has its own inputs, the epilogue's
// takes the sums first.
func.func @matvec(%x: tensor<2x8xf32>, %g: tensor<8xf32>, %w: tensor<4x8xbf16>, %b: tensor<4xf32>, %r: tensor<2x4xf32>) {
  // CHECK-LABEL: func.func private @fused_prologue_10(
  // CHECK-SAME: %{{.*}}: index, %{{.*}}: tensor<?x8xf32>, %{{.*}}: tensor<1x8xf32>) -> tensor<?x8xbf16>
  // CHECK: arith.truncf
  // CHECK-LABEL: func.func private @fused_epilogue_10(
  // CHECK-SAME: %{{.*}}: index, %[[SUMS:.*]]: tensor<?x4xf32>, %[[B:.*]]: tensor<1x4xf32>, %[[R:.*]]: tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: %[[L:.*]] = linalg.generic {{.*}} ins(%[[SUMS]], %[[B]] : {{.*}} outs(%{{.*}} : tensor<?x4xbf16>)
  // CHECK: %[[F:.*]] = linalg.generic {{.*}} ins(%[[L]] : {{.*}} outs(%{{.*}} : tensor<?x4xf32>)
  // CHECK: linalg.generic {{.*}} ins(%[[R]], %[[F]] :
  %o = gpt2.fused matvec (%a = %x : tensor<2x8xf32>, %c = %g : tensor<8xf32>, %v = %w : tensor<4x8xbf16>, %d = %b : tensor<4xf32>, %e = %r : tensor<2x4xf32>) -> tensor<2x4xf32> {
    %0:3 = gpt2.layer_norm %a, %c, %c epsilon 1.0e-5 : (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
    %1 = gpt2.cast %0#0 : tensor<2x8xf32> to tensor<2x8xbf16>
    %2 = gpt2.linear %1, %v, %d : (tensor<2x8xbf16>, tensor<4x8xbf16>, tensor<4xf32>) -> tensor<2x4xbf16>
    %3 = gpt2.cast %2 : tensor<2x4xbf16> to tensor<2x4xf32>
    %4 = gpt2.add %e, %3 : tensor<2x4xf32>
    gpt2.yield %4 : tensor<2x4xf32>
  }
  "test.use"(%o) : (tensor<2x4xf32>) -> ()
  return
}
