// Trained parameters stay f32 and have working copies in the low type.
// RUN: gpt2-opt %s --build-training --mixed-precision=precision=bf16 | FileCheck %s --check-prefixes=CHECK,BF16 -DL=bf16
// RUN: gpt2-opt %s --build-training --mixed-precision=precision=fp16 --remarks-filter=mixed-precision 2>&1 | FileCheck %s --check-prefixes=CHECK,FP16 -DL=f16
// RUN: gpt2-opt %s --build-training --mixed-precision="precision=bf16 narrow-biases" | FileCheck %s --check-prefix=NARROW
// RUN: gpt2-opt %s --build-training --mixed-precision=precision=tf32 | FileCheck %s --check-prefix=WIDE
// RUN: sed 's/@losses/@w.low/' %s > %t && not gpt2-opt %t --build-training --mixed-precision=precision=bf16 2>&1 | FileCheck %s --check-prefix=TAKEN

// TAKEN: error: the symbol "w.low" is taken: 'w' has a working copy of that name
// FP16: [Analysis] types-chosen | Category:mixed-precision | caches=0, casts=4, parameters=1, working-copies=4

// WIDE-NOT: .low
// WIDE-NOT: dynamic

// A copy is loaded as its master is. What is not trained needs no master.
// CHECK: gpt2.global parameter @wte : tensor<128x8xf32> names ["wte"] source [100, 8]
// CHECK-NEXT: gpt2.global parameter @wte.low : tensor<128x8x[[L]]> names ["wte"] source [100, 8]
// CHECK-NEXT: gpt2.global parameter @wpe : tensor<16x8xf32>
// CHECK-NEXT: gpt2.global parameter @wpe.low : tensor<16x8x[[L]]>
// CHECK-NEXT: gpt2.global parameter @g : tensor<8xf32>
// CHECK-NEXT: gpt2.global parameter @w : tensor<8x8xf32> names ["w"] transpose
// CHECK-NEXT: gpt2.global parameter @w.low : tensor<8x8x[[L]]> names ["w"] transpose
// CHECK-NEXT: gpt2.global parameter @wb : tensor<8xf32>
// CHECK-NEXT: gpt2.global parameter @p : tensor<8x8xf32>
// CHECK-NEXT: gpt2.global parameter @p.low : tensor<8x8x[[L]]>
// CHECK-NEXT: gpt2.global parameter @pb : tensor<8xf32>
// CHECK-NEXT: gpt2.global parameter @idle : tensor<8x8x[[L]]>
// CHECK: gpt2.global gradient @wte.grad : tensor<128x8xf32>
// CHECK: gpt2.global moment @wte.m : tensor<128x8xf32>
gpt2.global parameter @wte : tensor<128x8xf32> names ["wte"] source [100, 8]
gpt2.global parameter @wpe : tensor<16x8xf32> names ["wpe"]
gpt2.global parameter @g : tensor<8xf32> names ["g"]
gpt2.global parameter @w : tensor<8x8xf32> names ["w"] transpose
gpt2.global parameter @wb : tensor<8xf32> names ["wb"]
gpt2.global parameter @p : tensor<8x8xf32> names ["p"]
gpt2.global parameter @pb : tensor<8xf32> names ["pb"]
gpt2.global parameter @idle : tensor<8x8xf32> names ["idle"]
gpt2.global state @inputs : tensor<4xi32>
gpt2.global state @targets : tensor<4xi32>
gpt2.global state @order : tensor<4xi32>
gpt2.global state @losses : tensor<4xf32>
gpt2.global state @loss_sum : tensor<1xf32>
gpt2.global state @step_params : tensor<16xf32>
gpt2.global state @train_state : tensor<8xf32>

