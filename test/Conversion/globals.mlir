// When a value goes straight into its global, and when it is copied.
// RUN: gpt2-opt %s --convert-gpt2-to-plan | FileCheck %s
// RUN: gpt2-opt %s --convert-gpt2-to-plan --remarks-filter=convert-gpt2-to-plan -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK --implicit-check-not=BufferCopied

gpt2.global state @a : tensor<4x8xf32>
gpt2.global state @b : tensor<4x8xf32>
gpt2.global cache @k : tensor<2x2x4x3xf32>
gpt2.global cache @v : tensor<2x2x4x3xf32>
gpt2.global state @starts : tensor<2xi32>
gpt2.global state @qkv : tensor<2x18xf32>
gpt2.global state @out : tensor<2x6xf32>

// CHECK-LABEL: @straight
// CHECK: %[[A:.*]] = plan.global_ref @a
// CHECK: %[[B:.*]] = plan.global_ref @b
// CHECK-NOT: plan.alloc
// CHECK: plan.launch @{{.*}} ins(%[[A]] : memref<4x8xf32>) outs(%[[B]] : memref<4x8xf32>)
// CHECK-NOT: plan.copy
func.func @straight() attributes {gpt2.program = #gpt2.program<
    role = eval, batch = 1, tokens = 4>} {
  %a = gpt2.read @a : tensor<4x8xf32>
  %b = gpt2.activation relu %a : tensor<4x8xf32>
  gpt2.write @b, %b : tensor<4x8xf32>
  return
}

// The first rows only.
// CHECK-LABEL: @prefix
// CHECK: %[[B:.*]] = plan.global_ref @b : memref<2x8xf32>
// CHECK: plan.launch @{{.*}} outs(%[[B]] : memref<2x8xf32>)
func.func @prefix() attributes {gpt2.program = #gpt2.program<
    role = eval, batch = 1, tokens = 2>} {
  %a = gpt2.read @a : tensor<2x8xf32>
  %b = gpt2.activation relu %a : tensor<2x8xf32>
  gpt2.write @b, %b : tensor<2x8xf32>
  return
}

// The old @b is still needed after %1 exists.
// CHECK-LABEL: @old_value
// CHECK: %[[B:.*]] = plan.global_ref @b
// CHECK: plan.launch @{{.*}} outs(%[[X:.*]] : memref<4x8xf32>)
// CHECK: plan.launch @{{.*}} ins(%[[X]], %[[B]] : {{.*}}) outs(%[[Y:.*]] :
// CHECK: plan.copy %[[X]] into %[[B]]
func.func @old_value() attributes {gpt2.program = #gpt2.program<
    role = eval, batch = 1, tokens = 4>} {
  %a = gpt2.read @a : tensor<4x8xf32>
  %b = gpt2.read @b : tensor<4x8xf32>
  %1 = gpt2.activation relu %a : tensor<4x8xf32>
  %2 = gpt2.add %1, %b : tensor<4x8xf32>
  gpt2.write @a, %2 : tensor<4x8xf32>
  gpt2.write @b, %1 : tensor<4x8xf32>
  return
}

// Destination passing on a global that is written back: in place.
// CHECK-LABEL: @append
// CHECK: %[[K:.*]] = plan.global_ref @k
// CHECK: %[[V:.*]] = plan.global_ref @v
// CHECK-NOT: plan.copy
// CHECK: plan.cache_append %{{.*}} caches %[[K]], %[[V]] starts
// CHECK: plan.attention %{{.*}} caches %[[K]], %[[V]] starts
// CHECK-NOT: plan.copy
func.func @append() attributes {gpt2.program = #gpt2.program<
    role = decode, batch = 2, tokens = 1>} {
  %q = gpt2.read @qkv : tensor<2x18xf32>
  %k = gpt2.read @k : tensor<2x2x4x3xf32>
  %v = gpt2.read @v : tensor<2x2x4x3xf32>
  %s = gpt2.read @starts : tensor<2xi32>
  %k1, %v1 = gpt2.cache_append %q into %k, %v at %s batch 2
      : tensor<2x18xf32>, tensor<2x2x4x3xf32>, tensor<2x2x4x3xf32>, tensor<2xi32>
  %o = gpt2.attention %q cache %k1, %v1 at %s batch 2 heads 2 scale 0.5
      : tensor<2x18xf32>, tensor<2x2x4x3xf32>, tensor<2x2x4x3xf32>, tensor<2xi32>
      -> tensor<2x6xf32>
  gpt2.write @k, %k1 : tensor<2x2x4x3xf32>
  gpt2.write @v, %v1 : tensor<2x2x4x3xf32>
  gpt2.write @out, %o : tensor<2x6xf32>
  return
}

// @v is not written back: the append works on a copy and @v keeps its value.
// CHECK-LABEL: @scratch_cache
// CHECK: %[[K:.*]] = plan.global_ref @k
// CHECK: %[[V:.*]] = plan.global_ref @v
// CHECK: %[[COPY:.*]] = plan.alloc activation : memref<2x2x4x3xf32>
// CHECK: plan.copy %[[V]] into %[[COPY]]
// CHECK: plan.cache_append %{{.*}} caches %[[K]], %[[COPY]] starts
func.func @scratch_cache() attributes {gpt2.program = #gpt2.program<
    role = decode, batch = 2, tokens = 1>} {
  %q = gpt2.read @qkv : tensor<2x18xf32>
  %k = gpt2.read @k : tensor<2x2x4x3xf32>
  %v = gpt2.read @v : tensor<2x2x4x3xf32>
  %s = gpt2.read @starts : tensor<2xi32>
  %k1, %v1 = gpt2.cache_append %q into %k, %v at %s batch 2
      : tensor<2x18xf32>, tensor<2x2x4x3xf32>, tensor<2x2x4x3xf32>, tensor<2xi32>
  gpt2.write @k, %k1 : tensor<2x2x4x3xf32>
  return
}

// A plain copy from one global to another.
// CHECK-LABEL: @move
// CHECK: plan.copy %{{.*}} into %{{.*}} : memref<4x8xf32> into memref<4x8xf32>
func.func @move() attributes {gpt2.program = #gpt2.program<
    role = eval, batch = 1, tokens = 4>} {
  %a = gpt2.read @a : tensor<4x8xf32>
  gpt2.write @b, %a : tensor<4x8xf32>
  return
}

// REMARK: BufferCopied {{.*}}Function=old_value{{.*}}'gpt2.write' needs a copy of 128 bytes
// REMARK: BufferCopied {{.*}}Function=scratch_cache{{.*}}'gpt2.cache_append' needs a copy of 192 bytes
// REMARK: BufferCopied {{.*}}Function=move{{.*}}'gpt2.write' needs a copy of 128 bytes
