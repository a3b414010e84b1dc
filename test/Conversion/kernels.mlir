// Equal kernels are one symbol whatever their rows; what nothing uses is not
// computed.
// RUN: gpt2-opt %s --convert-gpt2-to-plan | FileCheck %s

// CHECK: module attributes {plan.batch = 2 : i64, plan.mode = "generate", plan.precision = "fp32", plan.target = #plan<target cpu>}
gpt2.global parameter @gamma : tensor<8xf32> names ["g"]
gpt2.global state @prompt : tensor<6x8xf32>
gpt2.global state @x : tensor<2x8xf32>

// mean and rstd are unused: one output.
// CHECK: plan.kernel @layer_norm_8 "row" body {
// CHECK-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: tensor<?x8xf32>, %{{.*}}: tensor<1x8xf32>):
// CHECK: plan.yield %{{.*}} : tensor<?x8xf32>
// CHECK: plan.kernel @activation_add_8 "row" body {
// CHECK-NOT: plan.kernel

// CHECK-LABEL: plan.program prefill @prefill batch 1 tokens 6 {
func.func @prefill() attributes {gpt2.program = #gpt2.program<
    role = prefill, batch = 1, tokens = 6>} {
  %x = gpt2.read @prompt : tensor<6x8xf32>
  %g = gpt2.read @gamma : tensor<8xf32>
  // CHECK: plan.launch @layer_norm_8 rows 6 ins(%{{.*}}, %{{.*}} : memref<6x8xf32>, memref<8xf32>) outs(%[[Y:.*]] : memref<6x8xf32>)
  %y, %mean, %rstd = gpt2.layer_norm %x, %g, %g epsilon 1.0e-5
      : (tensor<6x8xf32>, tensor<8xf32>, tensor<8xf32>)
      -> (tensor<6x8xf32>, tensor<6x1xf32>, tensor<6x1xf32>)
  // CHECK: plan.launch @activation_add_8 rows 6 ins(%[[Y]] : memref<6x8xf32>)
  %z = gpt2.fused row (%a = %y : tensor<6x8xf32>) -> tensor<6x8xf32> {
    %0 = gpt2.activation relu %a : tensor<6x8xf32>
    %1 = gpt2.add %0, %0 : tensor<6x8xf32>
    gpt2.yield %1 : tensor<6x8xf32>
  }
  gpt2.write @prompt, %z : tensor<6x8xf32>
  return
}

// CHECK-LABEL: plan.program decode @decode_b2 batch 2 tokens 1 {
func.func @decode_b2() attributes {gpt2.program = #gpt2.program<
    role = decode, batch = 2, tokens = 1>} {
  %x = gpt2.read @x : tensor<2x8xf32>
  %g = gpt2.read @gamma : tensor<8xf32>
  // CHECK: plan.launch @layer_norm_8 rows 2
  %y, %mean, %rstd = gpt2.layer_norm %x, %g, %g epsilon 1.0e-5
      : (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>)
      -> (tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  // CHECK: plan.launch @activation_add_8 rows 2
  %z = gpt2.fused row (%a = %y : tensor<2x8xf32>) -> tensor<2x8xf32> {
    %0 = gpt2.activation relu %a : tensor<2x8xf32>
    %1 = gpt2.add %0, %0 : tensor<2x8xf32>
    gpt2.yield %1 : tensor<2x8xf32>
  }
  gpt2.write @x, %z : tensor<2x8xf32>
  return
}
