// A matrix of any element type for tests that compare with double arithmetic.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Support/Convert.h"
#include "runtime/Support/DType.h"

#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace gpt2test {

using gpt2rt::DType;

class Tensor {
public:
  Tensor(DType type, int64_t rows, int64_t columns)
      : type(type), rows(rows), columns(columns),
        bytes(rows * columns * gpt2rt::sizeOf(type), 0xAB) {}

  /// Element (i, j) becomes value(i, j), rounded to the element type.
  static Tensor make(DType type, int64_t rows, int64_t columns,
                     const std::function<double(int64_t, int64_t)> &value) {
    Tensor tensor(type, rows, columns);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        tensor.set(i, j, value(i, j));
    return tensor;
  }

  static Tensor random(DType type, int64_t rows, int64_t columns,
                       unsigned seed) {
    std::mt19937 engine(seed);
    std::normal_distribution<double> normal(0.5, 2.0);
    return make(type, rows, columns,
                [&](int64_t, int64_t) { return normal(engine); });
  }

  double at(int64_t i, int64_t j = 0) const {
    const uint8_t *from = bytes.data() + offset(i, j);
    switch (type) {
    case DType::F32:
      return read<float>(from);
    case DType::I32:
      return read<int32_t>(from);
    case DType::BF16:
      return gpt2rt::bfloat16ToFloat(read<uint16_t>(from));
    default:
      return gpt2rt::halfToFloat(read<uint16_t>(from));
    }
  }

  void set(int64_t i, int64_t j, double value) {
    uint8_t *to = bytes.data() + offset(i, j);
    switch (type) {
    case DType::F32:
      return write<float>(to, value);
    case DType::I32:
      return write<int32_t>(to, value);
    case DType::BF16:
      return write<uint16_t>(to, gpt2rt::floatToBFloat16(value));
    default:
      return write<uint16_t>(to, gpt2rt::floatToHalf(value));
    }
  }

  /// The unit roundoff: what one rounding may lose, relatively.
  double roundingError() const {
    return type == DType::F32    ? 0x1p-24
           : type == DType::BF16 ? 0x1p-8
                                 : 0x1p-11;
  }

  std::string mlirElement() const {
    return type == DType::F32    ? "f32"
           : type == DType::I32  ? "i32"
           : type == DType::BF16 ? "bf16"
                                 : "f16";
  }

  DType type;
  int64_t rows, columns;
  std::vector<uint8_t> bytes;

private:
  size_t offset(int64_t i, int64_t j) const {
    return (i * columns + j) * gpt2rt::sizeOf(type);
  }
  template <typename T>
  static T read(const uint8_t *from) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
  }
  template <typename T>
  static void write(uint8_t *to, double value) {
    T typed = static_cast<T>(value);
    std::memcpy(to, &typed, sizeof(T));
  }
};

} // namespace gpt2test
