// The types of gradients: parameters' sums and the residual stream's are f32,
// others have the type of the activation that they belong to.
// RUN: gpt2-opt %s --mixed-precision=precision=bf16 | FileCheck %s

gpt2.global state @x : tensor<6x8xf32>
gpt2.global state @d : tensor<6x8xf32>
gpt2.global state @w : tensor<128x8xf32>
gpt2.global state @g : tensor<8xf32>
gpt2.global state @t : tensor<6xi32>
gpt2.global state @params : tensor<16xf32>
gpt2.global state @state : tensor<8xf32>
gpt2.global state @loss : tensor<1xf32>
gpt2.global state @losses : tensor<6xf32>
gpt2.global gradient @dw : tensor<128x8xf32>
gpt2.global gradient @dg : tensor<8xf32>
gpt2.global state @qkv : tensor<6x24xf32>

// CHECK-LABEL: @head
func.func @head() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 6>} {
  %x = gpt2.read @x : tensor<6x8xf32>
  %w = gpt2.read @w : tensor<128x8xf32>
  %g = gpt2.read @g : tensor<8xf32>
  %t = gpt2.read @t : tensor<6xi32>
  %params = gpt2.read @params : tensor<16xf32>
  %state = gpt2.read @state : tensor<8xf32>
  %loss = gpt2.read @loss : tensor<1xf32>
  %dw = gpt2.read @dw : tensor<128x8xf32>
  %dg = gpt2.read @dg : tensor<8xf32>
  %low = gpt2.cast %w : tensor<128x8xf32> to tensor<128x8xbf16>
  // CHECK: %[[Y:.*]], %[[M:.*]], %[[R:.*]] = gpt2.layer_norm
  // CHECK: %[[YL:.*]] = gpt2.cast %[[Y]] : tensor<6x8xf32> to tensor<6x8xbf16>
  %y, %m, %r = gpt2.layer_norm %x, %g, %g epsilon 1.0e-5 : (tensor<6x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<6x8xf32>, tensor<6x1xf32>, tensor<6x1xf32>)
  // CHECK: %[[LOGITS:.*]] = gpt2.linear %[[YL]], {{.*}} -> tensor<6x128xbf16>
  %yl = gpt2.cast %y : tensor<6x8xf32> to tensor<6x8xbf16>
  %logits = gpt2.linear %yl, %low : (tensor<6x8xbf16>, tensor<128x8xbf16>) -> tensor<6x128xbf16>
  // The gradient takes the logits' place; sums of losses are f32.
  // CHECK: %[[LOSSES:.*]], %[[TOTAL:.*]], %[[DL:.*]] = gpt2.cross_entropy_grad %[[LOGITS]], {{.*}} : tensor<6x128xbf16>, tensor<6xi32> -> tensor<6xf32>, tensor<1x2xf32>
  %losses, %total, %dl = gpt2.cross_entropy_grad %logits, %t, %params, %state vocab 100 : tensor<6x128xbf16>, tensor<6xi32> -> tensor<6xf32>, tensor<1x2xf32>
  %sum = gpt2.column_finish %total into %loss : tensor<1x2xf32>, tensor<1xf32>
  // CHECK: %[[DY:.*]] = gpt2.input_grad %[[DL]], {{.*}} -> tensor<6x8xbf16>
  %dy = gpt2.input_grad %dl, %low : (tensor<6x128xbf16>, tensor<128x8xbf16>) -> tensor<6x8xbf16>
  // CHECK: gpt2.weight_grad %[[DL]], %[[YL]] into %dw : tensor<6x128xbf16>, tensor<6x8xbf16>, tensor<128x8xf32>
  %dw1 = gpt2.weight_grad %dl, %yl into %dw : tensor<6x128xbf16>, tensor<6x8xbf16>, tensor<128x8xf32>
  // The norm's gradient is read as it is.
  // CHECK-NOT: gpt2.cast
  // CHECK: %[[DX:.*]], %[[DG:.*]], %{{.*}} = gpt2.layer_norm_grad %[[DY]], %x, %g, %[[M]], %[[R]] : {{.*}} -> (tensor<6x8xf32>, tensor<8x2xf32>, tensor<8x2xf32>)
  // CHECK: gpt2.column_sum %[[DY]] : tensor<6x8xbf16> -> tensor<8x2xf32>
  %dx, %dgp, %dbp = gpt2.layer_norm_grad %dy, %x, %g, %m, %r : (tensor<6x8xbf16>, tensor<6x8xf32>, tensor<8xf32>, tensor<6x1xf32>, tensor<6x1xf32>) -> (tensor<6x8xf32>, tensor<8x2xf32>, tensor<8x2xf32>)
  %cs = gpt2.column_sum %dy : tensor<6x8xbf16> -> tensor<8x2xf32>
  %dg1 = gpt2.column_finish %dgp into %dg : tensor<8x2xf32>, tensor<8xf32>
  %dg2 = gpt2.column_finish %cs into %dg1 : tensor<8x2xf32>, tensor<8xf32>
  gpt2.write @losses, %losses : tensor<6xf32>
  gpt2.write @loss, %sum : tensor<1xf32>
  gpt2.write @dw, %dw1 : tensor<128x8xf32>
  gpt2.write @dg, %dg2 : tensor<8xf32>
  gpt2.write @x, %dx : tensor<6x8xf32>
  return
}

// The log-sum-exp stays f32, and the gradient of a branch of the residual
// stream is rounded for the products.
// CHECK-LABEL: @layer
func.func @layer() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 6>} {
  %qkv = gpt2.read @qkv : tensor<6x24xf32>
  %d = gpt2.read @d : tensor<6x8xf32>
  // CHECK-DAG: %[[DL:.*]] = gpt2.cast %d : tensor<6x8xf32> to tensor<6x8xbf16>
  // CHECK-DAG: %[[Q:.*]] = gpt2.cast %qkv : tensor<6x24xf32> to tensor<6x24xbf16>
  // CHECK: %[[OUT:.*]], %[[LSE:.*]] = gpt2.attention %[[Q]] {{.*}} : tensor<6x24xbf16> -> tensor<6x8xbf16>, tensor<6x2xf32>
  %a, %lse = gpt2.attention %qkv batch 1 heads 2 scale 0.5 : tensor<6x24xf32> -> tensor<6x8xf32>, tensor<6x2xf32>
  // CHECK: gpt2.attention_grad %[[Q]], %[[OUT]], %[[LSE]], %[[DL]] {{.*}} : tensor<6x24xbf16>, tensor<6x8xbf16>, tensor<6x2xf32>
  %dq = gpt2.attention_grad %qkv, %a, %lse, %d batch 1 heads 2 scale 0.5 : tensor<6x24xf32>, tensor<6x8xf32>, tensor<6x2xf32>
  gpt2.write @qkv, %dq : tensor<6x24xf32>
  return
}
