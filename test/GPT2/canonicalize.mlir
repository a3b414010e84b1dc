// RUN: gpt2-opt %s --canonicalize | FileCheck %s

gpt2.global state @x : tensor<4x8xf32>
gpt2.global state @y : tensor<4x8xbf16>
gpt2.global state @z : tensor<4x8xf16>
gpt2.global state @one : tensor<1x8xf32>
gpt2.global state @count : tensor<1xi32>

// A cast to the same type is its operand.
// CHECK-LABEL: @cast_to_same
// CHECK-NOT: gpt2.cast
// CHECK: %[[Y:.*]] = gpt2.activation relu
// CHECK: gpt2.write @x, %[[Y]]
func.func @cast_to_same() {
  %x = gpt2.read @x : tensor<4x8xf32>
  %r = gpt2.activation relu %x : tensor<4x8xf32>
  %y = gpt2.cast %r : tensor<4x8xf32> to tensor<4x8xf32>
  gpt2.write @x, %y : tensor<4x8xf32>
  return
}

// Widening and rounding back to the type it came from gives the value itself.
// CHECK-LABEL: @widen_and_back
// CHECK-NOT: gpt2.cast
// CHECK: %[[A:.*]] = gpt2.activation relu
// CHECK: gpt2.write @y, %[[A]]
func.func @widen_and_back() {
  %y = gpt2.read @y : tensor<4x8xbf16>
  %a = gpt2.activation relu %y : tensor<4x8xbf16>
  %f = gpt2.cast %a : tensor<4x8xbf16> to tensor<4x8xf32>
  %b = gpt2.cast %f : tensor<4x8xf32> to tensor<4x8xbf16>
  gpt2.write @y, %b : tensor<4x8xbf16>
  return
}

// Widening first does not change a rounding.
// CHECK-LABEL: @widen_then_round
// CHECK: gpt2.cast %{{.*}} : tensor<4x8xbf16> to tensor<4x8xf16>
// CHECK-NOT: gpt2.cast
// CHECK: return
func.func @widen_then_round() {
  %y = gpt2.read @y : tensor<4x8xbf16>
  %f = gpt2.cast %y : tensor<4x8xbf16> to tensor<4x8xf32>
  %h = gpt2.cast %f : tensor<4x8xf32> to tensor<4x8xf16>
  gpt2.write @z, %h : tensor<4x8xf16>
  return
}

// A cast that loses bits stays, and so does a change between 16-bit types.
// CHECK-LABEL: @rounding_stays
// CHECK: gpt2.cast %{{.*}} : tensor<4x8xf32> to tensor<4x8xbf16>
// CHECK: gpt2.cast %{{.*}} : tensor<4x8xbf16> to tensor<4x8xf32>
// CHECK: gpt2.cast %{{.*}} : tensor<4x8xbf16> to tensor<4x8xf16>
// CHECK: gpt2.cast %{{.*}} : tensor<4x8xf16> to tensor<4x8xbf16>
func.func @rounding_stays() {
  %x = gpt2.read @x : tensor<4x8xf32>
  %l = gpt2.cast %x : tensor<4x8xf32> to tensor<4x8xbf16>
  %f = gpt2.cast %l : tensor<4x8xbf16> to tensor<4x8xf32>
  gpt2.write @x, %f : tensor<4x8xf32>
  %h = gpt2.cast %l : tensor<4x8xbf16> to tensor<4x8xf16>
  %b = gpt2.cast %h : tensor<4x8xf16> to tensor<4x8xbf16>
  gpt2.write @y, %b : tensor<4x8xbf16>
  return
}

// The last valid row of one row is that row.
// CHECK-LABEL: @select_of_one
// CHECK-NOT: gpt2.select_row
// CHECK: %[[A:.*]] = gpt2.activation tanh
// CHECK: gpt2.write @one, %[[A]]
func.func @select_of_one() {
  %x = gpt2.read @one : tensor<1x8xf32>
  %count = gpt2.read @count : tensor<1xi32>
  %a = gpt2.activation tanh %x : tensor<1x8xf32>
  %s = gpt2.select_row %a at %count : tensor<1x8xf32> -> tensor<1x8xf32>
  gpt2.write @one, %s : tensor<1x8xf32>
  return
}

