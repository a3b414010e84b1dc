//===- Parameters.cpp - What a training plan trains -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Train/Parameters.h"
#include "runtime/Device/WeightLayout.h"

#include <algorithm>

using namespace gpt2rt;

using BufferIndex = StringMap<uint32_t>;

/// Buffers that live as long as the plan, by name.
static BufferIndex globalsOf(const Plan &plan) {
  BufferIndex found;
  for (uint32_t i = 0; i < plan.root().buffers()->size(); ++i)
    if (plan.buffer(i).program() < 0 && plan.buffer(i).view_of() < 0)
      found.emplace(plan.bufferName(i), i);
  return found;
}

/// The name under which transformers' GPT2LMHeadModel saves a tensor.
static std::string savedName(std::string_view name) {
  bool whole = name.starts_with("transformer.") || name == "lm_head.weight";
  return whole ? std::string(name) : strCat("transformer.", name);
}

/// The parameter that a load fills, or nothing where it fills a copy.
static Result<std::optional<Parameter>>
parameterOf(const Plan &plan, const fb::LoadWeight &load,
            const BufferIndex &globals) {
  std::string_view name = plan.bufferName(load.dst());
  auto moment1 = globals.find(strCat(name, ".m"));
  auto moment2 = globals.find(strCat(name, ".v"));
  if (moment1 == globals.end() || moment2 == globals.end())
    return std::optional<Parameter>();
  for (uint32_t index : {load.dst(), moment1->second, moment2->second})
    if (plan.buffer(index).dtype() != fb::DType::F32 ||
        plan.buffer(index).bytes() != plan.buffer(load.dst()).bytes())
      return dataLoss("the plan's buffer ", quote(plan.bufferName(index)),
                      " is not F32 of the size of ", quote(name));
  RowShape shape = rowShape(plan.buffer(load.dst()));
  Parameter parameter;
  parameter.name = savedName(load.names()->Get(0)->string_view());
  parameter.value = load.dst();
  parameter.moment1 = moment1->second;
  parameter.moment2 = moment2->second;
  parameter.rows = load.rows();
  parameter.cols = load.cols();
  parameter.transpose = load.transpose();
  parameter.planRows = shape.rows;
  parameter.planCols = shape.cols;
  return std::optional<Parameter>(std::move(parameter));
}

Result<std::vector<Parameter>> gpt2rt::findParameters(const Plan &plan) {
  BufferIndex globals = globalsOf(plan);
  std::vector<Parameter> parameters;
  std::optional<uint32_t> init = plan.findProgram("init");
  if (!init)
    return internalError("plan without a program 'init'");
  for (const fb::Instruction *instruction : *plan.program(*init).instructions())
    if (const fb::LoadWeight *load = instruction->op_as_LoadWeight()) {
      GPT2_ASSIGN_OR_RETURN(std::optional<Parameter> parameter,
                            parameterOf(plan, *load, globals));
      if (parameter)
        parameters.push_back(*std::move(parameter));
    }
  if (parameters.empty())
    return failedPrecondition("the plan trains no parameter; compile it with "
                              "--mode=train");
  return parameters;
}

// Tiles of a transposition: both sides of one stay in the first-level cache.
static constexpr uint64_t tileSize = 32;

/// Calls copy(row, column) for every element of the file, in tiles.
template <typename Copy>
static void forTiles(uint64_t rows, uint64_t cols, Copy copy) {
  for (uint64_t r = 0; r < rows; r += tileSize)
    for (uint64_t c = 0; c < cols; c += tileSize)
      for (uint64_t row = r; row < std::min(r + tileSize, rows); ++row)
        for (uint64_t col = c; col < std::min(c + tileSize, cols); ++col)
          copy(row, col);
}

void gpt2rt::toFileLayout(const Parameter &p, const float *plan, float *file) {
  if (p.transpose)
    return forTiles(p.rows, p.cols, [&](uint64_t row, uint64_t col) {
      file[row * p.cols + col] = plan[col * p.planCols + row];
    });
  uint64_t width = p.cols ? p.cols : p.rows;
  for (uint64_t row = 0; row < p.fileSize() / width; ++row)
    std::copy_n(plan + row * p.planCols, width, file + row * width);
}

void gpt2rt::toPlanLayout(const Parameter &p, const float *file, float *plan) {
  std::fill_n(plan, p.planSize(), 0.0f);
  if (p.transpose)
    return forTiles(p.rows, p.cols, [&](uint64_t row, uint64_t col) {
      plan[col * p.planCols + row] = file[row * p.cols + col];
    });
  uint64_t width = p.cols ? p.cols : p.rows;
  for (uint64_t row = 0; row < p.fileSize() / width; ++row)
    std::copy_n(file + row * width, width, plan + row * p.planCols);
}
