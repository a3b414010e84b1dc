// Element access shared by the attention templates.
// SPDX-License-Identifier: Apache-2.0
//
// DTYPE is float, half or bf16; in flash kernels also tf32. Everything moves in
// packs of 16, 8, 4 or 2 bytes, the widest that divides a head, and is widened
// to fp32 in registers, so a template has one code path for every head size.
//
// Reads before waitForPrevious() are legal for what no earlier kernel of the
// same program writes: `starts`, `slot`, `count`, and cache rows below starts,
// which earlier programs wrote.

// A float that tensor cores multiply with 10 bits of its mantissa. What is no
// operand of theirs, all sums and what lies in memory, has all its bits.
struct tf32 {
  float value;
};
DEVICE float toFloat(tf32 value) { return value.value; }
template <> DEVICE tf32 fromFloat<tf32>(float value) { return {value}; }
template <int N> struct Pack<tf32, N> : Pack<float, N> {};

namespace attention {

// Whether flash kernels multiply on tensor cores.
template <class T> constexpr bool ON_TENSOR_CORES = true;
template <> constexpr bool ON_TENSOR_CORES<float> = false;

// Elements of the widest access that divides a head.
DEVICE constexpr int vectorElements(int elementBytes, int headSize) {
  int elements = 16 / elementBytes;
  while (headSize % elements != 0)
    elements /= 2;
  return elements;
}

constexpr int V = vectorElements(sizeof(DTYPE), HEAD_SIZE);
constexpr int WIDTH = HEADS * HEAD_SIZE;

typedef Pack<DTYPE, V> Vector;

DEVICE Vector loadVector(const DTYPE *from) { return *(const Vector *)from; }
DEVICE void storeVector(DTYPE *to, const Vector &v) { *(Vector *)to = v; }

DEVICE int clampPosition(int position) {
  return min(max(position, 0), int(POSITIONS) - 1);
}

} // namespace attention
