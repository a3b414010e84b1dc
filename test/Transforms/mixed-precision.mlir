// What each precision does to globals, ops and casts.
// RUN: gpt2-opt %s --mixed-precision=precision=bf16 --remarks-filter=mixed-precision 2>&1 | FileCheck %s --check-prefixes=LOW -DL=bf16 -DP=bf16
// RUN: gpt2-opt %s --mixed-precision=precision=fp16 --remarks-filter=mixed-precision 2>&1 | FileCheck %s --check-prefixes=LOW -DL=f16 -DP=fp16
// RUN: gpt2-opt %s --mixed-precision=precision=tf32 | FileCheck %s --check-prefixes=WIDE -DP=tf32
// RUN: gpt2-opt %s --mixed-precision | FileCheck %s --check-prefixes=WIDE -DP=fp32
// RUN: not gpt2-opt %s --mixed-precision=precision=int8 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not gpt2-opt %s --mixed-precision --mixed-precision 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not gpt2-opt %s --fuse --mixed-precision=precision=bf16 2>&1 | FileCheck %s --check-prefix=LATE

// LATE: error: 'gpt2.fused' op stands before mixed-precision: run fuse after it
// UNKNOWN: Cannot find option named 'int8'!
// TWICE: error: the module already has the precision "fp32"

// Casts: the norm for the first linear, the branch for the residual sum, and
// the sum for the head.
// LOW: types-chosen | Category:mixed-precision | caches=2, casts=3, parameters=4

// LOW: module attributes {gpt2.precision = "[[P]]"}
// WIDE: module attributes {gpt2.precision = "[[P]]"}
// WIDE-NOT: bf16
// WIDE-NOT: gpt2.cast
// WIDE: return

// Matrices and caches are stored in the low type, vectors and state in f32.
// LOW: gpt2.global parameter @wte : tensor<128x8x[[L]]>
// LOW: gpt2.global parameter @wpe : tensor<16x8x[[L]]>
// LOW: gpt2.global parameter @w : tensor<24x8x[[L]]>
// LOW: gpt2.global parameter @p : tensor<8x8x[[L]]>
// LOW: gpt2.global parameter @b : tensor<8xf32>
// LOW: gpt2.global cache @k : tensor<2x2x16x4x[[L]]>
// LOW: gpt2.global cache @v : tensor<2x2x16x4x[[L]]>
// LOW: gpt2.global state @logits : tensor<2x128xf32>
gpt2.global parameter @wte : tensor<128x8xf32> names ["wte"]
gpt2.global parameter @wpe : tensor<16x8xf32> names ["wpe"]
gpt2.global parameter @w : tensor<24x8xf32> names ["w"]
gpt2.global parameter @p : tensor<8x8xf32> names ["p"]
gpt2.global parameter @b : tensor<8xf32> names ["b"]
gpt2.global cache @k : tensor<2x2x16x4xf32>
gpt2.global cache @v : tensor<2x2x16x4xf32>
gpt2.global state @tokens : tensor<2xi32>
gpt2.global state @positions : tensor<2xi32>
gpt2.global state @logits : tensor<2x128xf32>

