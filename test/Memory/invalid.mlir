// RUN: gpt2-opt %s --plan-memory --split-input-file --verify-diagnostics

plan.program eval @p batch 1 tokens 4 {
  %x = plan.alloc activation : memref<4x8xf32>
  %y = plan.alloc activation : memref<4x8xf32>
  // expected-error@+1 {{reads operand 0 before anything has written it}}
  plan.copy %x into %y : memref<4x8xf32> into memref<4x8xf32>
}

// -----

// expected-error@+1 {{memory is already planned}}
module {
plan.arena weights bytes 64 alignment 64
}
