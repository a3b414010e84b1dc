// lean-storage: products cast their weight from the master, and write 16-bit
// gradients.
// RUN: split-file %s %t
// RUN: gpt2-opt %t/train.mlir --build-training=row-blocks=2 --mixed-precision=precision=fp16 --canonicalize --cse --lean-storage | FileCheck %s
// RUN: gpt2-opt %t/train.mlir --build-training=row-blocks=2 --mixed-precision=precision=fp16 --canonicalize --cse --lean-storage --remarks-filter=lean-storage -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: gpt2-opt %t/train.mlir --build-training=row-blocks=2 --mixed-precision=precision=fp16 --canonicalize --cse --lean-storage --fuse --convert-gpt2-to-plan | FileCheck %s --check-prefix=PLAN
// RUN: not gpt2-opt %t/train.mlir --build-training --mixed-precision --lean-storage 2>&1 | FileCheck %s --check-prefix=PRECISION
// RUN: not gpt2-opt %t/train.mlir --mixed-precision=precision=bf16 --lean-storage 2>&1 | FileCheck %s --check-prefix=TRAINING

// PRECISION: error: lean-storage needs a module of the precision fp16 or bf16: run mixed-precision first
// TRAINING: error: lean-storage needs accumulate and update programs: run build-training first
// REMARK: storage-reduced | {{.*}} casts=6, gradients-narrowed=1, working-copies-dropped=3

// A product reads each matrix but the embedding's tables; the head's gradient
// joins the embedding's, so it is added up in f32.
// CHECK: module attributes {{.*}}gpt2.max_accumulation = 1 : i64
// CHECK-NOT: .low
// CHECK: gpt2.global gradient @wte.grad : tensor<128x8xf32>
// CHECK: gpt2.global gradient @fc.grad : tensor<8x8xf16>
// CHECK-LABEL: @accumulate
// CHECK: gpt2.embed %{{.*}}, %wte, %wpe batch 1 : tensor<4xi32>, tensor<128x8xf32>
// CHECK: %[[FC:.*]] = gpt2.cast %fc {gpt2.layer = 0 : i64} : tensor<8x8xf32> to tensor<8x8xf16>
// CHECK-NEXT: gpt2.linear %{{.*}}, %[[FC]] {gpt2.layer = 0 : i64}
// CHECK: %[[HEAD:.*]] = gpt2.cast %wte : tensor<128x8xf32> to tensor<128x8xf16>
// CHECK-NEXT: gpt2.linear %{{.*}}, %[[HEAD]]
// CHECK: gpt2.weight_grad {{.*}} into %wte.grad
// CHECK: %[[HEAD2:.*]] = gpt2.cast %wte : tensor<128x8xf32> to tensor<128x8xf16>
// CHECK-NEXT: gpt2.input_grad %{{.*}}, %[[HEAD2]]
// CHECK: %[[G:.*]] = gpt2.weight_grad %{{.*}}, %{{.*}} : tensor<4x8xf16>, tensor<4x8xf16>
// CHECK: gpt2.write @fc.grad, %[[G]] : tensor<8x8xf16>

// The step widens them again and clears nothing.
// CHECK-LABEL: @update
// CHECK: %[[WIDE:.*]] = gpt2.cast %fc.grad : tensor<8x8xf16> to tensor<8x8xf32>
// CHECK-NEXT: gpt2.square_sum %[[WIDE]]
// CHECK: %[[AGAIN:.*]] = gpt2.cast %fc.grad : tensor<8x8xf16> to tensor<8x8xf32>
// CHECK-NEXT: gpt2.adamw %fc, %fc.m, %fc.v, %[[AGAIN]], {{.*}} : tensor<8x8xf32>
// CHECK-NOT: gpt2.write @fc.grad

// PLAN: plan.max_accumulation = 1 : i64
// PLAN: plan.matmul
// PLAN: transpose_a

//--- train.mlir
gpt2.global parameter @wte : tensor<128x8xf32> names ["wte"]
gpt2.global parameter @wpe : tensor<4x8xf32> names ["wpe"]
gpt2.global parameter @fc : tensor<8x8xf32> names ["fc"]
gpt2.global state @inputs : tensor<4xi32>
gpt2.global state @targets : tensor<4xi32>
gpt2.global state @order : tensor<4xi32>
gpt2.global state @losses : tensor<4xf32>
gpt2.global state @loss_sum : tensor<1xf32>
gpt2.global state @step_params : tensor<16xf32>
gpt2.global state @rng : tensor<4xi32>
gpt2.global state @train_state : tensor<8xf32>
func.func @accumulate() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 4>} {
  %inputs = gpt2.read @inputs : tensor<4xi32>
  %targets = gpt2.read @targets : tensor<4xi32>
  %wte = gpt2.read @wte : tensor<128x8xf32>
  %wpe = gpt2.read @wpe : tensor<4x8xf32>
  %fc = gpt2.read @fc : tensor<8x8xf32>
  %x = gpt2.embed %inputs, %wte, %wpe batch 1 : tensor<4xi32>, tensor<128x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  %h = gpt2.linear %x, %fc {gpt2.layer = 0 : i64} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %logits = gpt2.linear %h, %wte : (tensor<4x8xf32>, tensor<128x8xf32>) -> tensor<4x128xf32>
  %losses = gpt2.cross_entropy %logits, %targets vocab 100 : (tensor<4x128xf32>, tensor<4xi32>) -> tensor<4xf32>
  gpt2.write @losses, %losses : tensor<4xf32>
  return
}
