// The arithmetic of every activation, in order.
// RUN: gpt2-opt %s --allow-unregistered-dialect --test-outline-kernels | FileCheck %s

func.func @all(%x: tensor<6x8xf32>) {
  // x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
  // CHECK-LABEL: func.func private @activation_0
  // CHECK: ^bb0(%[[X:.*]]: f32, %{{.*}}: f32):
  // CHECK: %[[X2:.*]] = arith.mulf %[[X]], %[[X]]
  // CHECK: %[[X3:.*]] = arith.mulf %[[X2]], %[[X]]
  // CHECK: %[[C:.*]] = arith.constant 4.471500e-02
  // CHECK: %[[T:.*]] = arith.mulf %[[X3]], %[[C]]
  // CHECK: %[[I:.*]] = arith.addf %[[T]], %[[X]]
  // CHECK: %[[R:.*]] = arith.constant 0.797884583
  // CHECK: %[[A:.*]] = arith.mulf %[[I]], %[[R]]
  // CHECK: %[[G:.*]] = math.tanh %[[A]]
  // CHECK: %[[ONE:.*]] = arith.constant 1.0
  // CHECK: %[[P:.*]] = arith.addf %[[G]], %[[ONE]]
  // CHECK: %[[HALF:.*]] = arith.constant 5.0
  // CHECK: %[[H:.*]] = arith.mulf %[[X]], %[[HALF]]
  // CHECK: %[[Y:.*]] = arith.mulf %[[H]], %[[P]]
  // CHECK: linalg.yield %[[Y]]
  %0 = gpt2.activation gelu_tanh %x : tensor<6x8xf32>
  "test.use"(%0) : (tensor<6x8xf32>) -> ()

  // x / 2 * (1 + erf(x / sqrt(2)))
  // CHECK-LABEL: func.func private @activation_1
  // CHECK: ^bb0(%[[X:.*]]: f32, %{{.*}}: f32):
  // CHECK: %[[R:.*]] = arith.constant 0.707106769
  // CHECK: %[[A:.*]] = arith.mulf %[[X]], %[[R]]
  // CHECK: math.erf %[[A]]
  %1 = gpt2.activation gelu_erf %x : tensor<6x8xf32>
  "test.use"(%1) : (tensor<6x8xf32>) -> ()

  // x / 2 * (1 + tanh(x * sqrt(2 / pi) * (1 + 0.044715 x * x)))
  // CHECK-LABEL: func.func private @activation_2
  // CHECK: ^bb0(%[[X:.*]]: f32, %{{.*}}: f32):
  // CHECK-DAG: %[[C:.*]] = arith.constant 4.471500e-02
  // CHECK-DAG: %[[CX:.*]] = arith.mulf %[[X]], %[[C]]
  // CHECK-DAG: %[[CX2:.*]] = arith.mulf %[[CX]], %[[X]]
  // CHECK: math.tanh
  %2 = gpt2.activation gelu_fast %x : tensor<6x8xf32>
  "test.use"(%2) : (tensor<6x8xf32>) -> ()

  // x / (1 + exp(-1.702 x))
  // CHECK-LABEL: func.func private @activation_3
  // CHECK: ^bb0(%[[X:.*]]: f32, %{{.*}}: f32):
  // CHECK: %[[C:.*]] = arith.constant -1.702
  // CHECK: %[[A:.*]] = arith.mulf %[[X]], %[[C]]
  // CHECK: %[[E:.*]] = math.exp %[[A]]
  // CHECK: %[[D:.*]] = arith.addf %[[E]]
  // CHECK: arith.divf %[[X]], %[[D]]
  %3 = gpt2.activation quick_gelu %x : tensor<6x8xf32>
  "test.use"(%3) : (tensor<6x8xf32>) -> ()

  // CHECK-LABEL: func.func private @activation_4
  // CHECK: %[[ZERO:.*]] = arith.constant 0.0
  // CHECK: arith.maximumf %{{.*}}, %[[ZERO]]
  %4 = gpt2.activation relu %x : tensor<6x8xf32>
  "test.use"(%4) : (tensor<6x8xf32>) -> ()

  // CHECK-LABEL: func.func private @activation_5
  // CHECK: %[[C:.*]] = arith.constant -1.0
  // CHECK: %[[A:.*]] = arith.mulf %[[X]], %[[C]]
  // CHECK: math.exp %[[A]]
  // CHECK: arith.divf
  %5 = gpt2.activation silu %x : tensor<6x8xf32>
  "test.use"(%5) : (tensor<6x8xf32>) -> ()

  // CHECK-LABEL: func.func private @activation_6
  // CHECK: ^bb0(%[[X:.*]]: f32, %{{.*}}: f32):
  // CHECK-NEXT: %[[T:.*]] = math.tanh %[[X]]
  // CHECK-NEXT: linalg.yield %[[T]]
  %6 = gpt2.activation tanh %x : tensor<6x8xf32>
  "test.use"(%6) : (tensor<6x8xf32>) -> ()
  return
}
