// Which regions are formed, what leaves them, and why a neighbour stays outside.
// RUN: gpt2-opt %s --fuse --split-input-file | FileCheck %s
// RUN: gpt2-opt %s --fuse --split-input-file --remarks-filter=fuse -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

gpt2.global parameter @w : tensor<8x8xf32> names ["w"]
gpt2.global parameter @g : tensor<8xf32> names ["g"]
gpt2.global state @x : tensor<6x8xf32>
gpt2.global state @y : tensor<6x8xbf16>

// The sum is used by the norm and by the caller, so the region has two
// results; the mean and rstd that nobody uses do not leave it. The vector is
// read twice in one form and passed once.
// CHECK-LABEL: @two_results
// CHECK: %[[OUT:.*]]:2 = gpt2.fused row (%[[B:.*]] = %y : tensor<6x8xbf16>, %[[A:.*]] = %x : tensor<6x8xf32>, %[[G:.*]] = %g : tensor<8xf32>) -> (tensor<6x8xf32>, tensor<6x8xbf16>) {
// CHECK-NEXT: %[[F:.*]] = gpt2.cast %[[B]]
// CHECK-NEXT: %[[S:.*]] = gpt2.add %[[A]], %[[F]]
// CHECK-NEXT: %[[N:.*]], %{{.*}}, %{{.*}} = gpt2.layer_norm %[[S]], %[[G]], %[[G]]
// CHECK-NEXT: %[[L:.*]] = gpt2.cast %[[N]]
// CHECK-NEXT: gpt2.yield %[[S]], %[[L]]
// CHECK: gpt2.write @x, %[[OUT]]#0
// CHECK: gpt2.write @y, %[[OUT]]#1
// REMARK: remark: [Passed] region-formed | Category:fuse | Function=two_results | Remark="row region of cast add layer_norm cast"
// REMARK: remark: [Analysis] regions | Category:fuse | Function=two_results | epilogue-ops=0, matvec-regions=0, ops-fused=4, prologue-ops=0, row-regions=1
func.func @two_results() attributes {
    gpt2.program = #gpt2.program<role = prefill, batch = 1, tokens = 6>} {
  %x = gpt2.read @x : tensor<6x8xf32>
  %y = gpt2.read @y : tensor<6x8xbf16>
  %g = gpt2.read @g : tensor<8xf32>
  %f = gpt2.cast %y : tensor<6x8xbf16> to tensor<6x8xf32>
  %s = gpt2.add %x, %f : tensor<6x8xf32>
  %n, %m, %r = gpt2.layer_norm %s, %g, %g epsilon 1.0e-5 : (tensor<6x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<6x8xf32>, tensor<6x1xf32>, tensor<6x1xf32>)
  %l = gpt2.cast %n : tensor<6x8xf32> to tensor<6x8xbf16>
  gpt2.write @x, %s : tensor<6x8xf32>
  gpt2.write @y, %l : tensor<6x8xbf16>
  return
}

// -----

gpt2.global parameter @w : tensor<8x8xf32> names ["w"]
gpt2.global state @x : tensor<6x8xf32>

// The second sum needs the linear, which needs the first one.
// CHECK-LABEL: @cycle
// CHECK: %[[R:.*]]:2 = gpt2.fused row
// CHECK-NEXT: gpt2.activation relu
// CHECK-NEXT: gpt2.activation tanh
// CHECK: %[[L:.*]] = gpt2.linear %[[R]]#1
// CHECK-NOT: gpt2.fused
// CHECK: gpt2.add %[[R]]#0, %[[L]]
// REMARK: remark: [Missed] stayed-outside | Category:fuse | Function=cycle | Remark="'gpt2.linear' is not decomposable, so it is not fused with 'gpt2.activation'"
// REMARK: remark: [Missed] stayed-outside | Category:fuse | Function=cycle | Remark="'gpt2.add' would form a cycle, so it is not fused with 'gpt2.activation'"
// REMARK: remark: [Passed] region-formed | Category:fuse | Function=cycle | Remark="row region of activation activation"
func.func @cycle() attributes {
    gpt2.program = #gpt2.program<role = prefill, batch = 1, tokens = 6>} {
  %x = gpt2.read @x : tensor<6x8xf32>
  %w = gpt2.read @w : tensor<8x8xf32>
  %a = gpt2.activation relu %x : tensor<6x8xf32>
  %b = gpt2.activation tanh %a : tensor<6x8xf32>
  %l = gpt2.linear %b, %w : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
  %s = gpt2.add %a, %l : tensor<6x8xf32>
  gpt2.write @x, %s : tensor<6x8xf32>
  return
}

