//===- ValidateModes.cpp - What a mode promises ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The engine finds programs and state slots by name and copies whole slots, so
// their element counts and types are part of the contract.
//
//===----------------------------------------------------------------------===//

#include "runtime/Plan/Validator.h"
#include "runtime/Support/DType.h"

#include <unordered_map>

using namespace gpt2rt;
using namespace gpt2rt::detail;

namespace {

using Names = std::unordered_map<std::string_view, uint32_t>;

class Modes {
public:
  explicit Modes(const fb::Plan &plan) : plan(plan) {}

  Status run() {
    GPT2_RETURN_IF_ERROR(indexPrograms());
    indexState();
    GPT2_RETURN_IF_ERROR(require("init", fb::Role::Init).status());
    switch (plan.mode()) {
    case fb::Mode::Generate:
      return checkGenerate();
    case fb::Mode::Eval:
      return checkEval();
    case fb::Mode::Train:
      return checkTrain();
    }
    return internalError("the mode was not checked");
  }

private:
  Status indexPrograms() {
    for (uint32_t i = 0; i < plan.programs()->size(); ++i) {
      std::string_view name = plan.programs()->Get(i)->name()->string_view();
      if (!programs.emplace(name, i).second)
        return Where("programs", i)
            .bad("name", quote(name), "another program has that name");
    }
    return Status::okStatus();
  }

  void indexState() {
    for (uint32_t i = 0; i < plan.buffers()->size(); ++i) {
      const fb::Buffer &buffer = *plan.buffers()->Get(i);
      if (buffer.program() == -1 && buffer.view_of() == -1 &&
          plan.arenas()->Get(buffer.arena())->kind() == fb::ArenaKind::State)
        state.emplace(buffer.name()->string_view(), i);
    }
  }

  Result<const fb::Program *> require(const std::string &name,
                                      fb::Role role) const {
    auto found = programs.find(name);
    if (found == programs.end())
      return dataLoss("the plan has no program '", name, "', which ",
                      fb::EnumNameMode(plan.mode()), " plans need");
    const fb::Program *program = plan.programs()->Get(found->second);
    if (program->role() != role)
      return Where("programs", found->second)
          .bad("role", fb::EnumNameRole(program->role()), "program '", name,
               "' must have ", fb::EnumNameRole(role));
    return program;
  }

  Status requireState(const char *name, fb::DType type,
                      uint64_t elements) const {
    auto found = state.find(name);
    if (found == state.end())
      return dataLoss("the plan has no state slot '", name, "', which ",
                      fb::EnumNameMode(plan.mode()), " plans need");
    const fb::Buffer &buffer = *plan.buffers()->Get(found->second);
    uint64_t count =
        buffer.bytes() / sizeOf(static_cast<DType>(buffer.dtype()));
    if (buffer.dtype() != type || count != elements)
      return dataLoss("buffers[", found->second, "] (state slot '", name,
                      "') has ", count, " values of ",
                      fb::EnumNameDType(buffer.dtype()), ", but ",
                      fb::EnumNameMode(plan.mode()), " plans need ", elements,
                      " of ", fb::EnumNameDType(type));
    return Status::okStatus();
  }

  Status checkGenerate() const {
    GPT2_ASSIGN_OR_RETURN(const fb::Program *prefill,
                          require("prefill", fb::Role::Prefill));
    uint64_t chunk = prefill->tokens(), batch = plan.batch();
    if (prefill->batch() != 1 || chunk == 0 ||
        chunk > plan.model()->positions())
      return dataLoss("program 'prefill' has batch ", prefill->batch(),
                      " and tokens ", chunk,
                      ", but it must have batch 1 and tokens in [1, ",
                      plan.model()->positions(), "]");
    for (const fb::Program *program : *plan.programs())
      if (program->role() == fb::Role::Decode &&
          (program->batch() == 0 || program->tokens() != 1 ||
           program->name()->string_view() !=
               strCat("decode_b", program->batch())))
        return dataLoss("program ", quote(program->name()->string_view()),
                        " has batch ", program->batch(), " and tokens ",
                        program->tokens(),
                        ", but decode programs are named decode_bBATCH and "
                        "have tokens 1");
    GPT2_RETURN_IF_ERROR(
        require(strCat("decode_b", batch), fb::Role::Decode).status());
    constexpr uint64_t words = 8; // sizeof(SamplingParams) / 4
    struct {
      const char *name;
      uint64_t elements;
    } slots[] = {
        {"tokens", batch}, {"positions", batch}, {"sampling", words * batch},
        {"prompt", chunk}, {"start", 1},         {"count", 1},
        {"slot", 1}};
    for (auto [name, elements] : slots)
      GPT2_RETURN_IF_ERROR(requireState(name, fb::DType::I32, elements));
    return requireState("logits", fb::DType::F32,
                        batch * plan.model()->padded_vocab());
  }

