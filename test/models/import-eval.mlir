// RUN: gpt2-opt %s --test-import-model="model=tiny eval=true batch=2 seq=16" | FileCheck %s
module {}

// CHECK: positions = 16
// CHECK-NOT: gpt2.global cache
// CHECK: gpt2.global state @eval_tokens : tensor<32xi32>
// CHECK-NEXT: gpt2.global state @targets : tensor<32xi32>
// CHECK-NEXT: gpt2.global state @logits : tensor<32x384xf32>
// CHECK-NEXT: gpt2.global state @losses : tensor<32xf32>
// CHECK-NEXT: func.func @eval() attributes {gpt2.program = #gpt2.program<role = eval, batch = 2, tokens = 16>}
// CHECK: gpt2.embed %eval_tokens, %wte.weight, %wpe.weight batch 2 : tensor<32xi32>
// CHECK: gpt2.attention %{{.*}} batch 2 heads 2 scale 0.176776692 : tensor<32x192xf32> -> tensor<32x64xf32>
// CHECK: %[[LOGITS:.*]] = gpt2.linear {{.*}}, %wte.weight {f32_result}
// CHECK-NEXT: %[[LOSSES:.*]] = gpt2.cross_entropy %[[LOGITS]], %targets vocab 257
// CHECK-NEXT: gpt2.write @logits, %[[LOGITS]]
// CHECK-NEXT: gpt2.write @losses, %[[LOSSES]]
// CHECK-NEXT: return
// CHECK-NOT: func.func
