//===- TrainingHeapTest.cpp - Training's steps let the heap alone ------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/Plan/CpuWorkspace.h"
#include "test/unit/CPU/StepHarness.h"
#include "test/unit/Engine/HeapHook.h"

using namespace gpt2rt;
using namespace gpt2rt::cpu;

namespace {

/// Attention forward and backward over lengths that end in half a block, by
/// more threads than a head needs.
TEST(TrainingHeap, AttentionGivesBackWhatItTakes) {
  constexpr uint32_t batch = 2, tokens = 160, heads = 3, headSize = 16;
  constexpr uint64_t rows = batch * tokens, width = heads * headSize;
  StepHarness harness;
  fb::AttentionT forward;
  fb::AttentionGradT backward;
  auto describe = [&](auto &op) {
    op.batch = batch;
    op.tokens = tokens;
    op.heads = heads;
    op.head_size = headSize;
    op.scale = 0.25f;
  };
  describe(forward);
  describe(backward);
  forward.qkv = backward.qkv = harness.add(DType::F32, {rows, 3 * width});
  forward.out = backward.out = harness.add(DType::F32, {rows, width});
  backward.lse = harness.add(DType::F32, {rows, heads});
  forward.lse = static_cast<int32_t>(backward.lse);
  backward.dout = harness.add(DType::F32, {rows, width});
  backward.dqkv = harness.add(DType::F32, {rows, 3 * width});
  forward.workspace = static_cast<int32_t>(harness.addWorkspace(
      attentionWorkspaceBytes(false, batch, heads, tokens, tokens)));
  backward.workspace = static_cast<int32_t>(harness.addWorkspace(
      attentionGradWorkspaceBytes(batch, heads, tokens, headSize)));
  harness.instruction(forward);
  harness.instruction(backward);
  ASSERT_NO_FATAL_FAILURE(harness.build());
  ASSERT_NO_FATAL_FAILURE(harness.prepare(3));
  ASSERT_TRUE(harness.replay().ok());
  // oneDNN packs its arguments into a container of its own in every call.
  int64_t before = test::heapCounts().liveBytes;
  bool ok = true;
  for (int i = 0; i < 50; ++i)
    ok &= harness.replay().ok();
  int64_t after = test::heapCounts().liveBytes;
  EXPECT_TRUE(ok);
  EXPECT_EQ(after, before);
}

} // namespace
