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

// CHECK-LABEL: @gradients
plan.program accumulate @gradients batch 2 tokens 65 {
  %q = plan.alloc activation : memref<130x18xf32>
  %o = plan.alloc activation : memref<130x6xf32>
  %l = plan.alloc activation : memref<130x2xf32>
  %g = plan.alloc activation : memref<18x6xf32>
  %x = plan.alloc activation : memref<8x18xf32>
  %d = plan.alloc activation : memref<8x6xf32>
  // 2 heads * 2 sequences = 4 tasks; two blocks of 64 * 128 scores, the f32
  // gradients of 65 keys and values of 3 numbers (780 bytes, rounded up to 832)
  // and 512 KiB each: 4 * (2 * 32768 + 2 * 832 + 524288) = 2365952.
  // CHECK: plan.alloc workspace : memref<2365952xi8>
  // CHECK: plan.attention_grad
  plan.attention_grad %q, %o, %l, %o into %q batch 2 tokens 65 heads 2 scale 1.0 : memref<130x18xf32>, memref<130x6xf32>, memref<130x2xf32>, memref<130x6xf32> into memref<130x18xf32>
  // A transposed: 32 threads * (64 KiB + 130 * 512 bytes) = 4227072.
  // CHECK: plan.alloc workspace : memref<4227072xi8>
  plan.matmul %q, %o into %g transpose_a weight_kn accumulate : memref<130x18xf32>, memref<130x6xf32> into memref<18x6xf32>
  // No matvec over [K, N] weights: 32 threads * (64 KiB + 18 * 128 bytes).
  // CHECK: plan.alloc workspace : memref<2170880xi8>
  plan.matmul %x, %g into %d weight_kn : memref<8x18xf32>, memref<18x6xf32> into memref<8x6xf32>
}
