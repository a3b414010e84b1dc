// Programs for two lengths of sequences add to the same gradients, each over
// its first rows of the slots; one update.
// RUN: split-file %s %t
// RUN: gpt2-opt %t/two.mlir --build-training=row-blocks=4 | FileCheck %s
// RUN: gpt2-opt %t/two.mlir --build-training --remarks-filter=build-training -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: gpt2-opt %t/two.mlir --build-training --mixed-precision=precision=fp16 --canonicalize --cse --lean-storage | FileCheck %s --check-prefix=LEAN
// RUN: gpt2-opt %t/two.mlir --build-training=row-blocks=4 --chunk-lm-head=chunks=3 --canonicalize | FileCheck %s --check-prefix=CHUNKS
// RUN: not gpt2-opt %t/other.mlir --build-training 2>&1 | FileCheck %s --check-prefix=OTHER

// CHECK-COUNT-1: gpt2.global gradient @fc.grad
// CHECK-NOT: gpt2.global gradient @fc.grad
// CHECK-LABEL: @accumulate()
// CHECK: gpt2.cross_entropy_grad {{.*}} : tensor<6x128xf32>, tensor<6xi32> -> tensor<6xf32>, tensor<1x4xf32>
// CHECK: gpt2.embed_grad {{.*}} tensor<6xi32>
// CHECK: gpt2.write @fc.grad
// CHECK-LABEL: @update()
// CHECK-LABEL: @accumulate_t2()
// CHECK: %[[ORDER:.*]] = gpt2.read @order : tensor<2xi32>
// CHECK: gpt2.cross_entropy_grad {{.*}} : tensor<2x128xf32>, tensor<2xi32> -> tensor<2xf32>, tensor<1x2xf32>
// CHECK: %[[FC:.*]] = gpt2.weight_grad %{{.*}}, %{{.*}} into %fc.grad : tensor<2x8xf32>
// CHECK: gpt2.embed_grad %{{.*}}, %inputs order %[[ORDER]] into
// CHECK: gpt2.write @losses, %{{.*}} : tensor<2xf32>
// CHECK: gpt2.write @fc.grad, %[[FC]]
// CHECK-NOT: @update

// REMARK: Function=accumulate | {{.*}} parameters=3
// REMARK: Function=accumulate_t2 | {{.*}} parameters=3

// Both write the 16-bit gradient.
// LEAN: gpt2.global gradient @fc.grad : tensor<8x8xf16>
// LEAN-LABEL: @accumulate()
// LEAN: gpt2.write @fc.grad, %{{.*}} : tensor<8x8xf16>
// LEAN-LABEL: @accumulate_t2()
// LEAN-NOT: gpt2.read @fc.grad
// LEAN: gpt2.write @fc.grad, %{{.*}} : tensor<8x8xf16>

// Three chunks of 2 rows; those of the other are no larger.
// CHUNKS-LABEL: @accumulate()
// CHUNKS-COUNT-3: gpt2.cross_entropy_grad {{.*}} : tensor<2x128xf32>
// CHUNKS-LABEL: @accumulate_t2()
// CHUNKS-COUNT-1: gpt2.cross_entropy_grad {{.*}} : tensor<2x128xf32>
// CHUNKS-NOT: gpt2.cross_entropy_grad

// OTHER: error: {{.*}}'accumulate_t2' and 'accumulate' do not train the same parameters: only one has a gradient of 'fc'

