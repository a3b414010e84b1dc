// The arithmetic of every activation, in order.
// RUN: gpt2-opt %s --allow-unregistered-dialect --test-outline-kernels | FileCheck %s

func.func @all(%x: tensor<6x8xf32>) {
  // x / 2 * (1 + tanh(u)) = x / (1 + exp(-2 u)),
  // u = x * sqrt(2 / pi) * (1 + 0.044715 x * x)
  // CHECK-LABEL: func.func private @activation_0
  // CHECK: ^bb0(%[[X:.*]]: f32, %{{.*}}: f32):
  // CHECK: %[[C:.*]] = arith.constant 4.471500e-02
  // CHECK: %[[CX:.*]] = arith.mulf %[[X]], %[[C]]
  // CHECK: %[[CX2:.*]] = arith.mulf %[[CX]], %[[X]]
  // CHECK: %[[R:.*]] = arith.constant -1.595769
  // CHECK: %[[XR:.*]] = arith.mulf %[[X]], %[[R]]
  // CHECK: %[[ONE:.*]] = arith.constant 1.0
  // CHECK: %[[S:.*]] = arith.addf %[[CX2]], %[[ONE]]
  // CHECK: %[[A:.*]] = arith.mulf %[[XR]], %[[S]]
  // CHECK: %[[E:.*]] = math.exp %[[A]]
  // CHECK: %[[D:.*]] = arith.addf %[[E]]
  // CHECK: %[[Y:.*]] = arith.divf %[[X]], %[[D]]
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

  // The same function.
  // CHECK-LABEL: func.func private @activation_2
  // CHECK: arith.constant -1.595769
  // CHECK: math.exp
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
