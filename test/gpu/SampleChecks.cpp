//===- SampleChecks.cpp - The sampling kernel against the host ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/Device/Sampling.h"
#include "test/gpu/GpuKernel.h"

#include <cmath>

using namespace gpt2rt;
using namespace gpt2rt::gputest;
namespace geometry = mlir::gpt2c::cuda;

namespace {

SamplingParams makeParams(float temperature, int topK, float topP,
                          uint32_t seed) {
  SamplingParams params;
  params.temperature = temperature;
  params.topK = topK;
  params.topP = topP;
  params.seedLow = seed;
  params.seedHigh = seed * 77 + 5;
  return params;
}

const SamplingParams settings[] = {
    makeParams(0.0f, 0, 1.0f, 1),   makeParams(1.0f, 1, 1.0f, 2),
    makeParams(1.0f, 0, 1.0f, 3),   makeParams(0.7f, 50, 1.0f, 4),
    makeParams(1.0f, 0, 0.9f, 5),   makeParams(0.8f, 40, 0.95f, 6),
    makeParams(1.5f, 5, 0.3f, 7),   makeParams(1e-6f, 0, 0.5f, 8),
    makeParams(5.0f, 0, 0.999f, 9), makeParams(1.0f, 999, 0.1f, 10),
};

/// Rows that have gone wrong elsewhere: ties, constants, infinities, NaN.
std::vector<std::vector<float>> logitRows(const KernelCase &c) {
  std::vector<std::vector<float>> rows;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    rows.push_back(randomValues(DType::F32, c.vocab, seed));
    for (float &logit : rows.back())
      logit = logit * 4.0f - 30.0f;
  }
  std::vector<float> ties = rows[0];
  for (float &logit : ties)
    logit = std::round(logit);
  rows.push_back(ties);
  rows.push_back(std::vector<float>(c.vocab, 2.5f));
  std::vector<float> masked(c.vocab, -INFINITY);
  masked[c.vocab / 2] = -3.0f;
  masked[c.vocab - 1] = -3.5f;
  rows.push_back(masked);
  std::vector<float> zeros(c.vocab, -0.0f);
  zeros[c.vocab - 2] = 0.0f;
  rows.push_back(zeros);
  std::vector<float> bad = rows[1];
  bad[c.vocab / 3] = NAN;
  rows.push_back(bad);
  rows.push_back(std::vector<float>(c.vocab, -INFINITY));
  return rows;
}

/// Device buffers of a launch over `rows` rows; the padding of every row holds
/// logits that would win if they were looked at.
struct SampleBuffers {
  int rows;
  LaunchShape shape;
  DeviceArray logits, params, starts, count, slot, tokens, positions, workspace,
      counters;

  SampleBuffers(Bench &bench, const KernelCase &c, int slots,
                const std::vector<std::vector<float>> &rowsOfLogits,
                const std::vector<SamplingParams> &sampling,
                const std::vector<int32_t> &startOf, int32_t firstSlot)
      : rows(static_cast<int>(rowsOfLogits.size())),
        shape(geometry::sampleLaunch(rows)),
        logits(bench, padded(c, rowsOfLogits)), params(bench, sampling),
        starts(bench, startOf), count(bench, std::vector<int32_t>{7}),
        slot(bench, std::vector<int32_t>{firstSlot}),
        tokens(bench, std::vector<int32_t>(slots, -77)),
        positions(bench, std::vector<int32_t>(slots, -77)),
        workspace(bench, std::vector<int8_t>(shape.workspaceBytes, -1)),
        counters(bench, std::vector<int32_t>(rows)) {}

  GpuKernel::Arguments arguments(bool prefill) const {
    GpuKernel::Arguments all = {logits.address(), params.address(),
                                starts.address()};
    if (prefill)
      all.insert(all.end(), {count.address(), slot.address()});
    all.insert(all.end(), {tokens.address(), positions.address(),
                           workspace.address(), counters.address()});
    return all;
  }

