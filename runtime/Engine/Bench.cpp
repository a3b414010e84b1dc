//===- Bench.cpp - Speed of prefill and decode ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Engine/Bench.h"
#include "runtime/Device/InstructionTimes.h"

#include <chrono>

using namespace gpt2rt;

namespace {

class Bench {
public:
  Bench(Executor &executor, Session session, const BenchOptions &options)
      : executor(executor), session(std::move(session)), options(options) {
    // Any ids do: no step's work depends on them.
    for (uint32_t i = 0; i < options.promptTokens; ++i)
      prompt.push_back(static_cast<int32_t>(i * 7919u % this->session.vocab()));
  }

  Result<BenchResult> run() {
    BenchResult result;
    GPT2_RETURN_IF_ERROR(repeat());
    result.firstTokenSeconds = firstToken;
    prefillTimes.clear();
    decodeTimes.clear();
    for (uint32_t i = 0; i < options.repeats; ++i)
      GPT2_RETURN_IF_ERROR(repeat());
    result.prefillSeconds = median(prefillTimes);
    result.prefillTokensPerSecond =
        double(options.batch) * options.promptTokens / result.prefillSeconds;
    if (!decodeTimes.empty()) {
      result.decodeStepSeconds = median(decodeTimes);
      result.decodeTokensPerSecond = options.batch / result.decodeStepSeconds;
    }
    if (options.profile)
      GPT2_RETURN_IF_ERROR(profile(result));
    return result;
  }

private:
  using Clock = std::chrono::steady_clock;
  static double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  /// Prefill of every sequence, then decode steps: the first new token comes
  /// from prefill, so a run has one step less than new tokens.
  Status repeat() {
    std::vector<int32_t> tokens(options.batch);
    GPT2_RETURN_IF_ERROR(session.begin(options.batch, SamplingParams()));
    auto start = Clock::now();
    for (uint32_t slot = 0; slot < options.batch; ++slot) {
      GPT2_RETURN_IF_ERROR(session.prefill(slot, prompt));
      if (slot == 0)
        firstToken = since(start);
    }
    GPT2_RETURN_IF_ERROR(session.readTokens(tokens));
    prefillTimes.push_back(since(start));
    if (options.newTokens < 2)
      return Status::okStatus();
    start = Clock::now();
    for (uint32_t i = 1; i < options.newTokens; ++i) {
      GPT2_RETURN_IF_ERROR(session.decode(options.batch));
      // As generation does: the host sees every token.
      GPT2_RETURN_IF_ERROR(session.readTokens(tokens));
    }
    decodeTimes.push_back(since(start) / (options.newTokens - 1));
    return Status::okStatus();
  }

  Status profile(BenchResult &result) {
    GPT2_RETURN_IF_ERROR(session.begin(options.batch, SamplingParams()));
    for (uint32_t slot = 0; slot < options.batch; ++slot)
      GPT2_RETURN_IF_ERROR(session.prefill(slot, prompt));
    // The slots hold the last chunk, so this runs that chunk again.
    GPT2_ASSIGN_OR_RETURN(auto prefill,
                          executor.profile(session.prefillProgram()));
    GPT2_ASSIGN_OR_RETURN(
        auto decode, executor.profile(session.decodeProgram(options.batch)));
    result.prefillProfile = summedByKind(prefill);
    result.decodeProfile = summedByKind(decode);
    return Status::okStatus();
  }

  Executor &executor;
  Session session;
  BenchOptions options;
  std::vector<int32_t> prompt;
  double firstToken = 0;
  std::vector<double> prefillTimes, decodeTimes; // seconds
};

} // namespace

Result<BenchResult> gpt2rt::runBench(const Plan &plan, Executor &executor,
                                     const BenchOptions &options) {
  GPT2_ASSIGN_OR_RETURN(Session session, Session::create(plan, executor));
  if (options.batch == 0 || options.batch > session.slots())
    return outOfRange("--batch is ", options.batch, ", but it must be in [1, ",
                      session.slots(), "], the plan's batch");
  uint64_t total = uint64_t(options.promptTokens) + options.newTokens;
  if (options.promptTokens == 0 || options.newTokens == 0 ||
      total > session.positions())
    return outOfRange("--prompt-tokens ", options.promptTokens,
                      " and --new-tokens ", options.newTokens,
                      " must be positive and together at most ",
                      session.positions(), ", the model's n_positions");
  if (options.repeats == 0)
    return outOfRange("--repeat must be at least 1");
  return Bench(executor, std::move(session), options).run();
}
