// REQUIRES: nvrtc
// RUN: plan-to-cuda %s --arch=sm_90 | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// Attention with its gradients and the gradient of the embedding, which
// test/unit/CodegenCUDA/TrainingKernelChecks.cpp runs on the host and
// test/gpu on a GPU. Here: that they compile and keep to their registers.

// CHECK: forward_half_64 sm_90 cubin {{.*}} local 0 threads
plan.kernel @forward_half_64 "flash_forward" config
  {dtype = f16, heads = 2 : i64, head_size = 64 : i64, positions = 150 : i64,
   scale = 0.125 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}
// CHECK: backward_query_half_64 sm_90 cubin {{.*}} local 0 threads
plan.kernel @backward_query_half_64 "flash_backward_query" config
  {dtype = f16, heads = 2 : i64, head_size = 64 : i64, positions = 150 : i64,
   scale = 0.125 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}
// CHECK: backward_key_half_64 sm_90 cubin {{.*}} local 0 threads
plan.kernel @backward_key_half_64 "flash_backward_key" config
  {dtype = f16, heads = 2 : i64, head_size = 64 : i64, positions = 150 : i64,
   scale = 0.125 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}

// CHECK: forward_bfloat_32_drop sm_90 cubin {{.*}} local 0 threads
plan.kernel @forward_bfloat_32_drop "flash_forward" config
  {dtype = bf16, heads = 2 : i64, head_size = 32 : i64, positions = 70 : i64,
   scale = 0.1767766922712326 : f32, dropout_threshold = 1073741824 : i64,
   dropout_scale = 1.3333333730697632 : f32}
// CHECK: backward_query_bfloat_32_drop sm_90 cubin {{.*}} local 0 threads
plan.kernel @backward_query_bfloat_32_drop "flash_backward_query" config
  {dtype = bf16, heads = 2 : i64, head_size = 32 : i64, positions = 70 : i64,
   scale = 0.1767766922712326 : f32, dropout_threshold = 1073741824 : i64,
   dropout_scale = 1.3333333730697632 : f32}
// CHECK: backward_key_bfloat_32_drop sm_90 cubin {{.*}} local 0 threads
plan.kernel @backward_key_bfloat_32_drop "flash_backward_key" config
  {dtype = bf16, heads = 2 : i64, head_size = 32 : i64, positions = 70 : i64,
   scale = 0.1767766922712326 : f32, dropout_threshold = 1073741824 : i64,
   dropout_scale = 1.3333333730697632 : f32}

// CHECK: forward_half_80 sm_90 cubin {{.*}} local 0 threads
plan.kernel @forward_half_80 "flash_forward" config
  {dtype = f16, heads = 1 : i64, head_size = 80 : i64, positions = 64 : i64,
   scale = 0.11180339753627777 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}
// CHECK: backward_query_half_80 sm_90 cubin {{.*}} local 0 threads
plan.kernel @backward_query_half_80 "flash_backward_query" config
  {dtype = f16, heads = 1 : i64, head_size = 80 : i64, positions = 64 : i64,
   scale = 0.11180339753627777 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}
// CHECK: backward_key_half_80 sm_90 cubin {{.*}} local 0 threads
plan.kernel @backward_key_half_80 "flash_backward_key" config
  {dtype = f16, heads = 1 : i64, head_size = 80 : i64, positions = 64 : i64,
   scale = 0.11180339753627777 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}

// CHECK: forward_half_128_drop sm_90 cubin {{.*}} local 0 threads
plan.kernel @forward_half_128_drop "flash_forward" config
  {dtype = f16, heads = 1 : i64, head_size = 128 : i64, positions = 130 : i64,
   scale = 0.0883883461356163 : f32, dropout_threshold = 429496736 : i64,
   dropout_scale = 1.1111111640930176 : f32}
