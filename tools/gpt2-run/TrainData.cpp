//===- TrainData.cpp - The data sets that train's flags name --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "tools/gpt2-run/TrainData.h"
#include "runtime/Train/TextDataset.h"
#include "runtime/Train/TokenShards.h"
#include "tools/gpt2-run/Runner.h"

using namespace gpt2rt;
using namespace gpt2rt::tool;

namespace {

/// Rows of a sample, the ids that the model knows, and whether the plan has
/// programs for shorter samples.
struct Shape {
  uint32_t sequence, vocab;
  bool hasShorter;
};

Result<Shape> shapeOf(const Plan &plan) {
  std::optional<uint32_t> program = plan.findProgram("accumulate");
  if (!program)
    return internalError("plan without a program 'accumulate'");
  size_t lengths = 0;
  for (const fb::Program *other : *plan.root().programs())
    lengths += other->role() == fb::Role::Accumulate;
  return Shape{plan.program(*program).tokens(), plan.root().model()->vocab(),
               lengths > 1};
}

/// Whether the files are texts; an error where only some are.
Result<bool> areTexts(const std::vector<std::string> &files,
                      std::string_view flag) {
  for (const std::string &file : files)
    if (isTextPath(file) != isTextPath(files[0]))
      return invalidArgument(flag, " mixes texts and token shards: ",
                             quote(files[0], 4096), " and ", quote(file, 4096));
  return isTextPath(files[0]);
}

Result<TextDataset> openText(const std::vector<std::string> &files,
                             const RunConfig &config, const Plan &plan,
                             Shape shape, const std::string &tokenizerSource) {
  if (tokenizerSource.empty())
    return invalidArgument("text needs the tokenizer of --model DIR; token "
                           "shards (gpt2-run tokenize) need none");
  GPT2_ASSIGN_OR_RETURN(Tokenizer tokenizer, Tokenizer::load(tokenizerSource));
  TextOptions options;
  options.sequence = shape.sequence;
  options.vocab = shape.vocab;
  options.maxLength = static_cast<uint32_t>(config.maxLength);
  options.end = tokenizer.specialToken("<|endoftext|>");
  if (int32_t eos = plan.root().model()->eos(); !options.end && eos >= 0)
    options.end = eos;
  return TextDataset::load(files, tokenizer, options);
}

std::string describe(const TextDataset &data) {
  return strCat(data.count(), " documents, ", data.totalTokens(), " tokens",
                data.cutCount() ? strCat(" (", data.cutCount(), " cut)")
                                : std::string());
}

/// A line of advice where padding is most of the work; or nothing.
std::string adviceOn(const TextDataset &data, const Shape &shape,
                     bool grouped) {
  double rows = double(data.count()) * shape.sequence;
  double padding = 1 - double(data.totalTokens() - data.count()) / rows;
  int percent = static_cast<int>(100 * padding);
  if (padding < 0.5)
    return "";
  if (!shape.hasShorter)
    return strCat("\n", percent, "% of the rows of ", shape.sequence,
                  " tokens will be padding: a plan compiled with "
                  "--seq-buckets=auto skips most of it");
  return grouped ? ""
                 : "\nmost documents are short: with --group-by-length, "
                   "micro-batches of like lengths run in shorter programs";
}

class Opener {
public:
  Opener(const RunConfig &config, const Plan &plan, const std::string &source)
      : config(config), plan(plan), source(source) {}

  Result<TrainData> open();

private:
  Status openTrain(const std::vector<std::string> &files);
  Status openValidation();
  Status openShards(const std::vector<std::string> &files,
                    std::unique_ptr<Dataset> &to, const char *what);

  const RunConfig &config;
  const Plan &plan;
  const std::string &source;
  Shape shape = {};
  std::string advice;
  TrainData data;
};

Status Opener::openShards(const std::vector<std::string> &files,
                          std::unique_ptr<Dataset> &to, const char *what) {
  GPT2_ASSIGN_OR_RETURN(TokenShards shards,
                        TokenShards::open(files, shape.sequence, shape.vocab));
  data.summary +=
      strCat(what, files.size(), " shards, ", shards.totalTokens(), " tokens");
  to = std::make_unique<TokenShards>(std::move(shards));
  return Status::okStatus();
}

Status Opener::openTrain(const std::vector<std::string> &files) {
  GPT2_ASSIGN_OR_RETURN(bool text, areTexts(files, "--data"));
  if (!text) {
    if (config.split > 0)
      return invalidArgument("--split is for texts; gpt2-run tokenize --split "
                             "makes a shard for --val");
    if (config.maxLength > 0)
      return invalidArgument("--max-length is for texts; shards are cut into "
                             "windows of the plan's --seq");
    if (config.groupByLength)
      return invalidArgument("--group-by-length is for texts; windows of "
                             "shards have one length");
    return openShards(files, data.train, "training on ");
  }
  GPT2_ASSIGN_OR_RETURN(TextDataset texts,
                        openText(files, config, plan, shape, source));
  if (config.split > 0) {
    GPT2_ASSIGN_OR_RETURN(
        TextDataset held,
        texts.split(config.split, static_cast<uint64_t>(config.seed)));
    data.validation = std::make_unique<TextDataset>(std::move(held));
  }
  data.summary = strCat("training on ", describe(texts));
  if (data.validation)
    data.summary +=
        strCat(", validating on ",
               describe(static_cast<const TextDataset &>(*data.validation)));
  advice = adviceOn(texts, shape, config.groupByLength);
  data.train = std::make_unique<TextDataset>(std::move(texts));
  return Status::okStatus();
}

Status Opener::openValidation() {
  if (config.val.empty())
    return Status::okStatus();
  if (config.split > 0)
    return invalidArgument("give --val or --split, not both");
  GPT2_ASSIGN_OR_RETURN(std::vector<std::string> files,
                        expandPatterns(config.val, "--val"));
  GPT2_ASSIGN_OR_RETURN(bool text, areTexts(files, "--val"));
  if (!text)
    return openShards(files, data.validation, ", validating on ");
  GPT2_ASSIGN_OR_RETURN(TextDataset texts,
                        openText(files, config, plan, shape, source));
  data.summary += strCat(", validating on ", describe(texts));
  data.validation = std::make_unique<TextDataset>(std::move(texts));
  return Status::okStatus();
}

Result<TrainData> Opener::open() {
  if (config.data.empty())
    return invalidArgument("give --data: token shards or texts to train on");
  GPT2_ASSIGN_OR_RETURN(std::vector<std::string> files,
                        expandPatterns(config.data, "--data"));
  GPT2_ASSIGN_OR_RETURN(shape, shapeOf(plan));
  GPT2_RETURN_IF_ERROR(openTrain(files));
  GPT2_RETURN_IF_ERROR(openValidation());
  data.summary += advice;
  return std::move(data);
}

} // namespace

Result<TrainData> tool::openTrainData(const RunConfig &config, const Plan &plan,
                                      const std::string &tokenizerSource) {
  return Opener(config, plan, tokenizerSource).open();
}
