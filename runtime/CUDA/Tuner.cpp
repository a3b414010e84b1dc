//===- Tuner.cpp - Algorithms of products by measurement ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Candidates take turns, so that a clock that changes meanwhile changes it for
// all of them. The first one is the heuristic's choice, which stays where no
// other is faster by more than noise.
//
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/Tuner.h"

#include <algorithm>
#include <cmath>

using namespace gpt2rt;
using namespace gpt2rt::cuda;

namespace {

// Seconds that one measurement should last, against the clock's grain.
constexpr double shortest = 2e-3;
constexpr double mostRuns = 50;
// Turns of the candidates that the first turn leaves, and how much slower than
// the fastest those may be.
constexpr unsigned turns = 4;
constexpr double closeEnough = 1.15;
// Runs that must agree, and how much of a result is compared.
constexpr unsigned equalRuns = 3;
constexpr uint64_t comparedBytes = uint64_t(32) << 20;

} // namespace

double Tuner::Candidate::median() const {
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() / 2];
}

Status Tuner::take(Step &step, const Candidate &candidate) {
  if (step.matmul()->use(candidate.algorithm))
    return Status();
  return internalError("cuBLASLt refuses an algorithm that it named for ",
                       step.matmul()->text());
}

Status Tuner::timeOnce(Step &step, Candidate &candidate, unsigned runs) {
  GPT2_RETURN_IF_ERROR(take(step, candidate));
  GPT2_ASSIGN_OR_RETURN(double seconds, timeRepeated(context, step, runs));
  candidate.seconds.push_back(seconds);
  return Status();
}

Result<std::vector<Tuner::Candidate>> Tuner::firstTurn(Step &step) {
  GPT2_ASSIGN_OR_RETURN(std::vector<AlgorithmWords> algorithms,
                        step.matmul()->candidates(options.candidates));
  if (algorithms.empty())
    return internalError("cuBLASLt names no algorithm for ",
                         step.matmul()->text());
  std::vector<Candidate> all;
  for (const AlgorithmWords &algorithm : algorithms)
    all.push_back({algorithm, {}});
  // The library loads a kernel at its first use, for which it waits until the
  // stream is idle: not behind a gate.
  for (Candidate &candidate : all) {
    GPT2_RETURN_IF_ERROR(take(step, candidate));
    GPT2_RETURN_IF_ERROR(
        step.enqueue(context, context.stream(), /*afterKernel=*/false));
  }
  for (Candidate &candidate : all)
    GPT2_RETURN_IF_ERROR(timeOnce(step, candidate, 1));
  return all;
}

Result<std::vector<Tuner::Candidate>>
Tuner::finals(Step &step, const std::vector<Candidate> &all) {
  double fastest = all.front().median();
  for (const Candidate &candidate : all)
    fastest = std::min(fastest, candidate.median());
  std::vector<Candidate> few;
  for (const Candidate &candidate : all)
    if (few.empty() || candidate.median() <= closeEnough * fastest)
      few.push_back({candidate.algorithm, {}});
  auto runs = static_cast<unsigned>(
      std::clamp(std::ceil(shortest / std::max(fastest, 1e-9)), 1.0, mostRuns));
  for (unsigned turn = 0; turn < turns; ++turn)
    for (Candidate &candidate : few)
      GPT2_RETURN_IF_ERROR(timeOnce(step, candidate, runs));
  return few;
}

Status Tuner::copyResult(const MatmulCall &call, std::vector<std::byte> &host,
                         bool toDevice) {
  const Driver &driver = context.driver();
  if (toDevice)
    GPT2_CU(driver, cuMemcpyHtoDAsync, call.result(), host.data(), host.size(),
            context.stream());
  else
    GPT2_CU(driver, cuMemcpyDtoHAsync, host.data(), call.result(), host.size(),
            context.stream());
  return context.synchronize();
}

Result<bool> Tuner::isRepeatable(Step &step) {
  const MatmulCall &call = *step.matmul();
  std::vector<std::byte> before(std::min(call.resultBytes(), comparedBytes));
  std::vector<std::byte> first(before.size()), other(before.size());
  GPT2_RETURN_IF_ERROR(copyResult(call, before, /*toDevice=*/false));
  for (unsigned run = 0; run < equalRuns; ++run) {
    // What is added up starts from the same sum.
    GPT2_RETURN_IF_ERROR(copyResult(call, before, /*toDevice=*/true));
    GPT2_RETURN_IF_ERROR(
        step.enqueue(context, context.stream(), /*afterKernel=*/false));
    GPT2_RETURN_IF_ERROR(
        copyResult(call, run ? other : first, /*toDevice=*/false));
    if (run && other != first)
      return false;
  }
  return true;
}

Status Tuner::dropUnrepeatable(Step &step, std::vector<Candidate> &all) {
  for (;;) {
    auto fastest = std::min_element(all.begin(), all.end(),
                                    [](const Candidate &a, const Candidate &b) {
                                      return a.median() < b.median();
                                    });
    if (fastest == all.begin() || !step.matmul()->use(fastest->algorithm))
      return Status();
    GPT2_ASSIGN_OR_RETURN(bool repeatable, isRepeatable(step));
    if (repeatable)
      return Status();
    all.erase(fastest);
  }
}

Result<TunedMatmul> Tuner::measure(Step &step) {
  GPT2_ASSIGN_OR_RETURN(std::vector<Candidate> all, firstTurn(step));
  TunedMatmul result;
  result.what = step.matmul()->text();
  result.candidates = static_cast<unsigned>(all.size());
  GPT2_RETURN_IF_ERROR(dropUnrepeatable(step, all));
  GPT2_ASSIGN_OR_RETURN(std::vector<Candidate> few, finals(step, all));
  result.before = few.front().median();
  std::stable_sort(few.begin() + 1, few.end(),
                   [](const Candidate &a, const Candidate &b) {
                     return a.median() < b.median();
                   });
  for (size_t i = 1; i < few.size(); ++i) {
    if (few[i].median() > (1 - options.leastGain) * result.before)
      break;
    if (!step.matmul()->use(few[i].algorithm))
      continue;
    GPT2_ASSIGN_OR_RETURN(bool repeatable, isRepeatable(step));
    if (!repeatable)
      continue;
    result.algorithm = few[i].algorithm;
    result.after = few[i].median();
    return result;
  }
  result.algorithm = few.front().algorithm;
  result.after = result.before;
  return result;
}

Status Tuner::tune(Step &step, TunedMatmul::Place place) {
  auto [entry, isNew] =
      known.try_emplace(step.matmul()->identity(), tuned.size());
  if (isNew) {
    GPT2_ASSIGN_OR_RETURN(TunedMatmul measured, measure(step));
    tuned.push_back(std::move(measured));
  }
  TunedMatmul &chosen = tuned[entry->second];
  if (!step.matmul()->use(chosen.algorithm))
    return internalError("cuBLASLt refuses for one ", chosen.what,
                         " what it took for another");
  chosen.places.push_back(place);
  return Status();
}
