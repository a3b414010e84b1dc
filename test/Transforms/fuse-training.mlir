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

// -----

gpt2.global state @x : tensor<6x8xf32>
gpt2.global state @w : tensor<8x8xf32>
gpt2.global state @y : tensor<6x8xf32>
gpt2.global state @z : tensor<6x8xf32>

// The gradient of the activation reads what the cast reads, too, and neither
// needs the other; but it belongs to the backward half, behind a product.
// CHECK-LABEL: @directions
// CHECK: gpt2.fused row
// CHECK-NEXT: gpt2.activation relu
// CHECK-NEXT: gpt2.activation tanh
// CHECK-NEXT: gpt2.yield
// CHECK: gpt2.linear
// CHECK: gpt2.activation_grad
// REMARK: Function=directions | Remark="'gpt2.activation_grad' lies beyond 'gpt2.linear', so it is not fused with 'gpt2.activation'"
func.func @directions() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 6>} {
  %x = gpt2.read @x : tensor<6x8xf32>
  %w = gpt2.read @w : tensor<8x8xf32>
  %a = gpt2.activation relu %x : tensor<6x8xf32>
  %b = gpt2.activation tanh %a : tensor<6x8xf32>
  %l = gpt2.linear %x, %w : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
  %d = gpt2.activation_grad relu %l, %a : tensor<6x8xf32>
  gpt2.write @x, %l : tensor<6x8xf32>
  gpt2.write @y, %b : tensor<6x8xf32>
  gpt2.write @z, %d : tensor<6x8xf32>
  return
}

// -----

gpt2.global state @dn : tensor<6x8xbf16>
gpt2.global state @dr : tensor<6x8xf32>
gpt2.global state @x : tensor<6x8xf32>
gpt2.global state @mean : tensor<6x1xf32>
gpt2.global state @rng : tensor<4xi32>
gpt2.global state @key : tensor<1xi32>
gpt2.global state @g : tensor<8xf32>
gpt2.global state @branch : tensor<6x8xbf16>
gpt2.global gradient @dg : tensor<8xf32>
gpt2.global gradient @db : tensor<8xf32>
gpt2.global gradient @dw : tensor<8x8xf32>

// A norm's gradient goes into the residual stream's, which is dropped, summed
// up and rounded for the next branch: one kernel. What finishes its sums
// follows it, and all else keeps its place.
// CHECK-LABEL: @residual
// CHECK: %[[OTHER:.*]] = gpt2.activation relu %dw
// CHECK-NEXT: %[[OUT:.*]]:5 = gpt2.fused row {{.*}} -> (tensor<6x8xf32>, tensor<8x2xf32>, tensor<6x8xf32>, tensor<6x8xbf16>, tensor<8x2xf32>) {
// CHECK-NEXT: gpt2.layer_norm_grad
// CHECK-NEXT: gpt2.add
// CHECK-NEXT: gpt2.dropout
// CHECK-NEXT: gpt2.cast
// CHECK-NEXT: gpt2.column_sum
// CHECK-NEXT: gpt2.yield
// CHECK-NEXT: }
// CHECK-NEXT: gpt2.column_finish %[[OUT]]#1 into %dg
// CHECK-NEXT: gpt2.column_finish %[[OUT]]#4 into %db
// CHECK-NEXT: gpt2.weight_grad %[[OUT]]#3
// REMARK: Function=residual | Remark="row region of layer_norm_grad add dropout cast column_sum"
func.func @residual() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 6>} {
  %dn = gpt2.read @dn : tensor<6x8xbf16>
  %dr = gpt2.read @dr : tensor<6x8xf32>
  %x = gpt2.read @x : tensor<6x8xf32>
  %mean = gpt2.read @mean : tensor<6x1xf32>
  %rng = gpt2.read @rng : tensor<4xi32>
  %key = gpt2.read @key : tensor<1xi32>
  %g = gpt2.read @g : tensor<8xf32>
  %dg = gpt2.read @dg : tensor<8xf32>
  %db = gpt2.read @db : tensor<8xf32>
  %dw = gpt2.read @dw : tensor<8x8xf32>
  %branch = gpt2.read @branch : tensor<6x8xbf16>
  %dx, %gp, %bp = gpt2.layer_norm_grad %dn, %x, %g, %mean, %mean : (tensor<6x8xbf16>, tensor<6x8xf32>, tensor<8xf32>, tensor<6x1xf32>, tensor<6x1xf32>) -> (tensor<6x8xf32>, tensor<8x2xf32>, tensor<8x2xf32>)
  %s = gpt2.add %dr, %dx : tensor<6x8xf32>
  %dg1 = gpt2.column_finish %gp into %dg : tensor<8x2xf32>, tensor<8xf32>
  %other = gpt2.activation relu %dw : tensor<8x8xf32>
  %d = gpt2.dropout %s, %rng, %key probability 0.1 batch 1 : tensor<6x8xf32>
  %l = gpt2.cast %d : tensor<6x8xf32> to tensor<6x8xbf16>
  %cs = gpt2.column_sum %d : tensor<6x8xf32> -> tensor<8x2xf32>
  %db1 = gpt2.column_finish %cs into %db : tensor<8x2xf32>, tensor<8xf32>
  %dw1 = gpt2.weight_grad %l, %branch into %other : tensor<6x8xbf16>, tensor<6x8xbf16>, tensor<8x8xf32>
  gpt2.write @x, %dx : tensor<6x8xf32>
  gpt2.write @dr, %s : tensor<6x8xf32>
  gpt2.write @dg, %dg1 : tensor<8xf32>
  gpt2.write @db, %db1 : tensor<8xf32>
  gpt2.write @dw, %dw1 : tensor<8x8xf32>
  return
}
