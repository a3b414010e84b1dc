// A matmul's bias in the type of its result is a parameter of the plan.
// RUN: gpt2-opt %s --narrow-cuda-biases --split-input-file --verify-diagnostics | FileCheck %s

// Two matmuls share one copy; the f32 bias stays, for a copy reads it.
// CHECK: plan.global parameter @b : memref<24xf32> names ["x.b", "b"]
// CHECK-NEXT: plan.global parameter @b.bf16 : memref<24xbf16> names ["x.b", "b"]
plan.global parameter @b : memref<24xf32> names ["x.b", "b"]
plan.global parameter @w : memref<24x8xbf16> names ["w"]
// CHECK-LABEL: plan.program init
plan.program init @init batch 1 tokens 1 {
  // CHECK: %[[WIDE:.*]] = plan.global_ref @b : memref<24xf32>
  // CHECK-NEXT: plan.load_weight ["x.b", "b"] rows 24 cols 0 into %[[WIDE]] : memref<24xf32>
  // CHECK-NEXT: %[[NARROW:.*]] = plan.global_ref @b.bf16 : memref<24xbf16>
  // CHECK-NEXT: plan.load_weight ["x.b", "b"] rows 24 cols 0 into %[[NARROW]] : memref<24xbf16>
  // CHECK-NEXT: }
  %b = plan.global_ref @b : memref<24xf32>
  plan.load_weight ["x.b", "b"] rows 24 cols 0 into %b : memref<24xf32>
}
// CHECK-LABEL: plan.program eval
plan.program eval @eval batch 1 tokens 16 {
  %x = plan.alloc activation : memref<16x8xbf16>
  %y = plan.alloc activation : memref<16x24xbf16>
  %z = plan.alloc activation : memref<16x24xf32>
  %c = plan.alloc activation : memref<24xf32>
  %w = plan.global_ref @w : memref<24x8xbf16>
  // CHECK: %[[B:.*]] = plan.global_ref @b : memref<24xf32>
  %b = plan.global_ref @b : memref<24xf32>
  // CHECK: %[[N:.*]] = plan.global_ref @b.bf16 : memref<24xbf16>
  // CHECK: plan.matmul %{{.*}}, %{{.*}} bias %[[N]] : memref<24xbf16> into %{{.*}} : memref<16x8xbf16>, memref<24x8xbf16> into memref<16x24xbf16>
  plan.matmul %x, %w bias %b : memref<24xf32> into %y : memref<16x8xbf16>, memref<24x8xbf16> into memref<16x24xbf16>
  // CHECK: %[[M:.*]] = plan.global_ref @b.bf16 : memref<24xbf16>
  // CHECK: plan.matmul %{{.*}}, %{{.*}} bias %[[M]] : memref<24xbf16>
  plan.matmul %x, %w bias %b : memref<24xf32> into %y : memref<16x8xbf16>, memref<24x8xbf16> into memref<16x24xbf16>
  // A result in f32 takes the bias as it is.
  // CHECK: plan.matmul %{{.*}}, %{{.*}} bias %[[B]] : memref<24xf32> into
  plan.matmul %x, %w bias %b : memref<24xf32> into %z : memref<16x8xbf16>, memref<24x8xbf16> into memref<16x24xf32>
  plan.copy %b into %c : memref<24xf32> into memref<24xf32>
}

// -----

// Nothing else reads the f32 one: it goes.
// CHECK: module
// CHECK-NOT: memref<24xf32>
// CHECK: plan.global parameter @b.f16 : memref<24xf16> names ["b"]
// CHECK-NOT: memref<24xf32>
// CHECK: plan.load_weight ["b"] rows 24 cols 0 into %{{.*}} : memref<24xf16>
// CHECK-NOT: memref<24xf32>
// CHECK: plan.matmul %{{.*}}, %{{.*}} bias %{{.*}} : memref<24xf16> into
// CHECK-NOT: memref<24xf32>
plan.global parameter @b : memref<24xf32> names ["b"]
plan.global parameter @w : memref<24x8xf16> names ["w"]
plan.program init @init batch 1 tokens 1 {
  %b = plan.global_ref @b : memref<24xf32>
  plan.load_weight ["b"] rows 24 cols 0 into %b : memref<24xf32>
}
plan.program eval @eval batch 1 tokens 16 {
  %x = plan.alloc activation : memref<16x8xf16>
  %y = plan.alloc activation : memref<16x24xf16>
  %w = plan.global_ref @w : memref<24x8xf16>
  %b = plan.global_ref @b : memref<24xf32>
  plan.matmul %x, %w bias %b : memref<24xf32> into %y : memref<16x8xf16>, memref<24x8xf16> into memref<16x24xf16>
}

// -----

// What no checkpoint holds cannot be loaded a second time.
plan.global parameter @w : memref<24x8xf16> names ["w"]
plan.program eval @eval batch 1 tokens 16 {
  %x = plan.alloc activation : memref<16x8xf16>
  %y = plan.alloc activation : memref<16x24xf16>
  %b = plan.alloc activation : memref<24xf32>
  %w = plan.global_ref @w : memref<24x8xf16>
  // expected-error@+1 {{into 'f16' needs a bias of that type, or one that is loaded from the checkpoint}}
  plan.matmul %x, %w bias %b : memref<24xf32> into %y : memref<16x8xf16>, memref<24x8xf16> into memref<16x24xf16>
}

// -----

// A copy that only init writes would grow old in training.
plan.global parameter @b : memref<24xf32> names ["b"]
plan.global parameter @w : memref<24x8xf16> names ["w"]
plan.program init @init batch 1 tokens 1 {
  %b = plan.global_ref @b : memref<24xf32>
  plan.load_weight ["b"] rows 24 cols 0 into %b : memref<24xf32>
}
plan.program accumulate @accumulate batch 1 tokens 16 {
  %x = plan.alloc activation : memref<16x8xf16>
  %y = plan.alloc activation : memref<16x24xf16>
  %w = plan.global_ref @w : memref<24x8xf16>
  %b = plan.global_ref @b : memref<24xf32>
  // expected-error@+1 {{into 'f16' needs a bias of that type: a copy that only init writes would not follow the optimizer}}
  plan.matmul %x, %w bias %b : memref<24xf32> into %y : memref<16x8xf16>, memref<24x8xf16> into memref<16x24xf16>
}
plan.program update @update batch 1 tokens 1 {
}
