//===- Generate.cpp - gpt2-run generate -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Engine/Generator.h"
#include "runtime/Support/Json.h"
#include "tools/gpt2-run/Commands.h"
#include "tools/gpt2-run/Runner.h"

#include <cmath>
#include <csignal>

using namespace gpt2rt;
using namespace gpt2rt::tool;

namespace {

volatile std::sig_atomic_t interrupted = 0;

/// The first interrupt ends generation between two tokens; the handler resets
/// itself, so a second one ends the process.
void catchInterrupts() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted = 1; };
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
}

struct Flags {
  RunnerFlags runner;
  std::string prompt, promptFile, promptIds;
  CLI::Option *promptOption = nullptr, *fileOption = nullptr,
              *idsOption = nullptr;
  int64_t maxNewTokens = -1;
  double temperature = 1, topP = 1;
  int64_t topK = 0;
  uint64_t seed = 0;
  bool greedy = false, sample = false;
  std::vector<std::string> stop;
  bool ignoreEos = false, stream = false, json = false;
  int64_t topLogits = 0;
};

struct Prompts {
  std::vector<std::string> texts; ///< empty where ids were given
  std::vector<std::vector<int32_t>> ids;
};

/// Lines without their ends; a last line without an end counts, too.
std::vector<std::string> splitLines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    lines.emplace_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

Result<std::vector<std::string>> readTexts(const Flags &flags) {
  if (flags.promptOption->count()) {
    GPT2_RETURN_IF_ERROR(checkUtf8(flags.prompt, "--prompt"));
    return std::vector<std::string>{flags.prompt};
  }
  GPT2_ASSIGN_OR_RETURN(std::string text, readInput(flags.promptFile));
  std::vector<std::string> lines = splitLines(text);
  if (lines.empty())
    return invalidArgument("--prompt-file ", quote(flags.promptFile, 4096),
                           " holds no prompts; it takes one a line");
  for (size_t i = 0; i < lines.size(); ++i)
    GPT2_RETURN_IF_ERROR(checkUtf8(
        lines[i], strCat(quote(flags.promptFile, 4096), " line ", i + 1)));
  return lines;
}

/// An empty text is continued from the end-of-text token, which GPT-2 saw
/// before every document: as transformers does with its bos token.
Result<std::vector<int32_t>> encodePrompt(const Tokenizer &tokenizer,
                                          const std::string &text,
                                          const Plan &plan) {
  if (!text.empty())
    return tokenizer.encode(text);
  int32_t eos = plan.root().model()->eos();
  if (eos < 0)
    return invalidArgument("the prompt is empty, and the model has no "
                           "end-of-text token to begin with");
  return std::vector<int32_t>{eos};
}

Result<Prompts> readPrompts(const Flags &flags, const Plan &plan,
                            const Tokenizer *tokenizer) {
  Prompts prompts;
  if (flags.idsOption->count()) {
    GPT2_ASSIGN_OR_RETURN(prompts.ids.emplace_back(),
                          parseIds(flags.promptIds, "--prompt-ids"));
    return prompts;
  }
  GPT2_ASSIGN_OR_RETURN(prompts.texts, readTexts(flags));
  if (!tokenizer)
    return notFound("a text prompt needs a tokenizer: ",
                    flags.runner.model.empty()
                        ? std::string("give --model DIR")
                        : quote(flags.runner.model, 4096) +
                              " has no vocab.json and merges.txt",
                    ", or use --prompt-ids");
  for (const std::string &text : prompts.texts) {
    GPT2_ASSIGN_OR_RETURN(prompts.ids.emplace_back(),
                          encodePrompt(*tokenizer, text, plan));
  }
  return prompts;
}

