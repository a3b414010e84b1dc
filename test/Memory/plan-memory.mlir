// Offsets of globals and buffers, derived by hand.
// RUN: gpt2-opt %s --plan-memory=in-place=false | FileCheck %s
// RUN: gpt2-opt %s --plan-memory=in-place=false --remarks-filter=plan-memory -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

// The CPU: slots of 64 bytes, arenas of huge pages.
// Weights: @w 10 * 4 = 40 -> 64, @b 4 * 4 = 16 -> 64.
// CHECK:      plan.arena weights bytes 128 alignment 2097152
// CHECK-NEXT: plan.arena cache bytes 128 alignment 2097152
// CHECK-NEXT: plan.arena state bytes 64 alignment 2097152
// The larger of the programs: @second's 384.
// CHECK-NEXT: plan.arena activations bytes 384 alignment 2097152
// CHECK-NEXT: plan.arena workspace bytes 128 alignment 2097152
module attributes {plan.target = #plan<target cpu>} {

// CHECK: plan.global parameter @w : memref<10xf32> names ["w"] offset 0
plan.global parameter @w : memref<10xf32> names ["w"]
// CHECK: plan.global cache @k : memref<1x1x30x1xf32> offset 0
plan.global cache @k : memref<1x1x30x1xf32>
// CHECK: plan.global parameter @b : memref<4xf32> names ["b"] offset 64
plan.global parameter @b : memref<4xf32> names ["b"]
// CHECK: plan.global state @s : memref<1xi32> offset 0
plan.global state @s : memref<1xi32>

// Lifetimes: %0 [0, 1] 256 bytes, %1 [1, 2] 64, %2 [2, 3] 256.
// By size: %0 at 0; %2 does not meet %0: at 0; %1 meets both: at 256.
// Peak 320, which is what instruction 1 needs: 256 + 64.
// CHECK-LABEL: plan.program decode @first
plan.program decode @first batch 1 tokens 1 {
  // CHECK: plan.alloc activation offset 0 first 0 last 1 : memref<64xf32>
  %0 = plan.alloc activation : memref<64xf32>
  plan.fill %0 with 0.0 : memref<64xf32>
  // CHECK: plan.alloc activation offset 256 first 1 last 2 : memref<64xi8>
  %1 = plan.alloc activation : memref<64xi8>
  plan.launch @k2 rows 1 ins(%0 : memref<64xf32>) outs(%1 : memref<64xi8>)
  // CHECK: plan.alloc activation offset 0 first 2 last 3 : memref<64xf32>
  %2 = plan.alloc activation : memref<64xf32>
  plan.launch @k2 rows 1 ins(%1 : memref<64xi8>) outs(%2 : memref<64xf32>)
  // Nothing uses it.
  // CHECK-NOT: memref<1000xf32>
  %3 = plan.alloc activation : memref<1000xf32>
  %s = plan.global_ref @s : memref<1xi32>
  plan.launch @k2 rows 1 ins(%2 : memref<64xf32>) outs(%s : memref<1xi32>)
}

// The programs never run at one time: offsets begin at 0 again. Both buffers
// live at instruction 1: 320 -> 320 and 4 -> 64. Workspace is apart.
// CHECK-LABEL: plan.program decode @second
plan.program decode @second batch 1 tokens 1 {
  // CHECK: plan.alloc activation offset 320 first 0 last 1 : memref<1xf32>
  %0 = plan.alloc activation : memref<1xf32>
  // CHECK: plan.alloc activation offset 0 first 0 last 1 : memref<80xf32>
  %1 = plan.alloc activation : memref<80xf32>
  // CHECK: plan.alloc workspace offset 0 first 0 last 0 : memref<100xi8>
  %2 = plan.alloc workspace : memref<100xi8>
  // CHECK: plan.alloc workspace offset 0 first 1 last 1 : memref<128xi8>
  %3 = plan.alloc workspace : memref<128xi8>
  plan.launch @k2 rows 1 outs(%0, %1, %2 : memref<1xf32>, memref<80xf32>, memref<100xi8>)
  %s = plan.global_ref @s : memref<1xi32>
  plan.launch @k2 rows 1 ins(%0, %1 : memref<1xf32>, memref<80xf32>) outs(%3, %s : memref<128xi8>, memref<1xi32>)
}

plan.kernel @k2 "template"
}


// REMARK: remark: [Analysis] PlannedMemory
// REMARK-SAME: Category:plan-memory
// REMARK-SAME: Function=first
// REMARK-SAME: Arena=activations, Buffers=3, Bytes=320, LowerBound=320, Order=size
// REMARK: Function=second
// REMARK-SAME: Arena=activations, Buffers=2, Bytes=384, LowerBound=384, Order=size
