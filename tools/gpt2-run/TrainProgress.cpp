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

void TrainProgress::validation(uint64_t done, uint64_t all) {
  using namespace std::chrono_literals;
  auto now = std::chrono::steady_clock::now();
  if (done == 0)
    shown = now; // a short one shows nothing
  if (!terminal || now - shown < 500ms)
    return;
  shown = now;
  std::fprintf(stderr, "\r\033[Kvalidating: %llu of %llu micro-batches",
               static_cast<unsigned long long>(done),
               static_cast<unsigned long long>(all));
  open = true;
}

/// A model may write anything: nothing of it commands the terminal.
static std::string printable(std::string_view text) {
  std::string shown;
  for (char c : text)
    if (c == '\n' || c == '\t' ||
        (static_cast<unsigned char>(c) >= 32 && c != 127))
      shown += c;
    else
      shown += "\uFFFD";
  return shown;
}

void TrainProgress::sample(const SampleReport &report) {
  if (json) {
    std::printf("%s\n", sampleJson(report).c_str());
    std::fflush(stdout);
    return;
  }
  std::string text = report.promptText + report.result.text;
  if (!report.hasText)
    for (int32_t id : report.result.outputIds)
      text += strCat(text.empty() ? "ids " : " ", id);
  finish();
  std::FILE *out = terminal ? stderr : stdout;
  std::fprintf(out, "sample at step %llu: %s\n",
               static_cast<unsigned long long>(report.step),
               printable(text).c_str());
  std::fflush(out);
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
