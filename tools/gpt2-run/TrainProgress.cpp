//===- TrainProgress.cpp - What train prints while it runs ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "tools/gpt2-run/TrainProgress.h"
#include "tools/gpt2-run/Runner.h"

#include <cstdio>
#include <unistd.h>

using namespace gpt2rt;
using namespace gpt2rt::tool;

TrainProgress::TrainProgress(bool json, uint64_t bytes, double peakFlops)
    : json(json), terminal(isatty(STDERR_FILENO)), bytes(bytes),
      peakFlops(peakFlops) {}

/// "1:02:03" or "2:03".
static std::string clockText(double seconds) {
  auto whole = static_cast<unsigned long long>(seconds + 0.5);
  char text[32];
  if (whole >= 3600)
    std::snprintf(text, sizeof(text), "%llu:%02llu:%02llu", whole / 3600,
                  whole / 60 % 60, whole % 60);
  else
    std::snprintf(text, sizeof(text), "%llu:%02llu", whole / 60, whole % 60);
  return text;
}

std::string TrainProgress::lineOf(const StepReport &r) const {
  char text[256];
  std::snprintf(text, sizeof(text),
                "step %llu/%llu  loss %.4f  lr %.2e  norm %.3f  %.0f tok/s  "
                "%.2f TFLOP/s",
                static_cast<unsigned long long>(r.step),
                static_cast<unsigned long long>(r.steps), r.loss,
                r.learningRate, r.gradNorm, r.tokensPerSecond,
                r.flopsPerSecond / 1e12);
  std::string line = text;
  if (peakFlops > 0) {
    std::snprintf(text, sizeof(text), " (%.1f%%)",
                  100 * r.flopsPerSecond / peakFlops);
    line += text;
  }
  line += strCat("  ", formatBytes(bytes), "  left ", clockText(r.secondsLeft));
  if (r.skipped)
    line += "  skipped";
  if (r.padding() >= 0.005) {
    std::snprintf(text, sizeof(text), "  padding %.0f%%", 100 * r.padding());
    line += text;
  }
  // A loader that keeps up is not worth a word.
  if (r.loaderWait > 0.05 * r.seconds) {
    std::snprintf(text, sizeof(text), "  waited %.0f ms for data",
                  r.loaderWait * 1e3);
    line += text;
  }
  if (r.valLoss) {
    std::snprintf(text, sizeof(text), "  validation loss %.4f", *r.valLoss);
    line += text;
  }
  return line;
}

void TrainProgress::step(const StepReport &report) {
  if (json) {
    std::printf("%s\n", stepJson(report).c_str());
    std::fflush(stdout); // whoever reads it follows the run
  }
  if (terminal) {
    std::fprintf(stderr, "\r\033[K%s", lineOf(report).c_str());
    open = true;
    if (report.valLoss) // worth keeping
      finish();
  } else if (!json) {
    std::printf("%s\n", lineOf(report).c_str());
    std::fflush(stdout);
  }
}

void TrainProgress::message(const std::string &line) {
  if (open)
    std::fputs("\r\033[K", stderr);
  open = false;
  std::fprintf(stderr, "%s\n", line.c_str());
}

void TrainProgress::finish() {
  if (open)
    std::fputc('\n', stderr);
  open = false;
}
