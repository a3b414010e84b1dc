//===- RunConfig.cpp - How a model is trained -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Train/RunConfig.h"
#include "runtime/Support/Json.h"

#include <algorithm>
#include <cmath>

using namespace gpt2rt;

std::string ConfigField::flag() const {
  std::string text = strCat("--", name);
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

std::vector<ConfigField> gpt2rt::configFields(RunConfig &c) {
  return {
      {"model", &c.model,
       "Model directory to start from: weights, config.json and tokenizer; "
       "without one, weights are random"},
      {"random_weights", &c.randomWeights,
       "Start from random weights; config and tokenizer are still --model's"},
      {"data", &c.data,
       "Token shards (files or 'patterns'), or text to fine-tune on: .txt with "
       "a document a line, or .jsonl with objects that have a \"text\""},
      {"val", &c.val, "The same, to validate on"},
      {"split", &c.split,
       "Validate on this share of the documents of a text (0.1)"},
      {"max_length", &c.maxLength,
       "Cut documents to this many tokens (what a row of the plan holds)"},
      {"no_shuffle", &c.noShuffle, "Take the data in its own order"},
      {"group_by_length", &c.groupByLength,
       "Bring documents of like lengths together, so that micro-batches are "
       "padded less: for plans with --seq-buckets"},
      {"seed", &c.seed, "Seed of the data's order, dropout and random weights"},
      {"steps", &c.steps, "Steps of the run"},
      {"accumulate", &c.accumulate, "Micro-batches of a step (1)"},
      {"tokens_per_step", &c.tokensPerStep,
       "The same in tokens: a multiple of the plan's batch * seq"},
      {"lr", &c.lr, "Highest learning rate (3e-4)"},
      {"min_lr", &c.minLr, "Learning rate that schedules end at (0)"},
      {"schedule", &c.schedule, "constant, linear, cosine or wsd (cosine)"},
      {"warmup", &c.warmup, "Steps in which the learning rate rises (0)"},
      {"decay_steps", &c.decaySteps,
       "Last steps in which wsd's falls (a fifth of all)"},
      {"weight_decay", &c.weightDecay,
       "AdamW's, on tensors of rank 2 and more (0.1)"},
      {"beta1", &c.beta1, "AdamW's (0.9)"},
      {"beta2", &c.beta2, "AdamW's (0.95)"},
      {"eps", &c.eps, "AdamW's (1e-8)"},
      {"clip", &c.clip, "Largest norm of all gradients; 0: any (1)"},
      {"outlier_guard", &c.outlierGuard,
       "Skip steps whose gradient norm is this many standard deviations above "
       "the recent mean; 0: never (0)"},
      {"max_skips", &c.maxSkips, "Stop after this many skips in a row (25)"},
      {"val_every", &c.valEvery,
       "Steps between validations; the end has one as well (250)"},
      {"val_steps", &c.valSteps,
       "Micro-batches of a validation, always the first of the data; all, or "
       "0: the whole data once (20)"},
      {"save_every", &c.saveEvery,
       "Steps between checkpoints; the end has one as well; 0: only that (0)"},
      {"keep", &c.keep, "Newest checkpoints to keep; 0: all (3)"},
      {"sample_every", &c.sampleEvery,
       "Steps between texts that the model writes; the end has some as well; "
       "0: none (0)"},
      {"sample_prompt", &c.samplePrompt,
       "What a text begins with; several give a text each (the end-of-text "
       "token, as an empty one does)"},
      {"sample_tokens", &c.sampleTokens,
       "New tokens of a text (64, or what fits the plan's --seq)"},
      {"sample_temperature", &c.sampleTemperature,
       "Of the draws of texts; 0: the likeliest token (0.8)"},
      {"sample_top_k", &c.sampleTopK,
       "Draw from the K likeliest tokens; 0: from all (200)"},
      {"sample_top_p", &c.sampleTopP,
       "Draw from the likeliest tokens that reach this probability (1)"},
      {"sample_seed", &c.sampleSeed, "Seed of the draws, for every text (0)"},
  };
}

namespace {

/// Sets one field from JSON; false where the type is another.
struct Setter {
  const Json &value;

  bool operator()(std::string *to) const {
    const auto *text = value.get_ptr<const std::string *>();
    if (text)
      *to = *text;
    return text;
  }
  bool operator()(std::vector<std::string> *to) const {
    std::vector<std::string> list;
    if (value.is_string())
      list.push_back(value.get<std::string>());
    else if (!value.is_array())
      return false;
    for (size_t i = 0; value.is_array() && i < value.size(); ++i) {
      if (!value[i].is_string())
        return false;
      list.push_back(value[i].get<std::string>());
    }
    *to = std::move(list);
    return true;
  }
  bool operator()(double *to) const {
    if (value.is_number())
      *to = value.get<double>();
    return value.is_number();
  }
  bool operator()(int64_t *to) const {
    bool fits = value.is_number_integer() &&
                !(value.is_number_unsigned() &&
                  value.get<uint64_t>() > uint64_t(INT64_MAX));
    if (fits)
      *to = value.get<int64_t>();
    return fits;
  }
  bool operator()(bool *to) const {
    if (value.is_boolean())
      *to = value.get<bool>();
    return value.is_boolean();
  }
};

const char *expectedType(const ConfigField &field) {
  static constexpr const char *names[] = {
      "a string", "a list of strings", "a number", "an integer", "a boolean"};
  return names[field.value.index()];
}

} // namespace

Status gpt2rt::readConfig(std::string_view text, std::string_view what,
                          RunConfig &config) {
  GPT2_ASSIGN_OR_RETURN(Json object, parseJson(text, what));
  if (!object.is_object())
    return dataLoss(what, " is ", jsonTypeName(object), ", expected an object");
  std::vector<ConfigField> fields = configFields(config);
  for (auto &item : object.items()) {
    const std::string &key = item.key();
    const Json &value = item.value();
    auto field = std::find_if(fields.begin(), fields.end(),
                              [&](auto &known) { return key == known.name; });
    if (field == fields.end()) {
      std::vector<std::string> names;
      for (const ConfigField &known : fields)
        names.emplace_back(known.name);
      std::string nearest = nearestName(key, names);
      return invalidArgument(what, " has an unknown setting ", quote(key),
                             nearest.empty() ? "" : ", did you mean '", nearest,
                             nearest.empty() ? "" : "'?");
    }
    if (!std::visit(Setter{value}, field->value))
      return invalidArgument(what, ": ", key, " is ", jsonTypeName(value),
                             ", expected ", expectedType(*field));
  }
  return {};
}

std::string gpt2rt::configText(const RunConfig &config) {
  RunConfig copy = config;
  Json object = Json::object();
  for (const ConfigField &field : configFields(copy))
    std::visit([&](auto *value) { object[field.name] = *value; }, field.value);
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Status gpt2rt::checkConfig(const RunConfig &c) {
  constexpr double inf = HUGE_VAL;
  struct {
    const char *flag;
    double value, low, high;
    const char *range;
  } ranges[] = {
      {"--split", c.split, 0, std::nextafter(1.0, 0.0), "in [0, 1)"},
      {"--lr", c.lr, 0, 1e3, "in [0, 1000]"},
      {"--min-lr", c.minLr, 0, c.lr, "0 or more and at most --lr"},
      {"--weight-decay", c.weightDecay, 0, 1e3, "in [0, 1000]"},
      {"--beta1", c.beta1, 0, std::nextafter(1.0, 0.0), "in [0, 1)"},
      {"--beta2", c.beta2, 0, std::nextafter(1.0, 0.0), "in [0, 1)"},
      {"--eps", c.eps, 1e-30, 1, "in [1e-30, 1]"},
      {"--clip", c.clip, 0, 1e30, "0 (no clipping) or more"},
      {"--outlier-guard", c.outlierGuard, 0, 1e6, "0 (off) or more"},
      {"--steps", double(c.steps), 1, 1e15, "1 or more: how long to train"},
      {"--seed", double(c.seed), 0, inf, "0 or more"},
      {"--warmup", double(c.warmup), 0, double(c.steps),
       "0 or more and at most --steps"},
      {"--decay-steps", double(c.decaySteps), 0, double(c.steps),
       "0 or more and at most --steps"},
      {"--accumulate", double(c.accumulate), 0, 1e9, "1 or more"},
      {"--tokens-per-step", double(c.tokensPerStep), 0, 1e15, "1 or more"},
      {"--max-length", double(c.maxLength), 0, 1e9, "2 or more"},
      {"--max-skips", double(c.maxSkips), 1, 1e15, "1 or more"},
      {"--val-every", double(c.valEvery), 1, 1e15, "1 or more"},
      {"--val-steps", double(c.valSteps), 0, 1e15, "0 (all) or more"},
      {"--save-every", double(c.saveEvery), 0, 1e15,
       "0 (only at the end) or "
       "more"},
      {"--keep", double(c.keep), 0, 1e15, "0 (all) or more"},
      {"--sample-every", double(c.sampleEvery), 0, 1e15, "0 (never) or more"},
      {"--sample-tokens", double(c.sampleTokens), 0, 1e9, "1 or more"},
      {"--sample-temperature", c.sampleTemperature, 0, 1e6, "in [0, 1000000]"},
      {"--sample-top-k", double(c.sampleTopK), 0, INT32_MAX,
       "0 (no limit) or more"},
      {"--sample-top-p", c.sampleTopP, 1e-30, 1, "above 0 and at most 1"},
      {"--sample-seed", double(c.sampleSeed), 0, inf, "0 or more"},
  };
  for (auto [flag, value, low, high, range] : ranges)
    if (!(value >= low && value <= high))
      return outOfRange(flag, " is ", value, ", but it must be ", range);
  if (c.groupByLength && c.noShuffle)
    return invalidArgument("--group-by-length and --no-shuffle ask for two "
                           "orders of the data: give one of them");
  return scheduleOf(c).status();
}

Result<uint64_t> gpt2rt::accumulationOf(const RunConfig &config, uint64_t batch,
                                        uint64_t tokens) {
  uint64_t micro = batch * tokens;
  auto wanted = static_cast<uint64_t>(config.tokensPerStep);
  auto given = static_cast<uint64_t>(std::max<int64_t>(config.accumulate, 1));
  if (wanted == 0)
    return given;
  if (wanted % micro != 0)
    return invalidArgument(
        "--tokens-per-step ", wanted, " is no multiple of the ", micro,
        " tokens of the plan's micro-batch (batch ", batch, " * seq ", tokens,
        "); take ", std::max<uint64_t>(wanted / micro, 1) * micro, " or ",
        (wanted / micro + 1) * micro, ", or compile with another --batch");
  if (config.accumulate > 0 && given != wanted / micro)
    return invalidArgument("--accumulate ", given, " of ", micro,
                           " tokens is not --tokens-per-step ", wanted,
                           "; give one of them");
  return wanted / micro;
}

Result<Schedule> gpt2rt::scheduleOf(const RunConfig &config) {
  Schedule schedule;
  GPT2_ASSIGN_OR_RETURN(schedule.kind, parseScheduleKind(config.schedule));
  schedule.peak = config.lr;
  schedule.minimum = config.minLr;
  schedule.warmup = static_cast<uint64_t>(config.warmup);
  schedule.steps = static_cast<uint64_t>(config.steps);
  schedule.decay = config.decaySteps ? static_cast<uint64_t>(config.decaySteps)
                                     : schedule.steps / 5;
  return schedule;
}
