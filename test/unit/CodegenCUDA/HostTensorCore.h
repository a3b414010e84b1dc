//===- HostTensorCore.h - Templates/tensor_core.cuh on the host -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The layouts of ldmatrix and mma as the PTX manual has them. Copies
// happen when they are awaited, so that code which does not wait reads what was
// there before.
//
//===----------------------------------------------------------------------===//

inline void requireAligned(const void *address, unsigned bytes) {
  if (reinterpret_cast<uintptr_t>(address) % bytes == 0)
    return;
  std::fprintf(stderr, "access of %u bytes at %p\n", bytes, address);
  std::abort();
}

template <int BYTES>
void copyAsync(void *to, const void *from, bool valid) {
  requireAligned(to, BYTES);
  requireAligned(from, BYTES);
  hostBlock.threads[threadIdx.x].copies.push_back([=] {
    if (valid)
      std::memcpy(to, from, BYTES);
    else
      std::memset(to, 0, BYTES);
  });
}
inline void commitCopies() {}
inline void awaitCopies() {
  auto &copies = hostBlock.threads[threadIdx.x].copies;
  for (auto &copy : copies)
    copy();
  copies.clear();
}

inline int hidden(int value) { return value; }
template <class Vector>
void hide(Vector &) {}

namespace attention {

typedef const char *SharedAddress;
inline SharedAddress sharedAddress(const void *generic) {
  return static_cast<const char *>(generic);
}

/// Element (row, column) of matrix j of a load by all lanes.
inline unsigned short matrixElement(const void *const *rows, int j, int row,
                                    int column) {
  unsigned short value;
  std::memcpy(&value, static_cast<const char *>(rows[8 * j + row]) + 2 * column,
              2);
  return value;
}
inline void loadMatrices(unsigned (&r)[4], SharedAddress from,
                         bool transposed = false) {
  auto **rows = reinterpret_cast<const void **>(hostWarp().exchange);
  int lane = threadIdx.x % 32, a = lane / 4, b = lane % 4 * 2;
  requireAligned(from, 16);
  rows[lane] = from;
  hostWarp().sync();
  for (int j = 0; j < 4; ++j)
    r[j] = transposed ? matrixElement(rows, j, b, a) |
                            matrixElement(rows, j, b + 1, a) << 16
                      : matrixElement(rows, j, a, b) |
                            matrixElement(rows, j, a, b + 1) << 16;
  hostWarp().sync();
}
inline void loadTransposed(unsigned (&r)[4], SharedAddress from) {
  loadMatrices(r, from, true);
}

inline unsigned loadWord(SharedAddress from) {
  unsigned word;
  std::memcpy(&word, from, 4);
  return word;
}

/// Half of a unit of what is cut off is added, which carries into the exponent.
inline unsigned roundToTf32(float value) {
  return value != value ? 0x7fffffffu & ~0x1fffu
                        : (asUint(value) + 0x1000u) & ~0x1fffu;
}

/// Term k of what a lane holds: two halves a register, or one tf32.
template <class T>
float operandOf(unsigned word, int k) {
  if constexpr (sizeof(T) == 2)
    return toFloat(T{(unsigned short)(k % 2 ? word >> 16 : word)});
  if (word & 0x1fff) {
    std::fprintf(stderr, "an operand is not rounded to tf32\n");
    std::abort();
  }
  return asFloat(word);
}

/// mma.m16n8k16 of 16-bit types and mma.m16n8k8 of tf32.
template <class T>
void multiply(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1,
              T) {
  struct Operands {
    unsigned a[4], b[2];
  };
  auto *all = reinterpret_cast<Operands *>(hostWarp().exchange);
  int lane = threadIdx.x % 32;
  all[lane] = {{a[0], a[1], a[2], a[3]}, {b0, b1}};
  hostWarp().sync();
  constexpr int perWord = 4 / sizeof(T), terms = 8 * perWord, half = terms / 2;
  for (int e = 0; e < 4; ++e) {
    int row = lane / 4 + e / 2 * 8, column = lane % 4 * 2 + e % 2;
    for (int k = 0; k < terms; ++k) {
      const Operands &left = all[row % 8 * 4 + k % half / perWord];
      const Operands &right = all[column * 4 + k % half / perWord];
      c[e] += operandOf<T>(left.a[row / 8 + k / half * 2], k) *
              operandOf<T>(right.b[k / half], k);
    }
  }
  hostWarp().sync();
}

template <class T>
void multiplyFirst(float (&c)[4], const unsigned (&a)[4], unsigned b0,
                   unsigned b1, T) {
  c[0] = c[1] = c[2] = c[3] = 0;
  multiply(c, a, b0, b1, T());
}

} // namespace attention
