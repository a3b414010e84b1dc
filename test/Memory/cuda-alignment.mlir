// On CUDA parameters start at multiples of 512 bytes, the rest at 256.
// RUN: gpt2-opt %s --plan-memory | FileCheck %s

// CHECK: plan.arena weights bytes 1024 alignment 512
// CHECK: plan.arena state bytes 512 alignment 512
// CHECK: plan.arena activations bytes 512 alignment 512
module attributes {plan.target = #plan<target cuda>} {
// CHECK: @w : memref<10xf32> names ["w"] offset 0
plan.global parameter @w : memref<10xf32> names ["w"]
// CHECK: @b : memref<4xf32> names ["b"] offset 512
plan.global parameter @b : memref<4xf32> names ["b"]
// CHECK: @s : memref<1xi32> offset 0
plan.global state @s : memref<1xi32>
// CHECK: @t : memref<1xi32> offset 256
plan.global state @t : memref<1xi32>
plan.program decode @p batch 1 tokens 1 {
  // CHECK: plan.alloc activation offset 0
  %0 = plan.alloc activation : memref<4xf32>
  // CHECK: plan.alloc activation offset 256
  %1 = plan.alloc activation : memref<4xf32>
  plan.fill %0 with 0.0 : memref<4xf32>
  plan.copy %0 into %1 : memref<4xf32> into memref<4xf32>
}
}