func.func @decode_b2() attributes {
    gpt2.program = #gpt2.program<role = decode, batch = 2, tokens = 1>} {
  %tokens = gpt2.read @tokens : tensor<2xi32>
  %positions = gpt2.read @positions : tensor<2xi32>
  %wte = gpt2.read @wte : tensor<128x8xf32>
  %wpe = gpt2.read @wpe : tensor<16x8xf32>
  %w = gpt2.read @w : tensor<24x8xf32>
  %p = gpt2.read @p : tensor<8x8xf32>
  %b = gpt2.read @b : tensor<8xf32>
  %k0 = gpt2.read @k : tensor<2x2x16x4xf32>
  %v0 = gpt2.read @v : tensor<2x2x16x4xf32>
  // Denied: the residual stream stays f32.
  // LOW: %[[X:.*]] = gpt2.embed {{.*}} -> tensor<2x8xf32>
  %x = gpt2.embed %tokens, %wte, %wpe at %positions batch 2
      : tensor<2xi32>, tensor<128x8xf32>, tensor<16x8xf32>, tensor<2xi32> -> tensor<2x8xf32>
  // LOW: %[[Y:.*]], %{{.*}}, %{{.*}} = gpt2.layer_norm %[[X]], %b, %b {{.*}} : (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  // LOW: %[[C:.*]] = gpt2.cast %[[Y]] : tensor<2x8xf32> to tensor<2x8x[[L]]>
  %y, %m, %r = gpt2.layer_norm %x, %b, %b epsilon 1.0e-5
      : (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  // Allowed: products, caches and attention are in the low type.
  // LOW: %[[Q:.*]] = gpt2.linear %[[C]], %w : (tensor<2x8x[[L]]>, tensor<24x8x[[L]]>) -> tensor<2x24x[[L]]>
  // LOW: gpt2.cache_append %[[Q]] into %k, %v
  // LOW: %[[A:.*]] = gpt2.attention {{.*}} -> tensor<2x8x[[L]]>
  %qkv = gpt2.linear %y, %w : (tensor<2x8xf32>, tensor<24x8xf32>) -> tensor<2x24xf32>
  %k1, %v1 = gpt2.cache_append %qkv into %k0, %v0 at %positions batch 2
      : tensor<2x24xf32>, tensor<2x2x16x4xf32>, tensor<2x2x16x4xf32>, tensor<2xi32>
  %a = gpt2.attention %qkv cache %k1, %v1 at %positions batch 2 heads 2 scale 0.5
      : tensor<2x24xf32>, tensor<2x2x16x4xf32>, tensor<2x2x16x4xf32>, tensor<2xi32> -> tensor<2x8xf32>
  // An activation between two linears stays in the low type; the bias is read
  // as it is stored.
  // LOW: %[[H:.*]] = gpt2.linear %[[A]], %p, %b : (tensor<2x8x[[L]]>, tensor<8x8x[[L]]>, tensor<8xf32>) -> tensor<2x8x[[L]]>
  // LOW: %[[G:.*]] = gpt2.activation gelu_tanh %[[H]] : tensor<2x8x[[L]]>
  // LOW: %[[O:.*]] = gpt2.linear %[[G]], %p
  %h = gpt2.linear %a, %p, %b : (tensor<2x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  %g = gpt2.activation gelu_tanh %h : tensor<2x8xf32>
  %o = gpt2.linear %g, %p, %b : (tensor<2x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  // Inferred: the widest operand decides.
  // LOW: %[[F:.*]] = gpt2.cast %[[O]] : tensor<2x8x[[L]]> to tensor<2x8xf32>
  // LOW: %[[S:.*]] = gpt2.add %[[X]], %[[F]] : tensor<2x8xf32>
  %s = gpt2.add %x, %o : tensor<2x8xf32>
  // The head's result is not rounded.
  // LOW: %[[T:.*]] = gpt2.cast %[[S]] : tensor<2x8xf32> to tensor<2x8x[[L]]>
  // LOW: %[[LOGITS:.*]] = gpt2.linear %[[T]], %wte {f32_result} : (tensor<2x8x[[L]]>, tensor<128x8x[[L]]>) -> tensor<2x128xf32>
  // LOW: gpt2.write @logits, %[[LOGITS]] : tensor<2x128xf32>
  %logits = gpt2.linear %s, %wte {f32_result} : (tensor<2x8xf32>, tensor<128x8xf32>) -> tensor<2x128xf32>
  gpt2.write @logits, %logits : tensor<2x128xf32>
  gpt2.write @k, %k1 : tensor<2x2x16x4xf32>
  gpt2.write @v, %v1 : tensor<2x2x16x4xf32>
  return
}