//--- two.mlir
gpt2.global parameter @wte : tensor<128x8xf32> names ["wte"]
gpt2.global parameter @wpe : tensor<6x8xf32> names ["wpe"]
gpt2.global parameter @fc : tensor<8x8xf32> names ["fc"]
gpt2.global state @inputs : tensor<6xi32>
gpt2.global state @targets : tensor<6xi32>
gpt2.global state @order : tensor<6xi32>
gpt2.global state @losses : tensor<6xf32>
gpt2.global state @loss_sum : tensor<1xf32>
gpt2.global state @step_params : tensor<16xf32>
gpt2.global state @rng : tensor<4xi32>
gpt2.global state @train_state : tensor<8xf32>
func.func @accumulate() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 6>} {
  %inputs = gpt2.read @inputs : tensor<6xi32>
  %targets = gpt2.read @targets : tensor<6xi32>
  %wte = gpt2.read @wte : tensor<128x8xf32>
  %wpe = gpt2.read @wpe : tensor<6x8xf32>
  %fc = gpt2.read @fc : tensor<8x8xf32>
  %x = gpt2.embed %inputs, %wte, %wpe batch 1 : tensor<6xi32>, tensor<128x8xf32>, tensor<6x8xf32> -> tensor<6x8xf32>
  %h = gpt2.linear %x, %fc : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
  %logits = gpt2.linear %h, %wte : (tensor<6x8xf32>, tensor<128x8xf32>) -> tensor<6x128xf32>
  %losses = gpt2.cross_entropy %logits, %targets vocab 100 : (tensor<6x128xf32>, tensor<6xi32>) -> tensor<6xf32>
  gpt2.write @losses, %losses : tensor<6xf32>
  return
}
func.func @accumulate_t2() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 2>} {
  %inputs = gpt2.read @inputs : tensor<2xi32>
  %targets = gpt2.read @targets : tensor<2xi32>
  %wte = gpt2.read @wte : tensor<128x8xf32>
  %wpe = gpt2.read @wpe : tensor<6x8xf32>
  %fc = gpt2.read @fc : tensor<8x8xf32>
  %x = gpt2.embed %inputs, %wte, %wpe batch 1 : tensor<2xi32>, tensor<128x8xf32>, tensor<6x8xf32> -> tensor<2x8xf32>
  %h = gpt2.linear %x, %fc : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %logits = gpt2.linear %h, %wte : (tensor<2x8xf32>, tensor<128x8xf32>) -> tensor<2x128xf32>
  %losses = gpt2.cross_entropy %logits, %targets vocab 100 : (tensor<2x128xf32>, tensor<2xi32>) -> tensor<2xf32>
  gpt2.write @losses, %losses : tensor<2xf32>
  return
}

//--- other.mlir
gpt2.global parameter @wte : tensor<128x8xf32> names ["wte"]
gpt2.global parameter @wpe : tensor<6x8xf32> names ["wpe"]
gpt2.global parameter @fc : tensor<8x8xf32> names ["fc"]
gpt2.global state @inputs : tensor<6xi32>
gpt2.global state @targets : tensor<6xi32>
gpt2.global state @order : tensor<6xi32>
gpt2.global state @losses : tensor<6xf32>
gpt2.global state @loss_sum : tensor<1xf32>
gpt2.global state @step_params : tensor<16xf32>
gpt2.global state @rng : tensor<4xi32>
gpt2.global state @train_state : tensor<8xf32>
func.func @accumulate() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 6>} {
  %inputs = gpt2.read @inputs : tensor<6xi32>
  %targets = gpt2.read @targets : tensor<6xi32>
  %wte = gpt2.read @wte : tensor<128x8xf32>
  %wpe = gpt2.read @wpe : tensor<6x8xf32>
  %fc = gpt2.read @fc : tensor<8x8xf32>
  %x = gpt2.embed %inputs, %wte, %wpe batch 1 : tensor<6xi32>, tensor<128x8xf32>, tensor<6x8xf32> -> tensor<6x8xf32>
  %h = gpt2.linear %x, %fc : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
  %logits = gpt2.linear %h, %wte : (tensor<6x8xf32>, tensor<128x8xf32>) -> tensor<6x128xf32>
  %losses = gpt2.cross_entropy %logits, %targets vocab 100 : (tensor<6x128xf32>, tensor<6xi32>) -> tensor<6xf32>
  gpt2.write @losses, %losses : tensor<6xf32>
  return
}
func.func @accumulate_t2() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 2>} {
  %inputs = gpt2.read @inputs : tensor<2xi32>
  %targets = gpt2.read @targets : tensor<2xi32>
  %wte = gpt2.read @wte : tensor<128x8xf32>
  %wpe = gpt2.read @wpe : tensor<6x8xf32>
  %x = gpt2.embed %inputs, %wte, %wpe batch 1 : tensor<2xi32>, tensor<128x8xf32>, tensor<6x8xf32> -> tensor<2x8xf32>
  %logits = gpt2.linear %x, %wte : (tensor<2x8xf32>, tensor<128x8xf32>) -> tensor<2x128xf32>
  %losses = gpt2.cross_entropy %logits, %targets vocab 100 : (tensor<2x128xf32>, tensor<2xi32>) -> tensor<2xf32>
  gpt2.write @losses, %losses : tensor<2xf32>
  return
}
