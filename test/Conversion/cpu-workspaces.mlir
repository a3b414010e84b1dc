// Workspaces of CPU instructions, as runtime/Plan/CpuWorkspace.h sizes them.
// RUN: gpt2-opt %s --pass-pipeline='builtin.module(plan.program(assign-cpu-workspaces))' | FileCheck %s

// CHECK-LABEL: @matmuls
plan.program eval @matmuls batch 1 tokens 9 {
  %a = plan.alloc activation : memref<9x16xf32>
  %w = plan.alloc activation : memref<8x16xf32>
  %d = plan.alloc activation : memref<9x8xf32>
  // 32 threads * (64 KiB + 16 * 128 bytes) = 2162688.
  // CHECK: %[[W:.*]] = plan.alloc workspace : memref<2162688xi8>
  // CHECK: plan.matmul %{{.*}} workspace %[[W]] : memref<2162688xi8>
  plan.matmul %a, %w into %d : memref<9x16xf32>, memref<8x16xf32> into memref<9x8xf32>
  %a8 = plan.alloc activation : memref<8x16xf32>
  %d8 = plan.alloc activation : memref<8x8xf32>
  // A matvec needs none.
  // CHECK-NOT: workspace
  plan.matmul %a8, %w into %d8 : memref<8x16xf32>, memref<8x16xf32> into memref<8x8xf32>
}

// CHECK-LABEL: @attention
plan.program eval @attention batch 2 tokens 65 {
  %q = plan.alloc activation : memref<130x18xf32>
  %o = plan.alloc activation : memref<130x6xf32>
  // 2 blocks * 2 heads * 2 sequences = 8 tasks; 64 rows * 128 keys * 4 bytes of
  // scores and 512 KiB each: 8 * (32768 + 524288) = 4456448.
  // CHECK: plan.alloc workspace : memref<4456448xi8>
  plan.attention %q into %o batch 2 tokens 65 heads 2 scale 1.0 : memref<130x18xf32> into memref<130x6xf32>
}
