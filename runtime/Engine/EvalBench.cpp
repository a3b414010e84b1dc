//===- EvalBench.cpp - Speed of an evaluation -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Engine/EvalBench.h"
#include "runtime/Device/InstructionTimes.h"
#include "runtime/Engine/Evaluator.h"

#include <chrono>

using namespace gpt2rt;

/// Any ids do: no instruction's work depends on them.
static std::vector<int32_t> makeText(size_t tokens, uint32_t vocab) {
  std::vector<int32_t> text(tokens);
  for (size_t i = 0; i < tokens; ++i)
    text[i] = static_cast<int32_t>(i * 7919 % vocab);
  return text;
}

Result<EvalBenchResult> gpt2rt::runEvalBench(const Plan &plan,
                                             Executor &executor,
                                             uint32_t repeats, bool profile) {
  using Clock = std::chrono::steady_clock;
  GPT2_ASSIGN_OR_RETURN(Evaluator evaluator, Evaluator::create(plan, executor));
  if (repeats == 0)
    return outOfRange("--repeat must be at least 1");
  EvalBenchResult result;
  result.batch = plan.root().batch();
  result.tokens = evaluator.window();
  std::vector<int32_t> text = makeText(size_t(result.batch) * result.tokens,
                                       plan.root().model()->vocab());
  std::vector<double> times;
  for (uint32_t i = 0; i <= repeats; ++i) {
    auto start = Clock::now();
    GPT2_ASSIGN_OR_RETURN(EvalResult scored,
                          evaluator.evaluate(text, result.tokens));
    std::chrono::duration<double> seconds = Clock::now() - start;
    result.meanLoss = scored.meanLoss;
    if (i > 0)
      times.push_back(seconds.count());
  }
  result.seconds = median(times);
  result.tokensPerSecond = double(text.size()) / result.seconds;
  if (profile) {
    GPT2_ASSIGN_OR_RETURN(std::vector<InstructionTime> parts,
                          executor.profile(*plan.findProgram("eval")));
    result.profile = summedByKind(parts);
  }
  return result;
}
