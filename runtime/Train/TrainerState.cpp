//===- TrainerState.cpp - Where a run stands ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Train/TrainerState.h"
#include "runtime/Support/Json.h"
#include "runtime/Train/OutlierGuard.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace gpt2rt;

static constexpr uint64_t stateFormat = 1;

/// FNV-1a over the words, for telling algorithms apart.
static std::string digestOf(const fb::Tuning *tuning) {
  if (!tuning)
    return {};
  uint64_t hash = 0xcbf29ce484222325;
  for (const fb::MatmulAlgorithm *algorithm : *tuning->algorithms())
    for (uint64_t word : *algorithm->words())
      hash = (hash ^ word) * 0x100000001b3;
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx",
                static_cast<unsigned long long>(hash));
  return text;
}

PlanIdentity PlanIdentity::of(const Plan &plan) {
  const fb::Model &model = *plan.root().model();
  PlanIdentity identity;
  identity.target = fb::EnumNameTarget(plan.root().target());
  identity.precision = fb::EnumNamePrecision(plan.root().precision());
  if (std::optional<uint32_t> program = plan.findProgram("accumulate")) {
    identity.batch = plan.program(*program).batch();
    identity.sequence = plan.program(*program).tokens();
  }
  for (const fb::Program *program : *plan.root().programs())
    if (program->role() == fb::Role::Accumulate &&
        program->tokens() != identity.sequence)
      identity.shorter.push_back(program->tokens());
  std::sort(identity.shorter.begin(), identity.shorter.end());
  identity.layers = model.layers();
  identity.width = model.width();
  identity.heads = model.heads();
  identity.inner = model.inner();
  identity.positions = model.positions();
  identity.vocab = model.vocab();
  identity.algorithms = digestOf(plan.root().tuning());
  return identity;
}

std::string PlanIdentity::describeLengths() const {
  std::string text;
  for (uint64_t length : shorter)
    text += strCat(length, ", ");
  return strCat(text, sequence);
}

namespace {

struct Number {
  const char *name;
  uint64_t *value;
};

std::vector<Number> numbersOf(PlanIdentity &plan) {
  return {{"batch", &plan.batch},         {"sequence", &plan.sequence},
          {"layers", &plan.layers},       {"width", &plan.width},
          {"heads", &plan.heads},         {"inner", &plan.inner},
          {"positions", &plan.positions}, {"vocab", &plan.vocab}};
}

std::vector<Number> numbersOf(TrainerState &state) {
  return {{"step", &state.step},
          {"applied_steps", &state.applied},
          {"skipped_steps", &state.skipped},
          {"skipped_in_a_row", &state.skippedInRow},
          {"next_sample", &state.nextSample},
          {"tokens", &state.tokens},
          {"seed", &state.seed}};
}

/// Takes typed members out of an object that came from outside.
class Reader {
public:
  Reader(const Json &object, std::string_view what)
      : object(object), what(what) {}

  Status number(const char *name, uint64_t &to) const {
    const Json *value = find(name);
    if (!value || !value->is_number_unsigned())
      return bad(name, value, "an integer");
    to = value->get<uint64_t>();
    return {};
  }
  Status number(const char *name, double &to) const {
    const Json *value = find(name);
    if (!value || !value->is_number())
      return bad(name, value, "a number");
    to = value->get<double>();
    return {};
  }
  Status text(const char *name, std::string &to) const {
    const Json *value = find(name);
    if (!value || !value->is_string())
      return bad(name, value, "a string");
    to = value->get<std::string>();
    return {};
  }
  Status numbers(const char *name, std::vector<double> &to) const {
    const Json *value = find(name);
    if (!value || !value->is_array() ||
        !std::all_of(value->begin(), value->end(),
                     [](const Json &item) { return item.is_number(); }))
      return bad(name, value, "a list of numbers");
    to = value->get<std::vector<double>>();
    return {};
  }
  Status numbers(const char *name, std::vector<uint64_t> &to) const {
    const Json *value = find(name);
    if (!value || !value->is_array() ||
        !std::all_of(value->begin(), value->end(), [](const Json &item) {
          return item.is_number_unsigned();
        }))
      return bad(name, value, "a list of integers");
    to = value->get<std::vector<uint64_t>>();
    return {};
  }
  Result<Reader> member(const char *name) const {
    const Json *value = find(name);
    if (!value || !value->is_object())
      return bad(name, value, "an object");
    return Reader(*value, what);
  }
  const Json *find(const char *name) const {
    auto found = object.find(name);
    return found == object.end() ? nullptr : &*found;
  }

private:
  Status bad(const char *name, const Json *value, const char *expected) const {
    if (!value)
      return dataLoss(what, " has no ", quote(name));
    return dataLoss(what, ": ", name, " is ", jsonTypeName(*value),
                    ", expected ", expected);
  }

