//===- Metrics.cpp - What a run tells of its steps ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Train/Metrics.h"
#include "runtime/Support/File.h"
#include "runtime/Support/Json.h"
#include "runtime/Train/LossCurve.h"

#include <cerrno>

using namespace gpt2rt;

static constexpr const char *linesFile = "metrics.jsonl";

static std::string dumpLine(const Json &object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string gpt2rt::stepJson(const StepReport &r) {
  // Numbers that are not finite become null.
  Json object = {{"step", r.step},
                 {"loss", r.loss},
                 {"learning_rate", r.learningRate},
                 {"grad_norm", r.gradNorm},
                 {"loss_scale", r.lossScale},
                 {"skipped", r.skipped},
                 {"applied_steps", r.applied},
                 {"skipped_steps", r.skippedSteps},
                 {"tokens", r.tokens},
                 {"computed_tokens", r.computedTokens},
                 {"epoch", r.epoch},
                 {"seconds", r.seconds},
                 {"tokens_per_second", r.tokensPerSecond},
                 {"flops_per_second", r.flopsPerSecond},
                 {"loader_wait", r.loaderWait},
                 {"loader_tokens_per_second", r.loaderTokensPerSecond}};
  if (r.valLoss)
    object["val_loss"] = *r.valLoss;
  return dumpLine(object);
}

std::string gpt2rt::sampleJson(const SampleReport &r) {
  auto orNull = [&](const std::string &text) {
    return r.hasText ? Json(text) : Json();
  };
  return dumpLine({{"step", r.step},
                   {"prompt", orNull(r.promptText)},
                   {"text", orNull(r.result.text)},
                   {"prompt_ids", r.result.promptIds},
                   {"output_ids", r.result.outputIds},
                   {"finish_reason", finishReasonName(r.result.finish)}});
}

/// Calls see(line, object) for every line of a log; a last line that a killed
/// process left half-written is passed over.
template <typename See>
static Status forLines(const std::string &path, See see) {
  if (!fileExists(path))
    return {};
  GPT2_ASSIGN_OR_RETURN(std::string text, readTextFile(path, size_t(1) << 34));
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    Json object = Json::parse(line, nullptr, false);
    if (object.is_object() && object.contains("step") &&
        object["step"].is_number_unsigned())
      see(line, object);
  }
  return {};
}

static Status dropLaterSteps(const std::string &path, uint64_t lastStep) {
  std::string kept;
  GPT2_RETURN_IF_ERROR(forLines(path, [&](auto &line, const Json &object) {
    if (lastStep > 0 && object["step"].template get<uint64_t>() <= lastStep)
      kept += line + "\n";
  }));
  return writeFile(path, kept);
}

Result<MetricsLog> MetricsLog::open(const std::string &run, uint64_t lastStep) {
  std::string path = joinPath(run, linesFile);
  GPT2_RETURN_IF_ERROR(dropLaterSteps(path, lastStep));
  GPT2_ASSIGN_OR_RETURN(EventFile events, EventFile::create(run, lastStep + 1));
  std::FILE *lines = std::fopen(path.c_str(), "ae");
  if (!lines)
    return errnoStatus(errno, "cannot write", path);
  return MetricsLog(path, lines, std::move(events));
}

Status MetricsLog::addLine(const std::string &line) {
  if (std::fprintf(lines.get(), "%s\n", line.c_str()) < 0 ||
      std::fflush(lines.get()) != 0)
    return errnoStatus(errno, "cannot write", path);
  return {};
}

Status MetricsLog::add(const StepReport &r) {
  GPT2_RETURN_IF_ERROR(addLine(stepJson(r)));
  std::vector<EventFile::Scalar> scalars = {
      {"loss/train", r.loss},
      {"optimizer/learning_rate", r.learningRate},
      {"optimizer/grad_norm", r.gradNorm},
      {"optimizer/loss_scale", r.lossScale},
      {"optimizer/skipped_steps", double(r.skippedSteps)},
      {"speed/tokens_per_second", r.tokensPerSecond},
      {"speed/padding", r.padding()},
      {"speed/loader_wait", r.loaderWait}};
  if (r.valLoss)
    scalars.push_back({"loss/validation", *r.valLoss});
  return events.add(r.step, scalars);
}

Status MetricsLog::addValidation(uint64_t step, double loss) {
  GPT2_RETURN_IF_ERROR(addLine(dumpLine({{"step", step}, {"val_loss", loss}})));
  EventFile::Scalar scalar = {"loss/validation", loss};
  return events.add(step, {&scalar, 1});
}

Status MetricsLog::addSample(const SampleReport &r) {
  GPT2_RETURN_IF_ERROR(addLine(sampleJson(r)));
  std::string text = r.promptText + r.result.text;
  if (!r.hasText)
    for (int32_t id : r.result.outputIds)
      text += strCat(id, " ");
  return events.addText(r.step, strCat("samples/prompt_", r.prompt + 1), text);
}

Status MetricsLog::writeCurve(const std::string &run) {
  std::vector<CurvePoint> train, validation;
  auto collect = [](const Json &object, const char *name,
                    std::vector<CurvePoint> &points) {
    auto found = object.find(name);
    if (found != object.end() && found->is_number())
      points.push_back({object["step"].get<double>(), found->get<double>()});
  };
  GPT2_RETURN_IF_ERROR(
      forLines(joinPath(run, linesFile), [&](auto &, const Json &object) {
        collect(object, "loss", train);
        collect(object, "val_loss", validation);
      }));
  return writeFile(joinPath(run, "loss.svg"), lossCurveSvg(train, validation));
}
