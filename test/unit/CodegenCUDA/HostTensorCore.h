//===- HostTensorCore.h - Templates/tensor_core.cuh on the host -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The layouts of ldmatrix and mma.m16n8k16 as the PTX manual has them. Copies
// happen when they are awaited, so that code which does not wait reads what was
// there before.
//
//===----------------------------------------------------------------------===//

namespace attention {

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
  auto half = [](unsigned pair, int k) {
    return toFloat(T{(unsigned short)(k % 2 ? pair >> 16 : pair)});
  };
  for (int e = 0; e < 4; ++e) {
    int row = lane / 4 + e / 2 * 8, column = lane % 4 * 2 + e % 2;
    for (int k = 0; k < 16; ++k) {
      const Operands &left = all[row % 8 * 4 + k % 8 / 2];
      const Operands &right = all[column * 4 + k % 8 / 2];
      c[e] += half(left.a[row / 8 + k / 8 * 2], k) * half(right.b[k / 8], k);
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