  const Json &object;
  std::string_view what;
};

Status readPlan(const Reader &reader, PlanIdentity &plan) {
  GPT2_RETURN_IF_ERROR(reader.text("target", plan.target));
  GPT2_RETURN_IF_ERROR(reader.text("precision", plan.precision));
  for (auto [name, value] : numbersOf(plan))
    GPT2_RETURN_IF_ERROR(reader.number(name, *value));
  if (reader.find("algorithms"))
    GPT2_RETURN_IF_ERROR(reader.text("algorithms", plan.algorithms));
  // Plans of one length do not say so.
  if (!reader.find("shorter_sequences"))
    return {};
  return reader.numbers("shorter_sequences", plan.shorter);
}

/// A loss that may be absent, or not a number.
void readLoss(const Reader &reader, const char *name,
              std::optional<double> &to) {
  const Json *value = reader.find(name);
  if (value && value->is_number())
    to = value->get<double>();
}

} // namespace

std::string gpt2rt::trainerStateText(const TrainerState &given) {
  TrainerState state = given;
  Json plan = {{"target", state.plan.target},
               {"precision", state.plan.precision}};
  if (!state.plan.algorithms.empty())
    plan["algorithms"] = state.plan.algorithms;
  for (auto [name, value] : numbersOf(state.plan))
    plan[name] = *value;
  if (!state.plan.shorter.empty())
    plan["shorter_sequences"] = state.plan.shorter;
  Json object = {{"format", stateFormat},
                 {"loss_scale", state.lossScale},
                 {"finite_steps", state.finiteSteps},
                 {"recent_norms", state.recentNorms},
                 {"data", state.data},
                 {"plan", std::move(plan)}};
  for (auto [name, value] : numbersOf(state))
    object[name] = *value;
  if (state.loss)
    object["loss"] = *state.loss;
  if (state.valLoss)
    object["val_loss"] = *state.valLoss;
  object["config"] = Json::parse(state.config, nullptr, false);
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<TrainerState> gpt2rt::parseTrainerState(std::string_view text,
                                               std::string_view what) {
  GPT2_ASSIGN_OR_RETURN(Json object, parseJson(text, what));
  if (!object.is_object())
    return dataLoss(what, " is ", jsonTypeName(object), ", expected an object");
  Reader reader(object, what);
  uint64_t format = 0;
  GPT2_RETURN_IF_ERROR(reader.number("format", format));
  if (format != stateFormat)
    return dataLoss(what, " has format ", format,
                    ", but this gpt2-run reads format ", stateFormat);
  TrainerState state;
  for (auto [name, value] : numbersOf(state))
    GPT2_RETURN_IF_ERROR(reader.number(name, *value));
  GPT2_RETURN_IF_ERROR(reader.number("loss_scale", state.lossScale));
  GPT2_RETURN_IF_ERROR(reader.number("finite_steps", state.finiteSteps));
  GPT2_RETURN_IF_ERROR(reader.numbers("recent_norms", state.recentNorms));
  GPT2_RETURN_IF_ERROR(reader.text("data", state.data));
  GPT2_ASSIGN_OR_RETURN(Reader plan, reader.member("plan"));
  GPT2_RETURN_IF_ERROR(readPlan(plan, state.plan));
  readLoss(reader, "loss", state.loss);
  readLoss(reader, "val_loss", state.valLoss);
  GPT2_RETURN_IF_ERROR(reader.member("config").status());
  state.config =
      object["config"].dump(2, ' ', false, Json::error_handler_t::replace) +
      "\n";
  if (state.applied > state.step || state.skipped != state.step - state.applied)
    return dataLoss(what, ": ", state.applied, " applied and ", state.skipped,
                    " skipped steps are not the ", state.step,
                    " steps it names");
  if (!(state.lossScale > 0) || !std::isfinite(state.lossScale) ||
      !(state.finiteSteps >= 0) ||
      state.recentNorms.size() > OutlierGuard::window)
    return dataLoss(what, ": the loss scale or the norms are damaged");
  return state;
}

Status gpt2rt::checkSamePlan(const PlanIdentity &saved,
                             const PlanIdentity &now) {
  if (saved.precision != now.precision)
    return failedPrecondition("the checkpoint is of a run in ", saved.precision,
                              ", but the plan computes in ", now.precision,
                              "; compile the plan with the same --precision");
  PlanIdentity was = saved, is = now;
  std::vector<Number> before = numbersOf(was), after = numbersOf(is);
  for (size_t i = 0; i < before.size(); ++i) {
    std::string_view name = before[i].name;
    if (name != "batch" && *before[i].value != *after[i].value)
      return failedPrecondition("the checkpoint is of a model and plan with ",
                                name, " ", *before[i].value,
                                ", but this plan has ", *after[i].value,
                                "; take the plan that the run began with");
  }
  return {};
}
