//===- KernelCubins.cpp - Compiles the kernels that kernel_tests runs -----===//
// SPDX-License-Identifier: Apache-2.0
//
// kernel_cubins FOLDER: one cubin per case. Runs on the machine that has the
// compiler; the machine with the GPU needs the folder and kernel_tests only.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/KernelTemplate.h"
#include "compiler/Codegen/CUDA/Nvrtc.h"
#include "test/gpu/KernelCases.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::gpt2c;
using gpt2rt::DType;
using gpt2rt::gputest::KernelCase;

static Type elementType(Builder &builder, const KernelCase &c) {
  if (c.dtype == DType::F32)
    return c.tf32 ? Type(builder.getTF32Type()) : Type(builder.getF32Type());
  return c.dtype == DType::F16 ? Type(builder.getF16Type())
                               : Type(builder.getBF16Type());
}

static DictionaryAttr configOf(Builder &builder, const KernelCase &c) {
  auto number = [&](StringRef key, int64_t value) {
    return builder.getNamedAttr(key, builder.getI64IntegerAttr(value));
  };
  if (c.kind == "sample")
    return builder.getDictionaryAttr(
        {number("vocab", c.vocab), number("padded_vocab", c.paddedVocab),
         number("positions_limit", c.positions), number("prefill", c.prefill)});
  SmallVector<NamedAttribute> entries = {
      builder.getNamedAttr("dtype", TypeAttr::get(elementType(builder, c))),
      number("heads", c.heads), number("head_size", c.headSize),
      number("positions", c.positions)};
  if (c.kind != "cache_append")
    entries.push_back(
        builder.getNamedAttr("scale", builder.getF32FloatAttr(c.scale())));
  if (c.kind == "flash_attention")
    entries.push_back(number("cached", c.cached));
  if (c.isTraining()) {
    double kept = 1.0 - static_cast<double>(c.dropout);
    entries.push_back(
        number("dropout_threshold", static_cast<uint32_t>(c.dropout * 0x1p32)));
    entries.push_back(builder.getNamedAttr(
        "dropout_scale",
        builder.getF32FloatAttr(static_cast<float>(1.0 / kept))));
  }
  return builder.getDictionaryAttr(entries);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    llvm::errs() << "usage: kernel_cubins FOLDER\n";
    return 2;
  }
  std::string folder = argv[1];
  if (std::error_code error = llvm::sys::fs::create_directories(folder)) {
    llvm::errs() << folder << ": " << error.message() << "\n";
    return 1;
  }
  MLIRContext context;
  Builder builder(&context);
  for (const KernelCase &c : gpt2rt::gputest::allKernelCases()) {
    auto complain = [&](const Twine &message) {
      llvm::errs() << c.name() << ": " << message << "\n";
    };
    const KernelTemplate *kernel = findKernelTemplate(c.kind);
    FailureOr<std::string> source =
        instantiateTemplate(*kernel, "kernel", configOf(builder, c), complain);
    if (failed(source))
      return 1;
    if (c.noClusters)
      source->insert(0, "#define CLUSTERS 0\n");
    const CudaBinary &binary =
        compileCudaSource("kernel", *source, gpt2rt::gputest::testArch);
    if (!binary.error.empty()) {
      complain(binary.error);
      return 1;
    }
    std::error_code error;
    llvm::raw_fd_ostream file(folder + "/" + c.name() + ".cubin", error);
    file << binary.cubin;
    if (error || file.has_error()) {
      complain("cannot write into " + folder);
      return 1;
    }
  }
  return 0;
}
