// Column results in fused regions: they leave the region, do not widen it, and
// share one number of row blocks.
// RUN: gpt2-opt %s --fuse --split-input-file | FileCheck %s
// RUN: gpt2-opt %s --fuse --split-input-file --remarks-filter=fuse -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: gpt2-opt %s --fuse=max-inputs=3 --split-input-file --remarks-filter=fuse -o %t 2>&1 | FileCheck %s --check-prefix=FEW-REMARK
// RUN: FileCheck %s --check-prefix=FEW < %t

gpt2.global state @dy : tensor<6x2xf32>
gpt2.global state @x : tensor<6x2xf32>
gpt2.global gradient @b : tensor<2xf32>

// More row blocks than columns: the region is two columns wide all the same.
// CHECK-LABEL: @bias_gradient
// CHECK: %[[OUT:.*]]:2 = gpt2.fused row (%[[DY:.*]] = %dy : tensor<6x2xf32>, %[[X:.*]] = %x : tensor<6x2xf32>) -> (tensor<6x2xf32>, tensor<2x6xf32>) {
// CHECK-NEXT: %[[DX:.*]] = gpt2.activation_grad relu %[[DY]], %[[X]]
// CHECK-NEXT: %[[SUM:.*]] = gpt2.column_sum %[[DX]]
// CHECK-NEXT: gpt2.yield %[[DX]], %[[SUM]]
// CHECK: gpt2.column_finish %[[OUT]]#1 into %b
// REMARK: Remark="'gpt2.column_finish' has 2 rows, not 6, so it is not fused with 'gpt2.activation_grad'"
// REMARK: Remark="row region of activation_grad column_sum"
func.func @bias_gradient() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 6>} {
  %dy = gpt2.read @dy : tensor<6x2xf32>
  %x = gpt2.read @x : tensor<6x2xf32>
  %b = gpt2.read @b : tensor<2xf32>
  %dx = gpt2.activation_grad relu %dy, %x : tensor<6x2xf32>
  %p = gpt2.column_sum %dx : tensor<6x2xf32> -> tensor<2x6xf32>
  %s = gpt2.column_finish %p into %b : tensor<2x6xf32>, tensor<2xf32>
  gpt2.write @dy, %dx : tensor<6x2xf32>
  gpt2.write @b, %s : tensor<2xf32>
  return
}

// -----

gpt2.global state @x : tensor<8x8xf32>
gpt2.global gradient @b : tensor<8xf32>

// As many rows as columns and blocks as columns: still, a sum is complete only
// behind its kernel.
// CHECK-LABEL: @square
// CHECK-NOT: gpt2.fused
// CHECK: %[[P:.*]] = gpt2.column_sum %x
// CHECK-NEXT: gpt2.column_finish %[[P]]
// REMARK: Remark="'gpt2.column_finish' needs all rows, so it is not fused with 'gpt2.column_sum'"
func.func @square() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 8>} {
  %x = gpt2.read @x : tensor<8x8xf32>
  %b = gpt2.read @b : tensor<8xf32>
  %p = gpt2.column_sum %x : tensor<8x8xf32> -> tensor<8x8xf32>
  %s = gpt2.column_finish %p into %b : tensor<8x8xf32>, tensor<8xf32>
  gpt2.write @b, %s : tensor<8xf32>
  return
}

// -----

gpt2.global state @x : tensor<6x8xf32>
gpt2.global state @p : tensor<8x2xf32>
gpt2.global state @q : tensor<8x3xf32>

// One launch has one number of row blocks.
// CHECK-LABEL: @blocks
// CHECK: gpt2.fused row
// CHECK-NEXT: gpt2.activation
// CHECK-NEXT: gpt2.column_sum {{.*}} -> tensor<8x2xf32>
// CHECK: gpt2.column_sum {{.*}} -> tensor<8x3xf32>
// REMARK: Remark="'gpt2.column_sum' sums 3 row blocks, not 2, so it is not fused with 'gpt2.activation'"
func.func @blocks() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 6>} {
  %x = gpt2.read @x : tensor<6x8xf32>
  %a = gpt2.activation relu %x : tensor<6x8xf32>
  %p = gpt2.column_sum %a : tensor<6x8xf32> -> tensor<8x2xf32>
  %q = gpt2.column_sum %a : tensor<6x8xf32> -> tensor<8x3xf32>
  gpt2.write @p, %p : tensor<8x2xf32>
  gpt2.write @q, %q : tensor<8x3xf32>
  return
}

// -----

gpt2.global state @p : tensor<1x4xf32>
gpt2.global state @q : tensor<1x4xf32>
gpt2.global state @r : tensor<1x4xf32>
gpt2.global state @n : tensor<1xf32>

// Sums of squares of all parameters are a long chain: kernels have a limited
// number of inputs.
// CHECK-LABEL: @chain
// CHECK: gpt2.fused row
// CHECK-COUNT-3: gpt2.column_finish
// CHECK: gpt2.yield
// CHECK-NOT: gpt2.fused
// FEW-LABEL: @chain
// FEW: gpt2.fused row
// FEW-COUNT-2: gpt2.column_finish
// FEW-NEXT: gpt2.yield
// FEW: gpt2.column_finish
// FEW-REMARK: Remark="'gpt2.column_finish' would make it 4 inputs, so it is not fused with 'gpt2.column_finish'"
func.func @chain() attributes {
    gpt2.program = #gpt2.program<role = update, batch = 1, tokens = 8>} {
  %p = gpt2.read @p : tensor<1x4xf32>
  %q = gpt2.read @q : tensor<1x4xf32>
  %r = gpt2.read @r : tensor<1x4xf32>
  %n = gpt2.read @n : tensor<1xf32>
  %0 = gpt2.column_finish %p into %n : tensor<1x4xf32>, tensor<1xf32>
  %1 = gpt2.column_finish %q into %0 : tensor<1x4xf32>, tensor<1xf32>
  %2 = gpt2.column_finish %r into %1 : tensor<1x4xf32>, tensor<1xf32>
  gpt2.write @n, %2 : tensor<1xf32>
  return
}
