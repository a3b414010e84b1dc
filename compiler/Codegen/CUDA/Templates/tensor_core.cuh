// The tensor cores.
// SPDX-License-Identifier: Apache-2.0
//
// All inline assembly of the flash kernels is here: the tests that run their
// text on the host have functions of the same names.
#ifndef GPT2_HOST_TENSOR_CORE

namespace attention {

// An address in shared memory, to which constants can be added for nothing.
typedef unsigned SharedAddress;
DEVICE SharedAddress sharedAddress(const void *generic) {
  return (unsigned)__cvta_generic_to_shared(generic);
}

// Four 8x8 matrices of 16-bit values; lane i gives the address of row i % 8 of
// matrix i / 8.
DEVICE void loadMatrices(unsigned (&r)[4], SharedAddress address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

DEVICE void loadTransposed(unsigned (&r)[4], SharedAddress address) {
  asm volatile(
      "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
      : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
      : "r"(address)
      : "memory");
}

// 32 bits.
DEVICE unsigned loadWord(SharedAddress address) {
  unsigned result;
  asm volatile("ld.shared.b32 %0, [%1];"
               : "=r"(result)
               : "r"(address)
               : "memory");
  return result;
}

// The nearest value of 10 bits of mantissa. A tensor core takes all 32 bits and
// would cut the others off. From sm_90 on ties go to even, which is one
// instruction there; before, the only kind is away from zero, which is two.
DEVICE unsigned roundToTf32(float value) {
  unsigned result;
#if __CUDA_ARCH__ >= 900
  asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(result) : "f"(value));
#else
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(result) : "f"(value));
#endif
  return result;
}

// multiply: c += a * b for one product of 16 rows by 8 columns.
// multiplyFirst: c = a * b; spares the registers of a sum that begins at zero
// their moves.
#define GPT2_PRODUCT(TYPE, INSTRUCTION)                                        \
  DEVICE void multiply(float (&c)[4], const unsigned (&a)[4], unsigned b0,     \
                       unsigned b1, TYPE) {                                    \
    asm(INSTRUCTION                                                            \
        " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"               \
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                       \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));       \
  }                                                                            \
  DEVICE void multiplyFirst(float (&c)[4], const unsigned (&a)[4],             \
                            unsigned b0, unsigned b1, TYPE) {                  \
    asm(INSTRUCTION                                                            \
        " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%10,%10,%10};"           \
        : "=f"(c[0]), "=f"(c[1]), "=f"(c[2]), "=f"(c[3])                       \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1),        \
          "f"(0.0f));                                                          \
  }
GPT2_PRODUCT(half, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
GPT2_PRODUCT(bf16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
GPT2_PRODUCT(tf32, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
#undef GPT2_PRODUCT

} // namespace attention

#endif
