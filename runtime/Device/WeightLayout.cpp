//===- WeightLayout.cpp - Checkpoint tensors in a plan's layout -----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/Device/WeightLayout.h"
#include "runtime/Support/Convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace gpt2rt {

// Tiles of a transposition: a tile's source rows and destination rows stay in
// the first-level cache.
static constexpr uint64_t tileSize = 64;

RowShape rowShape(const fb::Buffer &buffer) {
  RowShape shape;
  uint32_t rank = buffer.shape()->size();
  for (uint32_t i = 0; i < rank; ++i)
    (i + 1 == rank ? shape.cols : shape.rows) *= buffer.shape()->Get(i);
  return shape;
}

static std::string shapeText(const std::vector<uint64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += strCat(i ? ", " : "", shape[i]);
  return text + "]";
}

static const TensorView *findTensor(const fb::LoadWeight &load,
                                    const Checkpoint &checkpoint) {
  for (const auto *tensorName : *load.names())
    if (const TensorView *tensor = checkpoint.find(tensorName->string_view()))
      return tensor;
  return nullptr;
}

Result<WeightLayout> WeightLayout::resolve(const Plan &plan,
                                           const fb::LoadWeight &load,
                                           const Checkpoint &checkpoint) {
  std::string_view wanted = load.names()->Get(0)->string_view();
  const TensorView *tensor = findTensor(load, checkpoint);
  if (!tensor)
    return checkpoint.get(wanted).status();

  std::vector<uint64_t> shape = {load.rows()};
  if (load.cols())
    shape.push_back(load.cols());
  if (tensor->shape != shape)
    return failedPrecondition(
        "tensor '", wanted, "' in ", checkpoint.path(), " has shape ",
        shapeText(tensor->shape), ", the plan wants ", shapeText(shape),
        ": compile the plan from this model's config.json");
  if (!isFloat(tensor->dtype))
    return failedPrecondition("tensor '", wanted, "' in ", checkpoint.path(),
                              " holds ", name(tensor->dtype),
                              ", weights must be F64, F32, F16 or BF16");

  const fb::Buffer &buffer = plan.buffer(load.dst());
  WeightLayout layout;
  layout.tensor = tensor;
  layout.bufferIndex = load.dst();
  layout.dstType = static_cast<DType>(buffer.dtype());
  layout.srcRows = load.cols() ? load.rows() : 1;
  layout.srcCols = load.cols() ? load.cols() : load.rows();
  RowShape dst = rowShape(buffer);
  layout.dstRows = dst.rows;
  layout.dstCols = dst.cols;
  layout.transpose = load.transpose();
  return layout;
}

Result<std::vector<WeightLayout>> resolveWeights(const Plan &plan,
                                                 const Checkpoint &checkpoint) {
  std::vector<WeightLayout> layouts;
  std::optional<uint32_t> init = plan.findProgram("init");
  if (!init)
    return layouts;
  for (const auto *instruction : *plan.program(*init).instructions())
    if (const fb::LoadWeight *load = instruction->op_as_LoadWeight()) {
      GPT2_ASSIGN_OR_RETURN(WeightLayout layout,
                            WeightLayout::resolve(plan, *load, checkpoint));
      layouts.push_back(layout);
    }
  return layouts;
}

void WeightLayout::convert(uint64_t begin, uint64_t end, std::byte *out) const {
  if (transpose)
    return convertTransposed(begin, end, out);
  for (uint64_t row = begin; row < end; ++row)
    convertCopied(row, out + (row - begin) * rowBytes());
}

void WeightLayout::convertCopied(uint64_t row, std::byte *out) const {
  if (row >= srcRows) {
    std::memset(out, 0, rowBytes());
    return;
  }
  const std::byte *in = tensor->data + row * srcCols * sizeOf(tensor->dtype);
  uint64_t used = std::min(srcCols, dstCols);
  // Both types are floats, so the conversion cannot fail.
  (void)convertElements(tensor->dtype, in, dstType, out, used);
  std::memset(out + used * sizeOf(dstType), 0,
              (dstCols - used) * sizeOf(dstType));
}

void WeightLayout::convertTransposed(uint64_t begin, uint64_t end,
                                     std::byte *out) const {
  float tile[tileSize][tileSize]; // [source row][source column]
  float line[tileSize];
  size_t size = sizeOf(dstType);
  for (uint64_t n = begin; n < end; n += tileSize)
    for (uint64_t k = 0; k < dstCols; k += tileSize) {
      uint64_t nCount = std::min(tileSize, end - n);
      uint64_t kCount = std::min(tileSize, dstCols - k);
      uint64_t nUsed = n < srcCols ? std::min(nCount, srcCols - n) : 0;
      std::memset(tile, 0, sizeof(tile));
      for (uint64_t i = 0; i < kCount && k + i < srcRows && nUsed; ++i)
        (void)convertElements(tensor->dtype,
                              tensor->data + ((k + i) * srcCols + n) *
                                                 sizeOf(tensor->dtype),
                              DType::F32, tile[i], nUsed);
      for (uint64_t j = 0; j < nCount; ++j) {
        for (uint64_t i = 0; i < kCount; ++i)
          line[i] = tile[i][j];
        (void)convertElements(DType::F32, line, dstType,
                              out + (n - begin + j) * rowBytes() + k * size,
                              kCount);
      }
    }
}

// A counter-based generator (splitmix64), so that any row can be made alone.
static uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

// Nearly normal with standard deviation 1: eight uniform 8-bit numbers summed.
static float normalLike(uint64_t bits) {
  int sum = 0;
  for (int i = 0; i < 8; ++i)
    sum += static_cast<int>((bits >> (8 * i)) & 0xff);
  return static_cast<float>(sum - 1020) / 209.0f;
}

static float vectorValue(std::string_view tensorName) {
  bool gamma = tensorName.find("ln_") != std::string_view::npos &&
               tensorName.ends_with(".weight");
  return gamma ? 1.0f : 0.0f;
}

void fillRandomRows(const Plan &plan, const fb::LoadWeight &load, uint64_t seed,
                    uint64_t begin, uint64_t end, std::byte *out) {
  const fb::Buffer &buffer = plan.buffer(load.dst());
  auto type = static_cast<DType>(buffer.dtype());
  RowShape shape = rowShape(buffer);
  bool matrix = load.cols() != 0;
  uint64_t used = load.transpose() ? load.cols() : load.rows();
  std::string_view name = load.names()->Get(0)->string_view();
  uint64_t stream = mix(seed);
  for (char c : name)
    stream = mix(stream ^ static_cast<unsigned char>(c));
  float constant = vectorValue(name);
  float line[256];
  for (uint64_t row = begin; row < end; ++row)
    for (uint64_t col = 0; col < shape.cols; col += std::size(line)) {
      uint64_t count = std::min<uint64_t>(std::size(line), shape.cols - col);
      for (uint64_t i = 0; i < count; ++i) {
        uint64_t index = row * shape.cols + col + i;
        float value =
            matrix ? 0.02f * normalLike(mix(stream + index)) : constant;
        line[i] = matrix && row >= used ? 0.0f : value;
      }
      (void)convertElements(
          DType::F32, line, type,
          out + ((row - begin) * shape.cols + col) * sizeOf(type), count);
    }
}

} // namespace gpt2rt
