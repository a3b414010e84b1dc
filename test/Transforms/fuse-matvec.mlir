// matvec-rows: linears that take their neighbours along.
// RUN: gpt2-opt %s --fuse=matvec-rows=2 | FileCheck %s
// RUN: gpt2-opt %s --fuse=matvec-rows=2 --remarks-filter=fuse -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: gpt2-opt %s --fuse=matvec-rows=1 --remarks-filter=fuse -o /dev/null 2>&1 | FileCheck %s --check-prefix=LESS
// RUN: gpt2-opt %s --fuse | FileCheck %s --check-prefix=ROW

gpt2.global parameter @w : tensor<8x8xbf16> names ["w"]
gpt2.global parameter @b : tensor<8xf32> names ["b"]
gpt2.global parameter @head : tensor<128x8xbf16> names ["head"]
gpt2.global state @x : tensor<2x8xf32>
gpt2.global state @logits : tensor<2x128xf32>

// CHECK-LABEL: @decode_b2
// The norm and its rounding feed this linear alone; the activation follows.
// CHECK: %[[H:.*]] = gpt2.fused matvec (%{{.*}} = %x : tensor<2x8xf32>, %{{.*}} = %b : tensor<8xf32>, %{{.*}} = %w : tensor<8x8xbf16>) -> tensor<2x8xbf16> {
// CHECK-NEXT: gpt2.layer_norm
// CHECK-NEXT: gpt2.cast
// CHECK-NEXT: gpt2.linear
// CHECK-NEXT: gpt2.activation
// CHECK-NEXT: gpt2.yield
// The activation stays with the linear before it: no other block repeats it.
// CHECK: %[[S:.*]] = gpt2.fused matvec (%[[A:.*]] = %[[H]] : tensor<2x8xbf16>,
// CHECK-NEXT: gpt2.linear %[[A]]
// CHECK-NEXT: gpt2.cast
// CHECK-NEXT: gpt2.add
// CHECK-NEXT: gpt2.yield
// CHECK: gpt2.fused matvec (%[[B:.*]] = %[[S]] : tensor<2x8xf32>,
// CHECK-NEXT: gpt2.layer_norm %[[B]]
// CHECK-NEXT: gpt2.cast
// CHECK-NEXT: gpt2.linear {{.*}} {f32_result}
// CHECK-NEXT: gpt2.yield

// REMARK: region-formed | Category:fuse | Function=decode_b2 | Remark="matvec region of layer_norm cast linear activation"
// REMARK: Remark="'gpt2.layer_norm' needs the whole row, so it is not fused with 'gpt2.linear'"
// REMARK: Remark="matvec region of linear cast add"
// REMARK: Remark="'gpt2.fused' belongs to another region, so it is not fused with 'gpt2.linear'"
// REMARK: Remark="matvec region of layer_norm cast linear"
// REMARK: regions | {{.*}} epilogue-ops=3, matvec-regions=3, ops-fused=10, prologue-ops=4, row-regions=0

// LESS-COUNT-3: Remark="'gpt2.linear' of 2 rows exceeds matvec-rows=1"
// LESS: epilogue-ops=0, matvec-regions=0, ops-fused=6, prologue-ops=0, row-regions=2

// Without the option linears stay as they are, between row regions.
// ROW-LABEL: @decode_b2
// ROW: gpt2.fused row
// ROW-NEXT: gpt2.layer_norm
// ROW-NEXT: gpt2.cast
// ROW: gpt2.linear
// ROW: gpt2.activation
// ROW: gpt2.linear
// ROW: gpt2.fused row
// ROW-NEXT: gpt2.cast
// ROW-NEXT: gpt2.add
// ROW-NEXT: gpt2.layer_norm
// ROW-NEXT: gpt2.cast
// ROW: gpt2.linear
func.func @decode_b2() attributes {
    gpt2.program = #gpt2.program<role = decode, batch = 2, tokens = 1>} {
  %x = gpt2.read @x : tensor<2x8xf32>
  %w = gpt2.read @w : tensor<8x8xbf16>
  %b = gpt2.read @b : tensor<8xf32>
  %head = gpt2.read @head : tensor<128x8xbf16>
  %n, %m, %r = gpt2.layer_norm %x, %b, %b epsilon 1.0e-5 : (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  %c = gpt2.cast %n : tensor<2x8xf32> to tensor<2x8xbf16>
  %h = gpt2.linear %c, %w, %b : (tensor<2x8xbf16>, tensor<8x8xbf16>, tensor<8xf32>) -> tensor<2x8xbf16>
  %a = gpt2.activation gelu_tanh %h : tensor<2x8xbf16>
  %o = gpt2.linear %a, %w, %b : (tensor<2x8xbf16>, tensor<8x8xbf16>, tensor<8xf32>) -> tensor<2x8xbf16>
  %f = gpt2.cast %o : tensor<2x8xbf16> to tensor<2x8xf32>
  %s = gpt2.add %x, %f : tensor<2x8xf32>
  %n2, %m2, %r2 = gpt2.layer_norm %s, %b, %b epsilon 1.0e-5 : (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  %c2 = gpt2.cast %n2 : tensor<2x8xf32> to tensor<2x8xbf16>
  %logits = gpt2.linear %c2, %head {f32_result} : (tensor<2x8xbf16>, tensor<128x8xbf16>) -> tensor<2x128xf32>
  gpt2.write @x, %s : tensor<2x8xf32>
  gpt2.write @logits, %logits : tensor<2x128xf32>
  return
}

// A producer that is the weight too, or that other ops read, stays in memory;
// so does one that is dear to repeat.
// REMARK: Function=prologue | Remark="'gpt2.cast' is the weight too, so it is not fused with 'gpt2.linear'"
// REMARK: Function=prologue | Remark="'gpt2.activation' is too expensive to repeat in every block, so it is not fused with 'gpt2.linear'"
// REMARK: Function=prologue | Remark="'gpt2.activation' has other users, so it is not fused with 'gpt2.linear'"
// REMARK: Function=prologue | epilogue-ops=0, matvec-regions=0
gpt2.global state @square : tensor<2x2xf32>
gpt2.global state @square2 : tensor<2x2xf32>
gpt2.global state @square3 : tensor<2x2xf32>
gpt2.global state @square4 : tensor<2x2xf32>
func.func @prologue() attributes {
    gpt2.program = #gpt2.program<role = decode, batch = 2, tokens = 1>} {
  %x = gpt2.read @square : tensor<2x2xf32>
  %y = gpt2.read @square2 : tensor<2x2xf32>
  %c = gpt2.cast %x : tensor<2x2xf32> to tensor<2x2xbf16>
  %0 = gpt2.linear %c, %c {f32_result} : (tensor<2x2xbf16>, tensor<2x2xbf16>) -> tensor<2x2xf32>
  %a = gpt2.activation relu %y : tensor<2x2xf32>
  %1 = gpt2.linear %a, %x : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %b = gpt2.activation tanh %y : tensor<2x2xf32>
  %2 = gpt2.linear %b, %x : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  gpt2.write @square, %0 : tensor<2x2xf32>
  gpt2.write @square2, %1 : tensor<2x2xf32>
  gpt2.write @square3, %2 : tensor<2x2xf32>
  gpt2.write @square4, %b : tensor<2x2xf32>
  return
}
