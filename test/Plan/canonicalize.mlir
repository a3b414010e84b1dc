// Upstream's cleanups see the memory effects: they keep every instruction,
// merge references to one global and drop buffers that nothing touches.
// RUN: gpt2-opt %s --canonicalize --cse | FileCheck %s

plan.global state @s : memref<4xf32>

// CHECK-LABEL: plan.program eval @eval
plan.program eval @eval batch 1 tokens 4 {
  // CHECK-NEXT: %[[X:.*]] = plan.alloc activation : memref<4xf32>
  %x = plan.alloc activation : memref<4xf32>
  %unused = plan.alloc activation : memref<8xf32>
  // CHECK-NEXT: %[[S:.*]] = plan.global_ref @s
  %s = plan.global_ref @s : memref<4xf32>
  %again = plan.global_ref @s : memref<4xf32>
  // CHECK-NEXT: plan.fill %[[X]] with 0.0
  plan.fill %x with 0.0 : memref<4xf32>
  // Equal, and both stay.
  // CHECK-NEXT: plan.copy %[[X]] into %[[S]]
  // CHECK-NEXT: plan.copy %[[X]] into %[[S]]
  plan.copy %x into %s : memref<4xf32> into memref<4xf32>
  plan.copy %x into %again : memref<4xf32> into memref<4xf32>
  // CHECK-NEXT: }
}