// CHECK: backward_query_half_128_drop sm_90 cubin {{.*}} local 0 threads
plan.kernel @backward_query_half_128_drop "flash_backward_query" config
  {dtype = f16, heads = 1 : i64, head_size = 128 : i64, positions = 130 : i64,
   scale = 0.0883883461356163 : f32, dropout_threshold = 429496736 : i64,
   dropout_scale = 1.1111111640930176 : f32}
// CHECK: backward_key_half_128_drop sm_90 cubin {{.*}} local 0 threads
plan.kernel @backward_key_half_128_drop "flash_backward_key" config
  {dtype = f16, heads = 1 : i64, head_size = 128 : i64, positions = 130 : i64,
   scale = 0.0883883461356163 : f32, dropout_threshold = 429496736 : i64,
   dropout_scale = 1.1111111640930176 : f32}

// CHECK: forward_half_25 sm_90 cubin {{.*}} local 0 threads
plan.kernel @forward_half_25 "flash_forward" config
  {dtype = f16, heads = 2 : i64, head_size = 25 : i64, positions = 40 : i64,
   scale = 0.20000000298023224 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}
// CHECK: backward_query_half_25 sm_90 cubin {{.*}} local 0 threads
plan.kernel @backward_query_half_25 "flash_backward_query" config
  {dtype = f16, heads = 2 : i64, head_size = 25 : i64, positions = 40 : i64,
   scale = 0.20000000298023224 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}
// CHECK: backward_key_half_25 sm_90 cubin {{.*}} local 0 threads
plan.kernel @backward_key_half_25 "flash_backward_key" config
  {dtype = f16, heads = 2 : i64, head_size = 25 : i64, positions = 40 : i64,
   scale = 0.20000000298023224 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}

// CHECK: forward_single_64_drop sm_90 cubin {{.*}} local 0 threads
plan.kernel @forward_single_64_drop "flash_forward" config
  {dtype = f32, heads = 2 : i64, head_size = 64 : i64, positions = 50 : i64,
   scale = 0.125 : f32, dropout_threshold = 1073741824 : i64,
   dropout_scale = 1.3333333730697632 : f32}
// CHECK: backward_query_single_64_drop sm_90 cubin {{.*}} local 0 threads
plan.kernel @backward_query_single_64_drop "flash_backward_query" config
  {dtype = f32, heads = 2 : i64, head_size = 64 : i64, positions = 50 : i64,
   scale = 0.125 : f32, dropout_threshold = 1073741824 : i64,
   dropout_scale = 1.3333333730697632 : f32}
// CHECK: backward_key_single_64_drop sm_90 cubin {{.*}} local 0 threads
plan.kernel @backward_key_single_64_drop "flash_backward_key" config
  {dtype = f32, heads = 2 : i64, head_size = 64 : i64, positions = 50 : i64,
   scale = 0.125 : f32, dropout_threshold = 1073741824 : i64,
   dropout_scale = 1.3333333730697632 : f32}

// CHECK: forward_single_20 sm_90 cubin {{.*}} local 0 threads
plan.kernel @forward_single_20 "flash_forward" config
  {dtype = f32, heads = 2 : i64, head_size = 20 : i64, positions = 33 : i64,
   scale = 0.22360679507255554 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}
// CHECK: backward_query_single_20 sm_90 cubin {{.*}} local 0 threads
plan.kernel @backward_query_single_20 "flash_backward_query" config
  {dtype = f32, heads = 2 : i64, head_size = 20 : i64, positions = 33 : i64,
   scale = 0.22360679507255554 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}
// CHECK: backward_key_single_20 sm_90 cubin {{.*}} local 0 threads
plan.kernel @backward_key_single_20 "flash_backward_key" config
  {dtype = f32, heads = 2 : i64, head_size = 20 : i64, positions = 33 : i64,
   scale = 0.22360679507255554 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}

// CHECK: forward_tf32_64 sm_90 cubin {{.*}} local 0 threads
plan.kernel @forward_tf32_64 "flash_forward" config
  {dtype = tf32, heads = 2 : i64, head_size = 64 : i64, positions = 150 : i64,
   scale = 0.125 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}
