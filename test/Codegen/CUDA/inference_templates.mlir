// REQUIRES: nvrtc
// RUN: plan-to-cuda %s --arch=sm_90 | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// Templates of generation and eval, which
// test/unit/CodegenCUDA/TemplateHostTest.cpp runs on the host. Here: that they
// compile and keep to their registers.

// CHECK: decode_half_64 sm_90 cubin {{.*}} local 0 threads
plan.kernel @decode_half_64 "decode_attention" config
  {dtype = f16, heads = 2 : i64, head_size = 64 : i64, positions = 300 : i64,
   scale = 0.125 : f32}
// CHECK: decode_single_25 sm_90 cubin {{.*}} local 0 threads
plan.kernel @decode_single_25 "decode_attention" config
  {dtype = f32, heads = 2 : i64, head_size = 25 : i64, positions = 300 : i64,
   scale = 0.125 : f32}
// CHECK: flash_half_64_cached sm_90 cubin {{.*}} local 0 threads
plan.kernel @flash_half_64_cached "flash_attention" config
  {dtype = f16, heads = 2 : i64, head_size = 64 : i64, positions = 300 : i64,
   scale = 0.125 : f32, cached = 1 : i64}
// CHECK: flash_bfloat_80 sm_90 cubin {{.*}} local 0 threads
plan.kernel @flash_bfloat_80 "flash_attention" config
  {dtype = bf16, heads = 2 : i64, head_size = 80 : i64, positions = 300 : i64,
   scale = 0.125 : f32, cached = 0 : i64}
// CHECK: flash_single_20_cached sm_90 cubin {{.*}} local 0 threads
plan.kernel @flash_single_20_cached "flash_attention" config
  {dtype = f32, heads = 2 : i64, head_size = 20 : i64, positions = 300 : i64,
   scale = 0.125 : f32, cached = 1 : i64}
// CHECK: flash_tf32_64_cached sm_90 cubin {{.*}} local 0 threads
plan.kernel @flash_tf32_64_cached "flash_attention" config
  {dtype = tf32, heads = 2 : i64, head_size = 64 : i64, positions = 300 : i64,
   scale = 0.125 : f32, cached = 1 : i64}
// CHECK: flash_tf32_80 sm_90 cubin {{.*}} local 0 threads
plan.kernel @flash_tf32_80 "flash_attention" config
  {dtype = tf32, heads = 2 : i64, head_size = 80 : i64, positions = 300 : i64,
   scale = 0.125 : f32, cached = 0 : i64}
// CHECK: cache_half_20 sm_90 cubin {{.*}} local 0 threads
plan.kernel @cache_half_20 "cache_append" config
  {dtype = f16, heads = 2 : i64, head_size = 20 : i64, positions = 300 : i64}
// CHECK: sample_1500 sm_90 cubin {{.*}} local 0 threads
plan.kernel @sample_1500 "sample" config
  {vocab = 1500 : i64, padded_vocab = 1536 : i64, positions_limit = 1024 : i64,
   prefill = 0 : i64}
