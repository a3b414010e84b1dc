// A row kernel writes over an input that it is the last to use.
// RUN: gpt2-opt %s --plan-memory | FileCheck %s
// RUN: gpt2-opt %s --plan-memory=in-place=false | FileCheck %s --check-prefix=APART

plan.kernel @relu "row" body {
^bb0(%rows: index, %x: tensor<?x8xf32>):
  plan.yield %x : tensor<?x8xf32>
}
plan.kernel @column "row" body {
^bb0(%rows: index, %x: tensor<?x8xf32>, %gamma: tensor<1x8xf32>):
  plan.yield %x : tensor<?x8xf32>
}
plan.kernel @two "row" body {
^bb0(%rows: index, %x: tensor<?x8xf32>):
  plan.yield %x, %x : tensor<?x8xf32>, tensor<?x8xf32>
}
plan.kernel @cast "row" body {
^bb0(%rows: index, %x: tensor<?x8xf32>, %h: tensor<?x8xbf16>):
  plan.yield %h : tensor<?x8xbf16>
}
plan.kernel @swap_two "row" body {
^bb0(%rows: index, %x: tensor<?x8xf32>, %y: tensor<?x8xf32>):
  plan.yield %y, %x : tensor<?x8xf32>, tensor<?x8xf32>
}
plan.kernel @column_sums "row" config {row_blocks = 1 : i64, rows = 4 : i64} body {
^bb0(%rows: index, %x: tensor<?x8xf32>, %g: tensor<1x8xf32>):
  plan.yield %g : tensor<1x8xf32>
}
plan.global state @out : memref<4x8xf32>

// CHECK-LABEL: @reused
// APART-LABEL: @reused
plan.program eval @reused batch 1 tokens 4 {
  // CHECK: %[[X:.*]] = plan.alloc activation offset 0 first 0 last 2
  // CHECK-NOT: plan.alloc
  // APART-COUNT-2: plan.alloc
  %x = plan.alloc activation : memref<4x8xf32>
  %y = plan.alloc activation : memref<4x8xf32>
  plan.fill %x with 0.0 : memref<4x8xf32>
  // CHECK: plan.launch @relu rows 4 ins(%[[X]] : memref<4x8xf32>) outs(%[[X]] : memref<4x8xf32>)
  plan.launch @relu rows 4 ins(%x : memref<4x8xf32>) outs(%y : memref<4x8xf32>)
  %out = plan.global_ref @out : memref<4x8xf32>
  plan.copy %y into %out : memref<4x8xf32> into memref<4x8xf32>
}

// %x is read later.
// CHECK-LABEL: @used_later
plan.program eval @used_later batch 1 tokens 4 {
  // CHECK-COUNT-2: plan.alloc
  %x = plan.alloc activation : memref<4x8xf32>
  %y = plan.alloc activation : memref<4x8xf32>
  plan.fill %x with 0.0 : memref<4x8xf32>
  plan.launch @relu rows 4 ins(%x : memref<4x8xf32>) outs(%y : memref<4x8xf32>)
  %out = plan.global_ref @out : memref<4x8xf32>
  plan.copy %x into %out : memref<4x8xf32> into memref<4x8xf32>
  plan.copy %y into %out : memref<4x8xf32> into memref<4x8xf32>
}

// One output takes the input's place.
// CHECK-LABEL: @two_outputs
plan.program eval @two_outputs batch 1 tokens 4 {
  // CHECK: %[[X:.*]] = plan.alloc
  // CHECK: %[[Z:.*]] = plan.alloc
  // CHECK-NOT: plan.alloc
  %x = plan.alloc activation : memref<4x8xf32>
  %y = plan.alloc activation : memref<4x8xf32>
  %z = plan.alloc activation : memref<4x8xf32>
  plan.fill %x with 0.0 : memref<4x8xf32>
  // CHECK: plan.launch @two rows 4 ins(%[[X]] : memref<4x8xf32>) outs(%[[X]], %[[Z]] : memref<4x8xf32>, memref<4x8xf32>)
  plan.launch @two rows 4 ins(%x : memref<4x8xf32>) outs(%y, %z : memref<4x8xf32>, memref<4x8xf32>)
}

// Each output takes the place of an input of its own.
// CHECK-LABEL: @swap
plan.program eval @swap batch 1 tokens 4 {
  // CHECK: %[[X:.*]] = plan.alloc
  // CHECK: %[[Y:.*]] = plan.alloc
  // CHECK-NOT: plan.alloc
  %x = plan.alloc activation : memref<4x8xf32>
  %y = plan.alloc activation : memref<4x8xf32>
  %z = plan.alloc activation : memref<4x8xf32>
  %u = plan.alloc activation : memref<4x8xf32>
  plan.fill %x with 0.0 : memref<4x8xf32>
  plan.fill %y with 0.0 : memref<4x8xf32>
  // CHECK: plan.launch @swap_two rows 4 ins(%[[X]], %[[Y]] : memref<4x8xf32>, memref<4x8xf32>) outs(%[[X]], %[[Y]] : memref<4x8xf32>, memref<4x8xf32>)
  plan.launch @swap_two rows 4 ins(%x, %y : memref<4x8xf32>, memref<4x8xf32>) outs(%z, %u : memref<4x8xf32>, memref<4x8xf32>)
}

// Sums over columns take no input's place, even one of their own size.
// CHECK-LABEL: @sums
plan.program eval @sums batch 1 tokens 4 {
  // CHECK-COUNT-3: plan.alloc
  %x = plan.alloc activation : memref<4x8xf32>
  %g = plan.alloc activation : memref<8x1xf32>
  %p = plan.alloc activation : memref<8x1xf32>
  plan.fill %x with 0.0 : memref<4x8xf32>
  plan.fill %g with 0.0 : memref<8x1xf32>
  plan.launch @column_sums rows 1 ins(%x, %g : memref<4x8xf32>, memref<8x1xf32>) outs(%p : memref<8x1xf32>)
}

// A global keeps its own memory, and %y is not of %g's size.
// CHECK-LABEL: @not_the_same
plan.program eval @not_the_same batch 1 tokens 4 {
  // CHECK-COUNT-2: plan.alloc
  %g = plan.alloc activation : memref<8xf32>
  %y = plan.alloc activation : memref<4x8xf32>
  %out = plan.global_ref @out : memref<4x8xf32>
  plan.fill %g with 0.0 : memref<8xf32>
  plan.launch @column rows 4 ins(%out, %g : memref<4x8xf32>, memref<8xf32>) outs(%y : memref<4x8xf32>)
}
