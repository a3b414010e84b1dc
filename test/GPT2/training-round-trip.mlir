// Every training op survives printing and parsing, in its short and in its
// generic form.
// RUN: gpt2-opt %s | gpt2-opt | FileCheck %s
// RUN: gpt2-opt %s --mlir-print-op-generic | gpt2-opt | FileCheck %s

// CHECK: gpt2.global gradient @w.grad : tensor<24x8xf32>
gpt2.global gradient @w.grad : tensor<24x8xf32>
// CHECK: gpt2.global moment @w.m : tensor<24x8xf32>
gpt2.global moment @w.m : tensor<24x8xf32>
gpt2.global moment @w.v : tensor<24x8xf32>
gpt2.global parameter @w : tensor<24x8xf32> names ["w"]
gpt2.global parameter @w.low : tensor<24x8xbf16> names ["w"]
gpt2.global gradient @norm_sq : tensor<1xf32>
gpt2.global state @step_params : tensor<16xf32>
gpt2.global state @train_state : tensor<8xf32>

// CHECK-LABEL: @forward
func.func @forward(%x: tensor<6x8xbf16>, %qkv: tensor<6x24xbf16>,
                   %rng: tensor<4xi32>) {
  // CHECK: %[[K:.*]]:2 = gpt2.dropout_keys %arg2 ids [0, 3] : tensor<1xi32>, tensor<1xi32>
  %k0, %k3 = gpt2.dropout_keys %rng ids [0, 3] : tensor<1xi32>, tensor<1xi32>
  // CHECK: gpt2.dropout %arg0, %arg2, %[[K]]#1 probability 1.000000e-01 batch 2 : tensor<6x8xbf16>
  %d = gpt2.dropout %x, %rng, %k3 probability 0.1 batch 2 : tensor<6x8xbf16>
  // CHECK: gpt2.attention %arg1 batch 2 heads 2 scale 5.000000e-01 : tensor<6x24xbf16> -> tensor<6x8xbf16>, tensor<6x2xf32>
  %a, %lse = gpt2.attention %qkv batch 2 heads 2 scale 0.5
      : tensor<6x24xbf16> -> tensor<6x8xbf16>, tensor<6x2xf32>
  // CHECK: gpt2.attention %arg1 rng %arg2 dropout 2.500000e-01 id 4 batch 2 heads 2 scale 5.000000e-01 : tensor<6x24xbf16> -> tensor<6x8xbf16>, tensor<6x2xf32>
  %b, %lse_b = gpt2.attention %qkv rng %rng dropout 0.25 id 4
      batch 2 heads 2 scale 0.5
      : tensor<6x24xbf16> -> tensor<6x8xbf16>, tensor<6x2xf32>
  return
}

