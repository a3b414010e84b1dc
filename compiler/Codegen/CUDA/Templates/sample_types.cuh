// What runtime/Device/SamplingMath.h, which follows this text, needs.
// SPDX-License-Identifier: Apache-2.0
#define GPT2_HOST_DEVICE DEVICE
typedef int int32_t;
typedef unsigned uint32_t;
typedef unsigned long long uint64_t;