// CHECK: backward_query_tf32_64 sm_90 cubin {{.*}} local 0 threads
plan.kernel @backward_query_tf32_64 "flash_backward_query" config
  {dtype = tf32, heads = 2 : i64, head_size = 64 : i64, positions = 150 : i64,
   scale = 0.125 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}
// CHECK: backward_key_tf32_64 sm_90 cubin {{.*}} local 0 threads
plan.kernel @backward_key_tf32_64 "flash_backward_key" config
  {dtype = tf32, heads = 2 : i64, head_size = 64 : i64, positions = 150 : i64,
   scale = 0.125 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}

// CHECK: forward_tf32_64_drop sm_90 cubin {{.*}} local 0 threads
plan.kernel @forward_tf32_64_drop "flash_forward" config
  {dtype = tf32, heads = 1 : i64, head_size = 64 : i64, positions = 70 : i64,
   scale = 0.125 : f32, dropout_threshold = 1073741824 : i64,
   dropout_scale = 1.3333333730697632 : f32}
// CHECK: backward_query_tf32_64_drop sm_90 cubin {{.*}} local 0 threads
plan.kernel @backward_query_tf32_64_drop "flash_backward_query" config
  {dtype = tf32, heads = 1 : i64, head_size = 64 : i64, positions = 70 : i64,
   scale = 0.125 : f32, dropout_threshold = 1073741824 : i64,
   dropout_scale = 1.3333333730697632 : f32}
// CHECK: backward_key_tf32_64_drop sm_90 cubin {{.*}} local 0 threads
plan.kernel @backward_key_tf32_64_drop "flash_backward_key" config
  {dtype = tf32, heads = 1 : i64, head_size = 64 : i64, positions = 70 : i64,
   scale = 0.125 : f32, dropout_threshold = 1073741824 : i64,
   dropout_scale = 1.3333333730697632 : f32}

// CHECK: forward_tf32_32 sm_90 cubin {{.*}} local 0 threads
plan.kernel @forward_tf32_32 "flash_forward" config
  {dtype = tf32, heads = 2 : i64, head_size = 32 : i64, positions = 70 : i64,
   scale = 0.1767766922712326 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}
// CHECK: backward_query_tf32_32 sm_90 cubin {{.*}} local 0 threads
plan.kernel @backward_query_tf32_32 "flash_backward_query" config
  {dtype = tf32, heads = 2 : i64, head_size = 32 : i64, positions = 70 : i64,
   scale = 0.1767766922712326 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}
// CHECK: backward_key_tf32_32 sm_90 cubin {{.*}} local 0 threads
plan.kernel @backward_key_tf32_32 "flash_backward_key" config
  {dtype = tf32, heads = 2 : i64, head_size = 32 : i64, positions = 70 : i64,
   scale = 0.1767766922712326 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}

// CHECK: forward_tf32_80_drop sm_90 cubin {{.*}} local 0 threads
plan.kernel @forward_tf32_80_drop "flash_forward" config
  {dtype = tf32, heads = 1 : i64, head_size = 80 : i64, positions = 70 : i64,
   scale = 0.11180339753627777 : f32, dropout_threshold = 429496736 : i64,
   dropout_scale = 1.1111111640930176 : f32}
// CHECK: backward_query_tf32_80_drop sm_90 cubin {{.*}} local 0 threads
plan.kernel @backward_query_tf32_80_drop "flash_backward_query" config
  {dtype = tf32, heads = 1 : i64, head_size = 80 : i64, positions = 70 : i64,
   scale = 0.11180339753627777 : f32, dropout_threshold = 429496736 : i64,
   dropout_scale = 1.1111111640930176 : f32}
// CHECK: backward_key_tf32_80_drop sm_90 cubin {{.*}} local 0 threads
plan.kernel @backward_key_tf32_80_drop "flash_backward_key" config
  {dtype = tf32, heads = 1 : i64, head_size = 80 : i64, positions = 70 : i64,
   scale = 0.11180339753627777 : f32, dropout_threshold = 429496736 : i64,
   dropout_scale = 1.1111111640930176 : f32}

