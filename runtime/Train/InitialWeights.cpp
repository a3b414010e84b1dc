//===- InitialWeights.cpp - A model from nothing --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Train/InitialWeights.h"
#include "runtime/Support/Json.h"
#include "runtime/Train/SampleOrder.h"

#include <cmath>
#include <numbers>

using namespace gpt2rt;

/// The `pair`-th two numbers of a stream of normally distributed ones (Box and
/// Muller).
static std::pair<double, double> normalPair(uint64_t stream, uint64_t pair) {
  constexpr double unit = 0x1p-53;
  uint64_t first = mixBits(stream + 2 * pair), second = mixBits(~first);
  double radius = std::sqrt(-2 * std::log((double(first >> 11) + 0.5) * unit));
  double angle = 2 * std::numbers::pi * double(second >> 11) * unit;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

void gpt2rt::initializeTensor(std::string_view name, bool matrix, double range,
                              uint64_t layers, uint64_t seed,
                              std::span<float> out) {
  if (!matrix) {
    bool gamma = name.find("ln_") != name.npos && name.ends_with(".weight");
    std::fill(out.begin(), out.end(), gamma ? 1.0f : 0.0f);
    return;
  }
  if (name.ends_with("c_proj.weight"))
    range /= std::sqrt(2.0 * double(layers));
  uint64_t stream = mixBits(seed);
  for (char c : name)
    stream = mixBits(stream ^ static_cast<unsigned char>(c));
  auto pairs = static_cast<int64_t>((out.size() + 1) / 2);
#pragma omp parallel for
  for (int64_t i = 0; i < pairs; ++i) {
    auto [a, b] = normalPair(stream, static_cast<uint64_t>(i));
    auto at = static_cast<size_t>(2 * i);
    out[at] = static_cast<float>(range * a);
    if (at + 1 < out.size())
      out[at + 1] = static_cast<float>(range * b);
  }
}

/// The config's initializer_range, where it has one.
static Result<double> initializerRange(const Plan &plan) {
  constexpr double usual = 0.02; // transformers' default, and OpenAI's
  const auto *text = plan.root().model()->config_json();
  if (!text)
    return usual;
  GPT2_ASSIGN_OR_RETURN(
      Json config, parseJson(text->string_view(), "the plan's config.json"));
  if (!config.is_object() || !config.contains("initializer_range"))
    return usual;
  const Json &range = config["initializer_range"];
  if (!range.is_number() || !(range.get<double>() > 0) ||
      !(range.get<double>() < 10))
    return dataLoss("the plan's config.json has an initializer_range that is "
                    "no number in (0, 10)");
  return range.get<double>();
}

Result<InitialWeights> InitialWeights::make(const Plan &plan, uint64_t seed) {
  GPT2_ASSIGN_OR_RETURN(double range, initializerRange(plan));
  std::optional<uint32_t> init = plan.findProgram("init");
  if (!init)
    return internalError("plan without a program 'init'");
  InitialWeights weights;
  TensorMap views;
  for (const fb::Instruction *instruction :
       *plan.program(*init).instructions()) {
    const fb::LoadWeight *load = instruction->op_as_LoadWeight();
    if (!load)
      continue;
    std::string name = load->names()->Get(0)->str();
    if (views.count(name)) // the master and its copy in 16 bits
      continue;
    TensorView view;
    view.shape = {load->rows()};
    if (load->cols())
      view.shape.push_back(load->cols());
    auto &values = weights.storage.emplace_back(
        load->rows() * std::max<uint64_t>(load->cols(), 1));
    initializeTensor(name, load->cols() != 0, range,
                     plan.root().model()->layers(), seed, values);
    view.data = reinterpret_cast<const std::byte *>(values.data());
    view.bytes = values.size() * sizeof(float);
    views.emplace(std::move(name), std::move(view));
  }
  weights.tensors = Checkpoint::ofTensors("random weights", views);
  return weights;
}
