// The whole pipeline: the runtime's signature, no library call, no memory
// managed, and nothing left of the dialects above LLVM.
// RUN: gpt2-opt %s --cpu-kernels | FileCheck %s
// RUN: gpt2-opt %s --lower-row-kernels --expand-row-math | FileCheck %s --check-prefix=MATH

// CHECK-NOT: {{malloc|memcpy|free|unrealized_conversion_cast}}
// CHECK: llvm.func @act(%[[BUFFERS:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64) {
// CHECK: %[[SLOT0:.*]] = llvm.getelementptr %[[BUFFERS]][0]
// CHECK: %[[IN:.*]] = llvm.load %[[SLOT0]] : !llvm.ptr -> !llvm.ptr
// CHECK: %[[SLOT1:.*]] = llvm.getelementptr %[[BUFFERS]][1]
// CHECK: %[[OUT:.*]] = llvm.load %[[SLOT1]] : !llvm.ptr -> !llvm.ptr
// CHECK: llvm.load {{.*}} : !llvm.ptr -> vector<16xi16>
// CHECK-NOT: bf16
// CHECK: llvm.store {{.*}} : vector<16xi16>, !llvm.ptr
// CHECK-NOT: {{malloc|memcpy|free|unrealized_conversion_cast}}

// bf16 is widened and rounded by integer arithmetic; tanh is a polynomial.
// MATH-LABEL: func.func @act
// MATH: arith.shli {{.*}} : vector<16xi32>
// MATH: math.fma {{.*}} : vector<16xf32>
// MATH: arith.trunci {{.*}} : vector<16xi32> to vector<16xi16>
// MATH-NOT: {{math.tanh|arith.truncf|arith.extf}}
plan.kernel @act "row" body {
^bb0(%rows: index, %x: tensor<?x64xbf16>):
  %e = tensor.empty(%rows) : tensor<?x64xbf16>
  %y = linalg.generic {indexing_maps = [
         affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
       iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x64xbf16>) outs(%e : tensor<?x64xbf16>) {
  ^bb0(%a: bf16, %o: bf16):
    %w = arith.extf %a : bf16 to f32
    %t = math.tanh %w : f32
    %r = arith.truncf %t : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<?x64xbf16>
  plan.yield %y : tensor<?x64xbf16>
}