// CHECK-LABEL: @gradients
func.func @gradients(%x: tensor<6x8xbf16>, %qkv: tensor<6x24xbf16>,
                     %lse: tensor<6x2xf32>, %rng: tensor<4xi32>,
                     %r: tensor<6x8xf32>, %gamma: tensor<8xf32>,
                     %mean: tensor<6x1xf32>, %w: tensor<24x8xbf16>,
                     %acc: tensor<24x8xf32>, %sums: tensor<8xf32>,
                     %tokens: tensor<6xi32>, %wte: tensor<128x8xf32>,
                     %wpe: tensor<16x8xf32>) {
  // CHECK: gpt2.attention_grad %arg1, %arg0, %arg2, %arg0 batch 2 heads 2 scale 5.000000e-01 : tensor<6x24xbf16>, tensor<6x8xbf16>, tensor<6x2xf32>
  %a = gpt2.attention_grad %qkv, %x, %lse, %x batch 2 heads 2 scale 0.5
      : tensor<6x24xbf16>, tensor<6x8xbf16>, tensor<6x2xf32>
  // CHECK: gpt2.attention_grad %arg1, %arg0, %arg2, %arg0 rng %arg3 dropout 2.500000e-01 id 4 batch 2 heads 2 scale 5.000000e-01 :
  %b = gpt2.attention_grad %qkv, %x, %lse, %x rng %rng dropout 0.25 id 4
      batch 2 heads 2 scale 0.5
      : tensor<6x24xbf16>, tensor<6x8xbf16>, tensor<6x2xf32>
  // CHECK: gpt2.layer_norm_grad %arg0, %arg4, %arg5, %arg6, %arg6 : (tensor<6x8xbf16>, tensor<6x8xf32>, tensor<8xf32>, tensor<6x1xf32>, tensor<6x1xf32>) -> (tensor<6x8xf32>, tensor<8x2xf32>, tensor<8x2xf32>)
  %dx, %dgamma, %dbeta = gpt2.layer_norm_grad %x, %r, %gamma, %mean, %mean
      : (tensor<6x8xbf16>, tensor<6x8xf32>, tensor<8xf32>, tensor<6x1xf32>, tensor<6x1xf32>)
      -> (tensor<6x8xf32>, tensor<8x2xf32>, tensor<8x2xf32>)
  // CHECK: gpt2.slice_rows %arg0 from 2 : tensor<6x8xbf16> -> tensor<3x8xbf16>
  %slice = gpt2.slice_rows %x from 2 : tensor<6x8xbf16> -> tensor<3x8xbf16>
  // CHECK: gpt2.concat_rows %{{.*}}, %arg0 : (tensor<3x8xbf16>, tensor<6x8xbf16>) -> tensor<9x8xbf16>
  %concat = gpt2.concat_rows %slice, %x
      : (tensor<3x8xbf16>, tensor<6x8xbf16>) -> tensor<9x8xbf16>
  // CHECK: gpt2.concat_rows %arg5, %arg5 : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  %vectors = gpt2.concat_rows %gamma, %gamma
      : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  // CHECK: gpt2.cross_entropy %arg4, %arg10 from 0 vocab 5 : (tensor<6x8xf32>, tensor<6xi32>) -> tensor<6xf32>
  %part = gpt2.cross_entropy %r, %tokens from 0 vocab 5
      : (tensor<6x8xf32>, tensor<6xi32>) -> tensor<6xf32>
  // CHECK: gpt2.normalize %arg4, %arg6, %arg6, %arg5, %arg5 : (tensor<6x8xf32>, tensor<6x1xf32>, tensor<6x1xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<6x8xbf16>
  %n = gpt2.normalize %r, %mean, %mean, %gamma, %gamma
      : (tensor<6x8xf32>, tensor<6x1xf32>, tensor<6x1xf32>, tensor<8xf32>, tensor<8xf32>)
      -> tensor<6x8xbf16>
  // CHECK: gpt2.input_grad %arg1, %arg7 : (tensor<6x24xbf16>, tensor<24x8xbf16>) -> tensor<6x8xbf16>
  %i = gpt2.input_grad %qkv, %w
      : (tensor<6x24xbf16>, tensor<24x8xbf16>) -> tensor<6x8xbf16>
  // CHECK: gpt2.weight_grad %arg1, %arg0 into %arg8 : tensor<6x24xbf16>, tensor<6x8xbf16>, tensor<24x8xf32>
  %g = gpt2.weight_grad %qkv, %x into %acc
      : tensor<6x24xbf16>, tensor<6x8xbf16>, tensor<24x8xf32>
  // CHECK: %[[P:.*]] = gpt2.column_sum %arg0 : tensor<6x8xbf16> -> tensor<8x2xf32>
  %p = gpt2.column_sum %x : tensor<6x8xbf16> -> tensor<8x2xf32>
  // CHECK: gpt2.column_sum %arg9 : tensor<8xf32> -> tensor<1x4xf32>
  %q = gpt2.column_sum %sums : tensor<8xf32> -> tensor<1x4xf32>
  // CHECK: gpt2.column_finish %[[P]] into %arg9 : tensor<8x2xf32>, tensor<8xf32>
  %f = gpt2.column_finish %p into %sums : tensor<8x2xf32>, tensor<8xf32>
  // CHECK: gpt2.activation_grad gelu_tanh %arg0, %arg0 : tensor<6x8xbf16>
  %h = gpt2.activation_grad gelu_tanh %x, %x : tensor<6x8xbf16>
  // CHECK: gpt2.embed_grad %arg4, %arg10 order %arg10 into %arg11, %arg12 batch 2 : tensor<6x8xf32>, tensor<6xi32>, tensor<128x8xf32>, tensor<16x8xf32>
  %dwte, %dwpe = gpt2.embed_grad %r, %tokens order %tokens into %wte, %wpe
      batch 2
      : tensor<6x8xf32>, tensor<6xi32>, tensor<128x8xf32>, tensor<16x8xf32>
  return
}

// CHECK-LABEL: @loss
func.func @loss(%logits: tensor<6x128xbf16>, %targets: tensor<6xi32>,
                %params: tensor<16xf32>, %state: tensor<8xf32>) {
  // CHECK: gpt2.cross_entropy_grad %arg0, %arg1, %arg2, %arg3 vocab 100 : tensor<6x128xbf16>, tensor<6xi32> -> tensor<6xf32>, tensor<1x2xf32>
  %losses, %total, %dlogits = gpt2.cross_entropy_grad %logits, %targets,
      %params, %state vocab 100
      : tensor<6x128xbf16>, tensor<6xi32> -> tensor<6xf32>, tensor<1x2xf32>
  return
}