// CHECK: forward_tf32_128_drop sm_90 cubin {{.*}} local 0 threads
plan.kernel @forward_tf32_128_drop "flash_forward" config
  {dtype = tf32, heads = 1 : i64, head_size = 128 : i64, positions = 130 : i64,
   scale = 0.0883883461356163 : f32, dropout_threshold = 429496736 : i64,
   dropout_scale = 1.1111111640930176 : f32}
// CHECK: backward_query_tf32_128_drop sm_90 cubin {{.*}} local 0 threads
plan.kernel @backward_query_tf32_128_drop "flash_backward_query" config
  {dtype = tf32, heads = 1 : i64, head_size = 128 : i64, positions = 130 : i64,
   scale = 0.0883883461356163 : f32, dropout_threshold = 429496736 : i64,
   dropout_scale = 1.1111111640930176 : f32}
// CHECK: backward_key_tf32_128_drop sm_90 cubin {{.*}} local 0 threads
plan.kernel @backward_key_tf32_128_drop "flash_backward_key" config
  {dtype = tf32, heads = 1 : i64, head_size = 128 : i64, positions = 130 : i64,
   scale = 0.0883883461356163 : f32, dropout_threshold = 429496736 : i64,
   dropout_scale = 1.1111111640930176 : f32}

// CHECK: forward_tf32_96 sm_90 cubin {{.*}} local 0 threads
plan.kernel @forward_tf32_96 "flash_forward" config
  {dtype = tf32, heads = 1 : i64, head_size = 96 : i64, positions = 40 : i64,
   scale = 0.10206207633018494 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}
// CHECK: backward_query_tf32_96 sm_90 cubin {{.*}} local 0 threads
plan.kernel @backward_query_tf32_96 "flash_backward_query" config
  {dtype = tf32, heads = 1 : i64, head_size = 96 : i64, positions = 40 : i64,
   scale = 0.10206207633018494 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}
// CHECK: backward_key_tf32_96 sm_90 cubin {{.*}} local 0 threads
plan.kernel @backward_key_tf32_96 "flash_backward_key" config
  {dtype = tf32, heads = 1 : i64, head_size = 96 : i64, positions = 40 : i64,
   scale = 0.10206207633018494 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}

// CHECK: forward_tf32_25 sm_90 cubin {{.*}} local 0 threads
plan.kernel @forward_tf32_25 "flash_forward" config
  {dtype = tf32, heads = 2 : i64, head_size = 25 : i64, positions = 40 : i64,
   scale = 0.20000000298023224 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}
// CHECK: backward_query_tf32_25 sm_90 cubin {{.*}} local 0 threads
plan.kernel @backward_query_tf32_25 "flash_backward_query" config
  {dtype = tf32, heads = 2 : i64, head_size = 25 : i64, positions = 40 : i64,
   scale = 0.20000000298023224 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}
// CHECK: backward_key_tf32_25 sm_90 cubin {{.*}} local 0 threads
plan.kernel @backward_key_tf32_25 "flash_backward_key" config
  {dtype = tf32, heads = 2 : i64, head_size = 25 : i64, positions = 40 : i64,
   scale = 0.20000000298023224 : f32, dropout_threshold = 0 : i64,
   dropout_scale = 1.0 : f32}

// CHECK: embed_grad_wide sm_90 cubin {{.*}} local 0 threads
plan.kernel @embed_grad_wide "embed_grad" config
  {columns = 130 : i64, vocab = 20 : i64, positions = 70 : i64}

// CHECK: embed_grad_narrow sm_90 cubin {{.*}} local 0 threads
plan.kernel @embed_grad_narrow "embed_grad" config
  {columns = 20 : i64, vocab = 9 : i64, positions = 50 : i64}

