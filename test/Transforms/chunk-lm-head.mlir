// chunk-lm-head: one chunk's logits at a time.
// RUN: split-file %s %t
// RUN: gpt2-opt %t/train.mlir --build-training=row-blocks=4 --chunk-lm-head=chunks=2 --canonicalize | FileCheck %s
// RUN: gpt2-opt %t/train.mlir --build-training=row-blocks=4 --canonicalize -o %t/whole.mlir
// RUN: gpt2-opt %t/whole.mlir --chunk-lm-head | diff - %t/whole.mlir
// RUN: gpt2-opt %t/whole.mlir --chunk-lm-head=chunks=3 --fuse --rematerialize --convert-gpt2-to-plan --plan-memory --remarks-filter=chunk-lm-head -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not gpt2-opt %t/whole.mlir --chunk-lm-head=chunks=0 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not gpt2-opt %t/whole.mlir --chunk-lm-head=chunks=7 2>&1 | FileCheck %s --check-prefix=MANY

// REMARK: head-split | {{.*}} chunks=3, heads=2
// ZERO: error: chunk-lm-head: chunks must be at least 1
// MANY: error: 'gpt2.cross_entropy_grad' op has 6 rows, which do not make 7 chunks

// CHECK-LABEL: @accumulate
// CHECK: %[[X:.*]] = gpt2.embed
// CHECK: %[[X0:.*]] = gpt2.slice_rows %[[X]] from 0 : tensor<6x8xf32> -> tensor<3x8xf32>
// CHECK-NEXT: %[[L0:.*]] = gpt2.linear %[[X0]], %wte : (tensor<3x8xf32>, tensor<128x8xf32>) -> tensor<3x128xf32>
// CHECK-NEXT: %[[A:.*]], %[[T0:.*]], %[[D0:.*]] = gpt2.cross_entropy_grad %[[L0]], %targets, %step_params, %train_state from 0 vocab 100 : tensor<3x128xf32>, tensor<6xi32> -> tensor<3xf32>, tensor<1x3xf32>
// CHECK-NEXT: %[[S0:.*]] = gpt2.column_finish %[[T0]] into %loss_sum
// CHECK-NEXT: %[[W0:.*]] = gpt2.weight_grad %[[D0]], %[[X0]] into %wte.grad
// CHECK-NEXT: %[[DX0:.*]] = gpt2.input_grad %[[D0]], %wte
// CHECK-NEXT: %[[X1:.*]] = gpt2.slice_rows %[[X]] from 3
// CHECK-NEXT: %[[L1:.*]] = gpt2.linear %[[X1]], %wte
// CHECK-NEXT: %[[B:.*]], %[[T1:.*]], %[[D1:.*]] = gpt2.cross_entropy_grad %[[L1]], {{.*}} from 3 vocab 100
// CHECK-NEXT: %[[LOSSES:.*]] = gpt2.concat_rows %[[A]], %[[B]] : (tensor<3xf32>, tensor<3xf32>) -> tensor<6xf32>
// CHECK-NEXT: %[[S1:.*]] = gpt2.column_finish %[[T1]] into %[[S0]]
// CHECK-NEXT: %[[W1:.*]] = gpt2.weight_grad %[[D1]], %[[X1]] into %[[W0]]
// CHECK-NEXT: %[[DX1:.*]] = gpt2.input_grad %[[D1]], %wte
// CHECK-NEXT: %[[DX:.*]] = gpt2.concat_rows %[[DX0]], %[[DX1]]
// CHECK: gpt2.embed_grad %[[DX]], {{.*}} into %[[W1]]
// CHECK-LABEL: @validate
// CHECK: gpt2.slice_rows %{{.*}} from 3
// CHECK-NEXT: gpt2.linear
// CHECK-NEXT: gpt2.cross_entropy %{{.*}}, %targets from 3 vocab 100
// CHECK-NEXT: gpt2.concat_rows

//--- train.mlir
gpt2.global parameter @wte : tensor<128x8xf32> names ["wte"]
gpt2.global parameter @wpe : tensor<6x8xf32> names ["wpe"]
gpt2.global state @inputs : tensor<6xi32>
gpt2.global state @targets : tensor<6xi32>
gpt2.global state @order : tensor<6xi32>
gpt2.global state @losses : tensor<6xf32>
gpt2.global state @loss_sum : tensor<1xf32>
gpt2.global state @step_params : tensor<16xf32>
gpt2.global state @rng : tensor<4xi32>
gpt2.global state @train_state : tensor<8xf32>
func.func @accumulate() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 6>} {
  %inputs = gpt2.read @inputs : tensor<6xi32>
  %targets = gpt2.read @targets : tensor<6xi32>
  %wte = gpt2.read @wte : tensor<128x8xf32>
  %wpe = gpt2.read @wpe : tensor<6x8xf32>
  %x = gpt2.embed %inputs, %wte, %wpe batch 1 : tensor<6xi32>, tensor<128x8xf32>, tensor<6x8xf32> -> tensor<6x8xf32>
  %logits = gpt2.linear %x, %wte : (tensor<6x8xf32>, tensor<128x8xf32>) -> tensor<6x128xf32>
  %losses = gpt2.cross_entropy %logits, %targets vocab 100 : (tensor<6x128xf32>, tensor<6xi32>) -> tensor<6xf32>
  gpt2.write @losses, %losses : tensor<6xf32>
  return
}
func.func @validate() attributes {
    gpt2.program = #gpt2.program<role = validate, batch = 1, tokens = 6>} {
  %inputs = gpt2.read @inputs : tensor<6xi32>
  %targets = gpt2.read @targets : tensor<6xi32>
  %wte = gpt2.read @wte : tensor<128x8xf32>
  %wpe = gpt2.read @wpe : tensor<6x8xf32>
  %x = gpt2.embed %inputs, %wte, %wpe batch 1 : tensor<6xi32>, tensor<128x8xf32>, tensor<6x8xf32> -> tensor<6x8xf32>
  %logits = gpt2.linear %x, %wte : (tensor<6x8xf32>, tensor<128x8xf32>) -> tensor<6x128xf32>
  %losses = gpt2.cross_entropy %logits, %targets vocab 100 : (tensor<6x128xf32>, tensor<6xi32>) -> tensor<6xf32>
  gpt2.write @losses, %losses : tensor<6xf32>
  return
}