// Only the bias of a result that is rounded is needed in the low type.
// NARROW: gpt2.global parameter @wb : tensor<8xf32> names ["wb"]
// NARROW-NEXT: gpt2.global parameter @wb.low : tensor<8xbf16> names ["wb"]
// NARROW: gpt2.global parameter @pb : tensor<8xf32>
// NARROW-NEXT: gpt2.global parameter @idle
// NARROW: %[[B:.*]] = gpt2.read @wb.low : tensor<8xbf16>
// NARROW: gpt2.linear %{{.*}}, %{{.*}}, %[[B]] : (tensor<4x8xbf16>, tensor<8x8xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16>
// NARROW: gpt2.linear {{.*}} {f32_result} : (tensor<4x8xbf16>, tensor<8x8xbf16>, tensor<8xf32>) -> tensor<4x8xf32>
// NARROW-LABEL: @update
// NARROW: %{{.*}}, %[[LOW:.*]] = gpt2.adamw %wb, {{.*}} : tensor<8xf32> -> tensor<8xbf16>
// NARROW-NEXT: gpt2.write @wb.low, %[[LOW]] : tensor<8xbf16>
// NARROW: gpt2.adamw %pb, {{.*}} : tensor<8xf32>{{$}}

// CHECK-LABEL: func.func @accumulate
// CHECK: %[[WTE:.*]] = gpt2.read @wte.low : tensor<128x8x[[L]]>
// CHECK: %[[WPE:.*]] = gpt2.read @wpe.low : tensor<16x8x[[L]]>
// CHECK: %[[W:.*]] = gpt2.read @w.low : tensor<8x8x[[L]]>
// CHECK: %[[P:.*]] = gpt2.read @p.low : tensor<8x8x[[L]]>
// CHECK: %[[X:.*]] = gpt2.embed %inputs, %[[WTE]], %[[WPE]] batch 1 : {{.*}} -> tensor<4x8xf32>
// CHECK: %[[N:.*]], %[[M:.*]], %[[R:.*]] = gpt2.layer_norm %[[X]]
// CHECK: %[[NL:.*]] = gpt2.cast %[[N]] : tensor<4x8xf32> to tensor<4x8x[[L]]>
// CHECK: %[[H:.*]] = gpt2.linear %[[NL]], %[[W]], %wb : {{.*}} -> tensor<4x8x[[L]]>
// CHECK: %[[A:.*]] = gpt2.activation gelu_tanh %[[H]] : tensor<4x8x[[L]]>
// CHECK: %[[B:.*]] = gpt2.linear %[[A]], %[[P]], %pb {f32_result} : {{.*}} -> tensor<4x8xf32>
// CHECK: %[[S:.*]] = gpt2.add %[[X]], %[[B]] : tensor<4x8xf32>
// CHECK: %[[SL:.*]] = gpt2.cast %[[S]]
// Logits and their gradient are in the low type.
// CHECK: %[[LOGITS:.*]] = gpt2.linear %[[SL]], %[[WTE]] : {{.*}} -> tensor<4x128x[[L]]>
// CHECK: %{{.*}}, %{{.*}}, %[[DL:.*]] = gpt2.cross_entropy_grad %[[LOGITS]], {{.*}} : tensor<4x128x[[L]]>, tensor<4xi32> -> tensor<4xf32>
// CHECK: %[[DWTE:.*]] = gpt2.weight_grad %[[DL]], %[[SL]] into %wte.grad : tensor<4x128x[[L]]>, tensor<4x8x[[L]]>, tensor<128x8xf32>
// CHECK: %[[DSL:.*]] = gpt2.input_grad %[[DL]], %[[WTE]] : {{.*}} -> tensor<4x8x[[L]]>
// A residual stream that a product reads gets its gradient in L from there and
// is f32 as soon as another one is added.
// CHECK: gpt2.column_sum %[[DSL]] : tensor<4x8x[[L]]> -> tensor<8x4xf32>
// CHECK: gpt2.weight_grad %[[DSL]], %[[A]] into %p.grad
// CHECK: %[[DA:.*]] = gpt2.input_grad %[[DSL]], %[[P]] : {{.*}} -> tensor<4x8x[[L]]>
// CHECK: %[[DH:.*]] = gpt2.activation_grad gelu_tanh %[[DA]], %[[H]] : tensor<4x8x[[L]]>
// CHECK: gpt2.column_sum %[[DH]] : tensor<4x8x[[L]]>
// CHECK: gpt2.weight_grad %[[DH]], %[[NL]] into %w.grad
// CHECK: %[[DN:.*]] = gpt2.input_grad %[[DH]], %[[W]] : {{.*}} -> tensor<4x8x[[L]]>
// CHECK: %[[DX:.*]], %{{.*}}, %{{.*}} = gpt2.layer_norm_grad %[[DN]], %[[X]], %g, %[[M]], %[[R]] : {{.*}} -> (tensor<4x8xf32>, tensor<8x4xf32>, tensor<8x4xf32>)
// CHECK: gpt2.add %{{.*}}, %[[DX]] : tensor<4x8xf32>
func.func @accumulate() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 4>} {
  %inputs = gpt2.read @inputs : tensor<4xi32>
  %targets = gpt2.read @targets : tensor<4xi32>
  %wte = gpt2.read @wte : tensor<128x8xf32>
  %wpe = gpt2.read @wpe : tensor<16x8xf32>
  %g = gpt2.read @g : tensor<8xf32>
  %w = gpt2.read @w : tensor<8x8xf32>
  %wb = gpt2.read @wb : tensor<8xf32>
  %p = gpt2.read @p : tensor<8x8xf32>
  %pb = gpt2.read @pb : tensor<8xf32>
  %x = gpt2.embed %inputs, %wte, %wpe batch 1
      : tensor<4xi32>, tensor<128x8xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
  %n, %m, %r = gpt2.layer_norm %x, %g, %g epsilon 1.0e-5
      : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
  %h = gpt2.linear %n, %w, %wb : (tensor<4x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %a = gpt2.activation gelu_tanh %h : tensor<4x8xf32>
  %b = gpt2.linear %a, %p, %pb {f32_result} : (tensor<4x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %s = gpt2.add %x, %b : tensor<4x8xf32>
  %logits = gpt2.linear %s, %wte : (tensor<4x8xf32>, tensor<128x8xf32>) -> tensor<4x128xf32>
  %losses = gpt2.cross_entropy %logits, %targets vocab 100 : (tensor<4x128xf32>, tensor<4xi32>) -> tensor<4xf32>
  gpt2.write @losses, %losses : tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @update
// CHECK: gpt2.read @wte : tensor<128x8xf32>
// BF16: gpt2.step_state {{.*}}%train_state{{$}}
// FP16: gpt2.step_state {{.*}}%train_state {dynamic}{{$}}
// CHECK: %[[P1:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %[[LOW:.*]] = gpt2.adamw %wte, {{.*}} {decay} : tensor<128x8xf32> -> tensor<128x8x[[L]]>
// CHECK-NEXT: gpt2.write @wte.low, %[[LOW]] : tensor<128x8x[[L]]>
// CHECK-NEXT: gpt2.write @wte, %[[P1]] : tensor<128x8xf32>
// CHECK: gpt2.adamw %wb, {{.*}} : tensor<8xf32>{{$}}
// CHECK-NEXT: gpt2.write @wb,

// The losses of a validation come from the same rounded logits.
// CHECK-LABEL: func.func @validate
// CHECK: gpt2.read @wte.low
// CHECK: %[[V:.*]] = gpt2.linear {{.*}} -> tensor<4x128x[[L]]>
// CHECK-NEXT: gpt2.cross_entropy %[[V]], {{.*}} : (tensor<4x128x[[L]]>, tensor<4xi32>) -> tensor<4xf32>
func.func @validate() attributes {
    gpt2.program = #gpt2.program<role = validate, batch = 1, tokens = 4>} {
  %inputs = gpt2.read @inputs : tensor<4xi32>
  %targets = gpt2.read @targets : tensor<4xi32>
  %wte = gpt2.read @wte : tensor<128x8xf32>
  %wpe = gpt2.read @wpe : tensor<16x8xf32>
  %x = gpt2.embed %inputs, %wte, %wpe batch 1
      : tensor<4xi32>, tensor<128x8xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
  %logits = gpt2.linear %x, %wte : (tensor<4x8xf32>, tensor<128x8xf32>) -> tensor<4x128xf32>
  %losses = gpt2.cross_entropy %logits, %targets vocab 100 : (tensor<4x128xf32>, tensor<4xi32>) -> tensor<4xf32>
  gpt2.write @losses, %losses : tensor<4xf32>
  return
}