Result<GenerateOptions> makeOptions(const Flags &flags) {
  GenerateOptions options;
  SamplingParams &sampling = options.sampling;
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  // Negated comparisons refuse NaN, too.
  if (!(flags.temperature >= 0) || !(flags.temperature <= 1e6))
    return invalidArgument("--temperature is ", flags.temperature,
                           ", but it must be in [0, 1000000]");
  if (!(flags.topP > 0) || !(flags.topP <= 1))
    return invalidArgument("--top-p is ", flags.topP,
                           ", but it must be above 0 and at most 1 (--greedy "
                           "takes the likeliest token)");
  if (flags.topK < 0 || flags.topK > most)
    return invalidArgument("--top-k is ", flags.topK,
                           ", but it must be 0 (no limit) or more");
  if (flags.maxNewTokens < -1 || flags.maxNewTokens > most)
    return invalidArgument("--max-new-tokens is ", flags.maxNewTokens,
                           ", but it must be 0 or more");
  if (flags.topLogits < 0 || flags.topLogits > most)
    return invalidArgument("--top-logits is ", flags.topLogits,
                           ", but it must be 0 or more");
  bool sampled = flags.sample && !flags.greedy;
  sampling.temperature = sampled ? static_cast<float>(flags.temperature) : 0;
  sampling.topK = static_cast<int32_t>(flags.topK);
  sampling.topP = static_cast<float>(flags.topP);
  sampling.seedLow = static_cast<uint32_t>(flags.seed);
  sampling.seedHigh = static_cast<uint32_t>(flags.seed >> 32);
  if (flags.maxNewTokens >= 0)
    options.maxNewTokens = static_cast<uint32_t>(flags.maxNewTokens);
  options.ignoreEos = flags.ignoreEos;
  options.topLogits = static_cast<uint32_t>(flags.topLogits);
  options.stop = flags.stop;
  for (const std::string &stop : flags.stop)
    if (stop.empty())
      return invalidArgument("--stop is empty; give the text to stop at");
  return options;
}

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

/// Prints text as it comes, prompts one after another: text of a prompt whose
/// turn has not come is kept.
class Printer {
public:
  explicit Printer(const Prompts &prompts)
      : prompts(prompts), kept(prompts.ids.size()),
        done(prompts.ids.size(), false) {
    begin();
  }

  void text(size_t prompt, std::string_view piece) {
    if (prompt != current)
      kept[prompt] += piece;
    else
      print(piece);
    std::fflush(stdout);
  }

  void finish(size_t prompt) {
    done[prompt] = true;
    while (current < done.size() && done[current]) {
      print("\n");
      ++current;
      begin();
    }
    std::fflush(stdout);
  }

private:
  void begin() {
    if (current == done.size())
      return;
    if (done.size() > 1)
      print(strCat(current ? "\n" : "", "==> prompt ", current + 1, " <==\n"));
    if (!prompts.texts.empty())
      print(prompts.texts[current]);
    print(kept[current]);
    std::fflush(stdout);
  }

  const Prompts &prompts;
  std::vector<std::string> kept;
  std::vector<bool> done;
  size_t current = 0;
};

Json resultJson(const GenerateResult &result, bool hasText) {
  Json json = {{"text", hasText ? Json(result.text) : Json()},
               {"prompt_ids", result.promptIds},
               {"output_ids", result.outputIds},
               {"finish_reason", finishReasonName(result.finish)}};
  if (!result.topLogits.empty()) {
    Json top = Json::array();
    for (const TokenLogit &entry : result.topLogits)
      top.push_back({{"id", entry.token}, {"logit", entry.logit}});
    json["top_logits"] = std::move(top);
  }
  return json;
}