// Writing back what was read does nothing; then nothing reads it either.
// CHECK-LABEL: @unchanged_write
// CHECK-NEXT: return
func.func @unchanged_write() {
  %x = gpt2.read @x : tensor<4x8xf32>
  gpt2.write @x, %x : tensor<4x8xf32>
  return
}

// CHECK-LABEL: @changed_write
// CHECK: gpt2.write @x
func.func @changed_write() {
  %x = gpt2.read @x : tensor<4x8xf32>
  %r = gpt2.activation relu %x : tensor<4x8xf32>
  gpt2.write @x, %r : tensor<4x8xf32>
  return
}

// Another write comes first, so writing the old value back matters.
// CHECK-LABEL: @restoring_write
// CHECK-COUNT-2: gpt2.write @x
func.func @restoring_write() {
  %x = gpt2.read @x : tensor<4x8xf32>
  %r = gpt2.activation relu %x : tensor<4x8xf32>
  gpt2.write @x, %r : tensor<4x8xf32>
  gpt2.write @x, %x : tensor<4x8xf32>
  return
}

gpt2.global state @rng : tensor<4xi32>
gpt2.global state @qkv : tensor<4x24xf32>
gpt2.global state @lse : tensor<4x2xf32>

// What is dropped with probability 0 stays; no random number is read.
// CHECK-LABEL: @no_dropout
// CHECK-NOT: gpt2.read @rng
// CHECK: %[[A:.*]] = gpt2.activation relu
// CHECK-NOT: gpt2.dropout
// CHECK: gpt2.write @x, %[[A]]
// CHECK: gpt2.attention %qkv batch 1
// CHECK: gpt2.attention_grad %qkv, %{{.*}}, %{{.*}}, %{{.*}} batch 1
func.func @no_dropout() {
  %rng = gpt2.read @rng : tensor<4xi32>
  %key = gpt2.dropout_keys %rng ids [1] : tensor<1xi32>
  %x = gpt2.read @x : tensor<4x8xf32>
  %qkv = gpt2.read @qkv : tensor<4x24xf32>
  %r = gpt2.activation relu %x : tensor<4x8xf32>
  %d = gpt2.dropout %r, %rng, %key probability 0.0 batch 2 : tensor<4x8xf32>
  gpt2.write @x, %d : tensor<4x8xf32>
  %a, %lse = gpt2.attention %qkv rng %rng dropout 0.0 id 2 batch 1 heads 2
      scale 0.5 : tensor<4x24xf32> -> tensor<4x8xf32>, tensor<4x2xf32>
  gpt2.write @lse, %lse : tensor<4x2xf32>
  %g = gpt2.attention_grad %qkv, %a, %lse, %d rng %rng dropout 0.0 id 2 batch 1
      heads 2 scale 0.5 : tensor<4x24xf32>, tensor<4x8xf32>, tensor<4x2xf32>
  gpt2.write @qkv, %g : tensor<4x24xf32>
  return
}

// CHECK-LABEL: @dropout
// CHECK: gpt2.dropout
// CHECK: gpt2.attention %{{.*}} rng %rng dropout
func.func @dropout() {
  %rng = gpt2.read @rng : tensor<4xi32>
  %key = gpt2.dropout_keys %rng ids [1] : tensor<1xi32>
  %x = gpt2.read @x : tensor<4x8xf32>
  %qkv = gpt2.read @qkv : tensor<4x24xf32>
  %d = gpt2.dropout %x, %rng, %key probability 0.5 batch 2 : tensor<4x8xf32>
  gpt2.write @x, %d : tensor<4x8xf32>
  %a, %lse = gpt2.attention %qkv rng %rng dropout 0.5 id 2 batch 1 heads 2
      scale 0.5 : tensor<4x24xf32> -> tensor<4x8xf32>, tensor<4x2xf32>
  gpt2.write @lse, %lse : tensor<4x2xf32>
  return
}