// -----

gpt2.global parameter @g : tensor<8xf32> names ["g"]
gpt2.global state @x : tensor<6x8xf32>
gpt2.global state @one : tensor<1x8xf32>
gpt2.global state @count : tensor<1xi32>

// One row of six is another kernel.
// CHECK-LABEL: @rows
// CHECK: gpt2.activation relu
// CHECK: gpt2.fused row (%{{.*}} = %{{.*}} : tensor<6x8xf32>, %{{.*}} = %count : tensor<1xi32>, %{{.*}} = %g : tensor<8xf32>) -> tensor<1x8xf32> {
// CHECK-NEXT: gpt2.select_row
// CHECK-NEXT: gpt2.layer_norm
// REMARK: Function=rows | Remark="'gpt2.select_row' has 1 rows, not 6, so it is not fused with 'gpt2.activation'"
func.func @rows() attributes {
    gpt2.program = #gpt2.program<role = prefill, batch = 1, tokens = 6, count = @count>} {
  %x = gpt2.read @x : tensor<6x8xf32>
  %g = gpt2.read @g : tensor<8xf32>
  %count = gpt2.read @count : tensor<1xi32>
  %a = gpt2.activation relu %x : tensor<6x8xf32>
  %o = gpt2.select_row %a at %count : tensor<6x8xf32> -> tensor<1x8xf32>
  %n, %m, %r = gpt2.layer_norm %o, %g, %g epsilon 1.0e-5 : (tensor<1x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
  gpt2.write @one, %n : tensor<1x8xf32>
  return
}

// -----

gpt2.global parameter @b : tensor<16x8xf32> names ["b"]
gpt2.global state @x : tensor<1x8xf32>
gpt2.global state @tokens : tensor<1xi32>

// A value that another row reads must be in memory first.
// CHECK-LABEL: @table
// CHECK: gpt2.activation relu
// CHECK-NOT: gpt2.fused
// CHECK: gpt2.embed
// REMARK: Function=table | Remark="'gpt2.embed' needs all rows, so it is not fused with 'gpt2.activation'"
func.func @table() attributes {
    gpt2.program = #gpt2.program<role = decode, batch = 1, tokens = 1>} {
  %x = gpt2.read @x : tensor<1x8xf32>
  %b = gpt2.read @b : tensor<16x8xf32>
  %tokens = gpt2.read @tokens : tensor<1xi32>
  %a = gpt2.activation relu %x : tensor<1x8xf32>
  %e = gpt2.embed %tokens, %b, %a batch 1 : tensor<1xi32>, tensor<16x8xf32>, tensor<1x8xf32> -> tensor<1x8xf32>
  gpt2.write @x, %e : tensor<1x8xf32>
  return
}

// -----

gpt2.global state @x : tensor<6x8xf32>
gpt2.global state @y : tensor<6x8xf32>

// A producer joins too, where its consumer was reached from another side.
// CHECK-LABEL: @two_producers
// CHECK: gpt2.fused row
// CHECK-NEXT: gpt2.activation relu
// CHECK-NEXT: gpt2.activation silu
// CHECK-NEXT: gpt2.add
// CHECK-NEXT: gpt2.yield
// REMARK: Function=two_producers | epilogue-ops=0, matvec-regions=0, ops-fused=3, prologue-ops=0, row-regions=1
func.func @two_producers() attributes {
    gpt2.program = #gpt2.program<role = prefill, batch = 1, tokens = 6>} {
  %x = gpt2.read @x : tensor<6x8xf32>
  %y = gpt2.read @y : tensor<6x8xf32>
  %a = gpt2.activation relu %x : tensor<6x8xf32>
  %b = gpt2.activation silu %y : tensor<6x8xf32>
  %s = gpt2.add %a, %b : tensor<6x8xf32>
  gpt2.write @x, %s : tensor<6x8xf32>
  return
}

// -----

// Functions that are not programs are left alone.
// CHECK-LABEL: @no_program
// CHECK-NOT: gpt2.fused
func.func @no_program(%x : tensor<6x8xf32>) -> tensor<6x8xf32> {
  %a = gpt2.activation relu %x : tensor<6x8xf32>
  %b = gpt2.activation relu %a : tensor<6x8xf32>
  return %b : tensor<6x8xf32>
}