// An update program may write parameters.
// CHECK-LABEL: @update
func.func @update() attributes {
    gpt2.program = #gpt2.program<role = update, batch = 2, tokens = 3>} {
  %p = gpt2.read @w : tensor<24x8xf32>
  %m = gpt2.read @w.m : tensor<24x8xf32>
  %v = gpt2.read @w.v : tensor<24x8xf32>
  %g = gpt2.read @w.grad : tensor<24x8xf32>
  %norm = gpt2.read @norm_sq : tensor<1xf32>
  %params = gpt2.read @step_params : tensor<16xf32>
  %state = gpt2.read @train_state : tensor<8xf32>
  // CHECK: %[[S:.*]] = gpt2.square_sum %w.grad, %train_state : tensor<24x8xf32> -> tensor<1x4xf32>
  %s = gpt2.square_sum %g, %state : tensor<24x8xf32> -> tensor<1x4xf32>
  // CHECK: %[[N:.*]] = gpt2.column_finish %[[S]] into %norm_sq : tensor<1x4xf32>, tensor<1xf32>
  %n = gpt2.column_finish %s into %norm : tensor<1x4xf32>, tensor<1xf32>
  // CHECK: gpt2.column_finish %[[S]] : tensor<1x4xf32>{{$}}
  %alone = gpt2.column_finish %s : tensor<1x4xf32>
  // CHECK: %[[NEW:.*]] = gpt2.step_state %[[N]], %step_params, %train_state {dynamic}{{$}}
  %new = gpt2.step_state %n, %params, %state {dynamic}
  // CHECK: %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[LOW:.*]] = gpt2.adamw %w, %w.m, %w.v, %w.grad, %step_params, %[[NEW]] {decay} : tensor<24x8xf32> -> tensor<24x8xbf16>
  %p1, %m1, %v1, %g1, %low = gpt2.adamw %p, %m, %v, %g, %params, %new {decay}
      : tensor<24x8xf32> -> tensor<24x8xbf16>
  gpt2.write @w, %p1 : tensor<24x8xf32>
  gpt2.write @w.m, %m1 : tensor<24x8xf32>
  gpt2.write @w.v, %v1 : tensor<24x8xf32>
  gpt2.write @w.grad, %g1 : tensor<24x8xf32>
  // CHECK: gpt2.write @w.low, %[[LOW]] : tensor<24x8xbf16>
  gpt2.write @w.low, %low : tensor<24x8xbf16>
  gpt2.write @train_state, %new : tensor<8xf32>
  return
}

// CHECK-LABEL: @vector
func.func @vector(%p: tensor<8xf32>, %params: tensor<16xf32>,
                  %state: tensor<8xf32>) {
  // CHECK: gpt2.square_sum %arg0, %arg2 : tensor<8xf32> -> tensor<1x2xf32>
  %s = gpt2.square_sum %p, %state : tensor<8xf32> -> tensor<1x2xf32>
  // CHECK: gpt2.adamw %arg0, %arg0, %arg0, %arg0, %arg1, %arg2 : tensor<8xf32>{{$}}
  %0:4 = gpt2.adamw %p, %p, %p, %p, %params, %state : tensor<8xf32>
  return
}

// A column result leaves the region that computes it.
// CHECK-LABEL: @fused
func.func @fused(%dy: tensor<6x8xf32>, %x: tensor<6x8xf32>) {
  // CHECK: gpt2.fused row ({{.*}}) -> (tensor<6x8xf32>, tensor<8x2xf32>) {
  %dx, %sum = gpt2.fused row (%a = %dy : tensor<6x8xf32>, %b = %x : tensor<6x8xf32>)
      -> (tensor<6x8xf32>, tensor<8x2xf32>) {
    %0 = gpt2.activation_grad relu %a, %b : tensor<6x8xf32>
    %1 = gpt2.column_sum %0 : tensor<6x8xf32> -> tensor<8x2xf32>
    gpt2.yield %0, %1 : tensor<6x8xf32>, tensor<8x2xf32>
  }
  // Its rows are those of what it sums, not of its result.
  // CHECK: gpt2.fused row ({{.*}}) -> (tensor<8x2xf32>, tensor<6x8xf32>) {
  %sum2, %dx2 = gpt2.fused row (%a = %dy : tensor<6x8xf32>)
      -> (tensor<8x2xf32>, tensor<6x8xf32>) {
    %1 = gpt2.column_sum %a : tensor<6x8xf32> -> tensor<8x2xf32>
    %0 = gpt2.activation relu %a : tensor<6x8xf32>
    gpt2.yield %1, %0 : tensor<8x2xf32>, tensor<6x8xf32>
  }
  return
}