  static std::vector<float>
  padded(const KernelCase &c, const std::vector<std::vector<float>> &rows) {
    std::vector<float> all(rows.size() * c.paddedVocab, 1e30f);
    for (size_t i = 0; i < rows.size(); ++i)
      std::copy(rows[i].begin(), rows[i].end(), &all[i * c.paddedVocab]);
    return all;
  }
};

std::string checkDecode(Bench &bench, GpuKernel &kernel, const KernelCase &c,
                        const SamplingParams &setting) {
  std::vector<std::vector<float>> rows = logitRows(c);
  std::vector<int32_t> starts;
  std::vector<SamplingParams> params;
  for (size_t i = 0; i < rows.size(); ++i) {
    starts.push_back(i == 3 ? c.positions - 1 : 10 + 31 * i);
    params.push_back(setting);
    params.back().seedLow += i;
  }
  SampleBuffers buffers(bench, c, rows.size(), rows, params, starts, 0);
  kernel.run(buffers.shape, buffers.arguments(false), buffers.rows);
  std::vector<int32_t> tokens = buffers.tokens.read<int32_t>();
  std::vector<int32_t> positions = buffers.positions.read<int32_t>();
  for (size_t i = 0; i < rows.size(); ++i) {
    int32_t position =
        std::min<int32_t>(starts[i] + 1, static_cast<int32_t>(c.positions) - 1);
    int32_t expected = sampleToken(rows[i], params[i], position);
    if (tokens[i] != expected || positions[i] != position)
      return strCat("row ", i, ": token ", tokens[i], " at ", positions[i],
                    ", expected ", expected, " at ", position);
  }
  if (buffers.counters.read<int32_t>() != std::vector<int32_t>(rows.size()))
    return "counters are not zero";
  return "";
}

std::string checkPrefill(Bench &bench, GpuKernel &kernel, const KernelCase &c,
                         const SamplingParams &setting) {
  constexpr int slots = 4, slot = 2, start = 90, count = 7;
  std::vector<SamplingParams> params(slots, makeParams(0, 0, 1, 0));
  params[slot] = setting;
  std::vector<std::vector<float>> rows = {logitRows(c)[0]};
  SampleBuffers buffers(bench, c, slots, rows, params, {start}, slot);
  kernel.run(buffers.shape, buffers.arguments(true), 1);
  std::vector<int32_t> tokens = buffers.tokens.read<int32_t>();
  std::vector<int32_t> positions = buffers.positions.read<int32_t>();
  for (int i = 0; i < slots; ++i) {
    int32_t position = i == slot ? start + count : -77;
    int32_t expected =
        i == slot ? sampleToken(rows[0], setting, position) : -77;
    if (tokens[i] != expected || positions[i] != position)
      return strCat("slot ", i, ": token ", tokens[i], " at ", positions[i],
                    ", expected ", expected, " at ", position);
  }
  return "";
}

} // namespace

void gputest::checkSample(Bench &bench, const KernelCase &c) {
  GpuKernel kernel(bench, c);
  for (const SamplingParams &setting : settings) {
    std::string wrong = c.prefill ? checkPrefill(bench, kernel, c, setting)
                                  : checkDecode(bench, kernel, c, setting);
    std::string detail = wrong.empty() ? "equal" : wrong;
    if (c.vocab == 50257 && !c.prefill) {
      std::vector<std::vector<float>> rows = {logitRows(c)[0]};
      SampleBuffers one(bench, c, 1, rows, {setting}, {5}, 0);
      // The position moves on with every launch and stops at its limit.
      double time = kernel.time(one.shape, 1, 20,
                                [&](int) { return one.arguments(false); });
      char text[32];
      std::snprintf(text, sizeof(text), "  b1 %.2f us", time);
      detail += text;
    }
    bench.report(strCat(c.name(), " t=", setting.temperature,
                        " k=", setting.topK, " p=", setting.topP),
                 wrong.empty(), detail);
  }
}
