//===- Eval.cpp - gpt2-run eval -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Engine/Evaluator.h"
#include "runtime/Support/Json.h"
#include "tools/gpt2-run/Commands.h"
#include "tools/gpt2-run/Runner.h"

#include <chrono>
#include <unistd.h>

using namespace gpt2rt;
using namespace gpt2rt::tool;

namespace {

struct Flags {
  RunnerFlags runner;
  std::string text, ids, logits;
  CLI::Option *textOption = nullptr, *idsOption = nullptr,
              *logitsOption = nullptr;
  int64_t stride = 0;
  bool json = false;
};

/// A tensor `logits` [tokens, vocab] in a safetensors file.
Status writeLogits(const std::string &path, std::span<const float> rows,
                   uint64_t tokens) {
  TensorSpec spec = {"logits", DType::F32, {tokens, rows.size() / tokens}};
  GPT2_ASSIGN_OR_RETURN(SafetensorsWriter writer,
                        SafetensorsWriter::create(path, std::span(&spec, 1)));
  GPT2_RETURN_IF_ERROR(writer.append(std::as_bytes(rows)));
  return writer.commit();
}

Status saveLogits(const Flags &flags, Evaluator &evaluator) {
  GPT2_ASSIGN_OR_RETURN(std::vector<int32_t> ids, parseIds(flags.ids, "--ids"));
  GPT2_ASSIGN_OR_RETURN(std::vector<float> rows, evaluator.logits(ids));
  return writeLogits(flags.logits, rows, ids.size());
}

Status scoreText(const Flags &flags, const Runner &runner,
                 Evaluator &evaluator) {
  GPT2_ASSIGN_OR_RETURN(std::string text, readInput(flags.text));
  if (flags.runner.model.empty())
    return invalidArgument("--text needs the tokenizer of --model DIR");
  GPT2_ASSIGN_OR_RETURN(Tokenizer tokenizer,
                        Tokenizer::load(flags.runner.model));
  EncodeOptions plain;
  plain.parseSpecial = false;
  GPT2_ASSIGN_OR_RETURN(std::vector<int32_t> ids,
                        tokenizer.encode(text, plain));
  int64_t stride = flags.stride ? flags.stride : evaluator.window();
  if (stride < 1 || stride > int64_t(evaluator.window()))
    return outOfRange("--stride is ", stride, ", but it must be in [1, ",
                      evaluator.window(), "], the window of the plan");
  auto start = std::chrono::steady_clock::now();
  bool terminal = isatty(STDERR_FILENO);
  auto progress = [&](size_t done) {
    if (terminal)
      std::fprintf(stderr, "\r%zu of %zu tokens", done, ids.size());
  };
  GPT2_ASSIGN_OR_RETURN(
      EvalResult result,
      evaluator.evaluate(ids, static_cast<uint32_t>(stride), progress));
  double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  if (terminal)
    std::fputc('\n', stderr);
  if (flags.json)
    printJson({{"perplexity", result.perplexity()},
               {"mean_loss", result.meanLoss},
               {"tokens", result.tokens},
               {"window", evaluator.window()},
               {"stride", stride},
               {"seconds", seconds},
               {"memory", runner.memoryJson()}});
  else
    std::printf("perplexity %.4f, mean loss %.6f over %llu tokens (window %u, "
                "stride %lld, %.1f s)\n",
                result.perplexity(), result.meanLoss,
                static_cast<unsigned long long>(result.tokens),
                evaluator.window(), static_cast<long long>(stride), seconds);
  return Status::okStatus();
}

Status eval(const Flags &flags) {
  bool ids = flags.idsOption->count(), text = flags.textOption->count();
  if (ids == text)
    return invalidArgument("give either --text FILE or --ids with --logits");
  if (ids != (flags.logitsOption->count() != 0))
    return invalidArgument("--ids and --logits FILE come together");
  GPT2_ASSIGN_OR_RETURN(Runner runner, Runner::open(flags.runner));
  GPT2_ASSIGN_OR_RETURN(Evaluator evaluator,
                        Evaluator::create(runner.plan(), runner.executor()));
  GPT2_RETURN_IF_ERROR(ids ? saveLogits(flags, evaluator)
                           : scoreText(flags, runner, evaluator));
  runner.printMemory();
  return Status::okStatus();
}

} // namespace

Command tool::addEval(CLI::App &app) {
  auto flags = std::make_shared<Flags>();
  CLI::App *sub = app.add_subcommand("eval", "Perplexity of a text");
  flags->runner.add(*sub);
  flags->textOption = sub->add_option("--text", flags->text,
                                      "Text to score; - is standard input");
  sub->add_option("--stride", flags->stride,
                  "Tokens between the starts of two windows (the window)");
  flags->idsOption = sub->add_option(
      "--ids", flags->ids, "Token ids (1,2,3) to run through the model");
  flags->logitsOption = sub->add_option(
      "--logits", flags->logits,
      "With --ids: write their logits to this safetensors file");
  sub->add_flag("--json", flags->json, "Print one JSON object");
  return [=] { return eval(*flags); };
}
