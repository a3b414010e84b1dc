//===- OperandCheck.cpp - Checks of one instruction's operands ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Plan/OperandCheck.h"
#include "runtime/Support/DType.h"

#include <algorithm>

using namespace gpt2rt;
using namespace gpt2rt::detail;

std::span<const uint64_t> OperandCheck::shapeOf(uint32_t buffer) const {
  const auto *shape = plan.buffers()->Get(buffer)->shape();
  return {shape->data(), shape->size()};
}

fb::DType OperandCheck::type(uint32_t buffer) const {
  return plan.buffers()->Get(buffer)->dtype();
}

uint64_t OperandCheck::elementSize(uint32_t buffer) const {
  return sizeOf(static_cast<DType>(type(buffer)));
}

OperandCheck::Matrix OperandCheck::matrix(uint32_t buffer) const {
  std::span<const uint64_t> shape = shapeOf(buffer);
  uint64_t elements =
      plan.buffers()->Get(buffer)->bytes() / elementSize(buffer);
  return {elements / shape.back(), shape.back()};
}

std::string OperandCheck::describe(uint32_t buffer) const {
  return strCat("buffer ",
                quote(plan.buffers()->Get(buffer)->name()->string_view()));
}

Status OperandCheck::isFloat(const char *field, uint32_t buffer) const {
  if (gpt2rt::isFloat(static_cast<DType>(type(buffer))))
    return Status::okStatus();
  return where.bad(field, describe(buffer), "its type is ",
                   fb::EnumNameDType(type(buffer)), ", not a float");
}

Status OperandCheck::columns(const char *field, uint64_t value,
                             uint32_t buffer) const {
  if (value != 0 && matrix(buffer).columns == value)
    return Status::okStatus();
  return where.bad(field, value, describe(buffer), " has ",
                   matrix(buffer).columns, " columns");
}

Status OperandCheck::rows(const char *field, uint64_t value,
                          uint32_t buffer) const {
  if (value != 0 && matrix(buffer).rows >= value)
    return Status::okStatus();
  return where.bad(field, value, describe(buffer), " has ", matrix(buffer).rows,
                   " rows");
}

Status OperandCheck::shape(const char *field, uint32_t buffer,
                           std::initializer_list<uint64_t> wanted) const {
  std::span<const uint64_t> actual = shapeOf(buffer);
  if (std::equal(actual.begin(), actual.end(), wanted.begin(), wanted.end()))
    return Status::okStatus();
  return where.bad(field, describe(buffer), "its shape is ", actual, ", not ",
                   std::span<const uint64_t>(wanted.begin(), wanted.size()));
}

Status OperandCheck::integers(const char *field, uint32_t buffer,
                              uint64_t count) const {
  uint64_t elements = plan.buffers()->Get(buffer)->bytes() / sizeof(int32_t);
  if (type(buffer) == fb::DType::I32 && elements >= count)
    return Status::okStatus();
  return where.bad(field, describe(buffer), "its shape is ", shapeOf(buffer),
                   " of ", fb::EnumNameDType(type(buffer)), ", not ", count,
                   " or more of I32");
}