Status generate(const Flags &flags) {
  if (flags.promptOption->count() + flags.fileOption->count() +
          flags.idsOption->count() !=
      1)
    return invalidArgument("give one of --prompt, --prompt-file and "
                           "--prompt-ids");
  GPT2_ASSIGN_OR_RETURN(GenerateOptions options, makeOptions(flags));
  GPT2_ASSIGN_OR_RETURN(Runner runner, Runner::open(flags.runner));
  std::unique_ptr<Tokenizer> tokenizer;
  if (!flags.runner.model.empty()) {
    GPT2_ASSIGN_OR_RETURN(tokenizer, loadTokenizer(flags.runner.model));
  }
  GPT2_ASSIGN_OR_RETURN(
      Generator generator,
      Generator::create(runner.plan(), runner.executor(), tokenizer.get()));
  GPT2_ASSIGN_OR_RETURN(Prompts prompts,
                        readPrompts(flags, runner.plan(), tokenizer.get()));
  catchInterrupts();
  GenerateCallbacks callbacks;
  callbacks.cancelled = [] { return interrupted != 0; };
  std::optional<Printer> printer;
  if (flags.stream && !flags.json && tokenizer) {
    printer.emplace(prompts);
    callbacks.onText = [&](size_t prompt, std::string_view text) {
      printer->text(prompt, text);
    };
    callbacks.onDone = [&](size_t prompt, const GenerateResult &) {
      printer->finish(prompt);
    };
  }
  auto results = generator.generate(prompts.ids, options, callbacks);
  if (!results.ok()) {
    if (printer)
      print("\n");
    return results.status();
  }
  for (size_t i = 0; i < results->size(); ++i) {
    const GenerateResult &result = (*results)[i];
    if (flags.json) {
      printJson(resultJson(result, tokenizer != nullptr));
    } else if (!printer) {
      if (results->size() > 1)
        print(strCat(i ? "\n" : "", "==> prompt ", i + 1, " <==\n"));
      if (tokenizer)
        print(strCat(prompts.texts.empty() ? "" : prompts.texts[i], result.text,
                     "\n"));
      else
        print(strCat(result.outputIds, "\n"));
    }
  }
  runner.printMemory();
  return interrupted ? cancelled("interrupted") : Status::okStatus();
}

} // namespace

Command tool::addGenerate(CLI::App &app) {
  auto flags = std::make_shared<Flags>();
  CLI::App *sub = app.add_subcommand("generate", "Continues prompts");
  flags->runner.add(*sub);
  flags->promptOption = sub->add_option("--prompt", flags->prompt,
                                        "Text to continue (empty: from the "
                                        "end-of-text token)");
  flags->fileOption = sub->add_option("--prompt-file", flags->promptFile,
                                      "File of prompts, one a line; - "
                                      "is standard input");
  flags->idsOption =
      sub->add_option("--prompt-ids", flags->promptIds, "Token ids: 1,2,3");
  sub->add_option("--max-new-tokens", flags->maxNewTokens,
                  strCat("Tokens to add to each prompt (",
                         GenerateOptions::defaultNewTokens,
                         ", or what the model's positions leave)"));
  auto *temperature =
      sub->add_option("--temperature", flags->temperature,
                      "Divide the logits by this and draw (0: greedy)");
  auto *topK = sub->add_option("--top-k", flags->topK,
                               "Draw from the K likeliest tokens (0: all)");
  auto *topP = sub->add_option(
      "--top-p", flags->topP,
      "Draw from the fewest tokens whose probability reaches P");
  auto *seed = sub->add_option("--seed", flags->seed, "Seed of the draws (0)");
  sub->add_flag("--greedy", flags->greedy,
                "Take the likeliest token (the default without a sampling "
                "flag)");
  sub->add_option("--stop", flags->stop, "Stop before this text (repeatable)")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  sub->add_flag("--ignore-eos", flags->ignoreEos,
                "Do not stop at the end-of-text token");
  sub->add_flag("--stream", flags->stream, "Print text as it is generated");
  sub->add_flag("--json", flags->json, "Print one JSON object a prompt");
  sub->add_option("--top-logits", flags->topLogits,
                  "With --json: the N largest logits after the prompt");
  return [=] {
    flags->sample =
        temperature->count() || topK->count() || topP->count() || seed->count();
    return generate(*flags);
  };
}