  Status checkEval() const {
    GPT2_ASSIGN_OR_RETURN(const fb::Program *eval,
                          require("eval", fb::Role::Eval));
    if (eval->batch() == 0 || eval->tokens() == 0 ||
        eval->tokens() > plan.model()->positions())
      return dataLoss("program 'eval' has batch ", eval->batch(),
                      " and tokens ", eval->tokens(),
                      ", but batch must be 1 or more and tokens in [1, ",
                      plan.model()->positions(), "]");
    uint64_t rows = uint64_t(eval->batch()) * eval->tokens();
    GPT2_RETURN_IF_ERROR(requireState("eval_tokens", fb::DType::I32, rows));
    GPT2_RETURN_IF_ERROR(requireState("targets", fb::DType::I32, rows));
    GPT2_RETURN_IF_ERROR(requireState("losses", fb::DType::F32, rows));
    return requireState("logits", fb::DType::F32,
                        rows * plan.model()->padded_vocab());
  }

  /// Programs for sequences shorter than `longest` come in pairs.
  Status checkSeqBuckets(uint64_t batch, uint64_t longest) const {
    for (const fb::Program *program : *plan.programs()) {
      bool accumulates = program->role() == fb::Role::Accumulate;
      if (!accumulates && program->role() != fb::Role::Validate)
        continue;
      std::string_view name = program->name()->string_view();
      const char *whole = accumulates ? "accumulate" : "validate";
      if (name == whole)
        continue;
      uint64_t tokens = program->tokens();
      if (name != strCat(whole, "_t", tokens) || program->batch() != batch ||
          tokens == 0 || tokens >= longest)
        return dataLoss("program ", quote(name), " has batch ",
                        program->batch(), " and tokens ", tokens,
                        ", but programs beside '", whole, "' are named ", whole,
                        "_tTOKENS and have batch ", batch,
                        " and tokens in [1, ", longest - 1, "]");
      GPT2_RETURN_IF_ERROR(
          accumulates
              ? require(strCat("validate_t", tokens), fb::Role::Validate)
                    .status()
              : require(strCat("accumulate_t", tokens), fb::Role::Accumulate)
                    .status());
    }
    return Status::okStatus();
  }

  Status checkTrain() const {
    GPT2_ASSIGN_OR_RETURN(const fb::Program *accumulate,
                          require("accumulate", fb::Role::Accumulate));
    GPT2_RETURN_IF_ERROR(require("update", fb::Role::Update).status());
    GPT2_ASSIGN_OR_RETURN(const fb::Program *validate,
                          require("validate", fb::Role::Validate));
    uint64_t batch = accumulate->batch(), tokens = accumulate->tokens();
    if (batch == 0 || tokens == 0 || tokens > plan.model()->positions())
      return dataLoss("program 'accumulate' has batch ", batch, " and tokens ",
                      tokens,
                      ", but batch must be 1 or more and tokens in [1, ",
                      plan.model()->positions(), "]");
    if (validate->batch() != batch || validate->tokens() != tokens)
      return dataLoss("program 'validate' has batch ", validate->batch(),
                      " and tokens ", validate->tokens(),
                      ", but 'accumulate' has ", batch, " and ", tokens);
    GPT2_RETURN_IF_ERROR(checkSeqBuckets(batch, tokens));
    for (const char *name : {"inputs", "targets", "order"})
      GPT2_RETURN_IF_ERROR(requireState(name, fb::DType::I32, batch * tokens));
    GPT2_RETURN_IF_ERROR(
        requireState("losses", fb::DType::F32, batch * tokens));
    GPT2_RETURN_IF_ERROR(requireState("loss_sum", fb::DType::F32, 1));
    GPT2_RETURN_IF_ERROR(requireState("step_params", fb::DType::F32, 16));
    GPT2_RETURN_IF_ERROR(requireState("rng", fb::DType::I32, 4));
    GPT2_RETURN_IF_ERROR(requireState("train_state", fb::DType::F32, 8));
    return programs.count("sample") ? checkSample(tokens) : Status::okStatus();
  }

  /// The program that plans for training have since format 1.2.
  Status checkSample(uint64_t tokens) const {
    GPT2_ASSIGN_OR_RETURN(const fb::Program *sample,
                          require("sample", fb::Role::Sample));
    if (sample->batch() != 1 || sample->tokens() != tokens)
      return dataLoss("program 'sample' has batch ", sample->batch(),
                      " and tokens ", sample->tokens(),
                      ", but it must have batch 1 and the ", tokens,
                      " of 'accumulate'");
    GPT2_RETURN_IF_ERROR(requireState("sampling", fb::DType::I32, 8));
    for (const char *name : {"tokens", "positions", "start", "count", "slot"})
      GPT2_RETURN_IF_ERROR(requireState(name, fb::DType::I32, 1));
    if (sample->count_slot() != int64_t(state.at("count")))
      return dataLoss("program 'sample' has count_slot ", sample->count_slot(),
                      ", but it must be state slot 'count'");
    return Status::okStatus();
  }

  const fb::Plan &plan;
  Names programs; // name -> index
  Names state;
};

} // namespace

Status detail::validateModes(const fb::Plan &plan) { return Modes(plan).run(); }
