//===- ValidateTables.cpp - Code, arenas and the model --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Plan/PlanFormat.h"
#include "runtime/Plan/Tuning.h"
#include "runtime/Plan/Validator.h"
#include "runtime/Support/Checked.h"

#include <bit>
#include <cstring>

using namespace gpt2rt;
using namespace gpt2rt::detail;

namespace {

/// Largest shared memory of a block on any architecture (sm_90: 227 KiB).
constexpr uint64_t maxSharedBytes = 227 * 1024;
constexpr uint32_t maxBlockThreads = 1024;
/// More than any page size that an arena is laid on (1 GiB).
constexpr uint32_t maxArenaAlignment = 1u << 30;
/// Sums of 2^40 weights over the vocabulary must fit 63 bits (sampling).
constexpr uint32_t maxVocab = 1u << 23;

bool isIdentifier(std::string_view name) {
  auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (name.empty() || !letter(name[0]))
    return false;
  for (char c : name)
    if (!letter(c) && !(c >= '0' && c <= '9'))
      return false;
  return true;
}

Status checkRoot(const fb::Plan &plan) {
  Where where("plan");
  if (!isKnown(plan.target()))
    return where.bad("target", unsigned(plan.target()),
                     "this gpt2-run knows cpu (0) and cuda (1)");
  if (!isKnown(plan.precision()))
    return where.bad("precision", unsigned(plan.precision()),
                     "the largest known is ", unsigned(fb::Precision::MAX));
  if (!isKnown(plan.mode()))
    return where.bad("mode", unsigned(plan.mode()), "the largest known is ",
                     unsigned(fb::Mode::MAX));
  constexpr uint32_t maxBatch = 1u << 16;
  if (plan.batch() == 0 || plan.batch() > maxBatch)
    return where.bad("batch", plan.batch(), "it must be in [1, ", maxBatch,
                     "]");
  return Status::okStatus();
}

Status checkModel(const fb::Model &model) {
  Where where("model");
  if (model.vocab() == 0 || model.vocab() > maxVocab)
    return where.bad("vocab", model.vocab(), "it must be in [1, ", maxVocab,
                     "]");
  if (model.padded_vocab() < model.vocab() || model.padded_vocab() > maxVocab)
    return where.bad("padded_vocab", model.padded_vocab(),
                     "it must be in [vocab = ", model.vocab(), ", ", maxVocab,
                     "]");
  constexpr uint32_t maxPositions = 1u << 24;
  if (model.positions() == 0 || model.positions() > maxPositions)
    return where.bad("positions", model.positions(), "it must be in [1, ",
                     maxPositions, "]");
  if (model.eos() < -1)
    return where.bad("eos", model.eos(), "it must be a token id or -1");
  return Status::okStatus();
}

Status checkPayloads(const fb::Plan &plan, uint64_t sectionBytes) {
  for (uint32_t i = 0; i < plan.payloads()->size(); ++i) {
    const fb::Payload &payload = *plan.payloads()->Get(i);
    Where where("payloads", i);
    if (!rangeFits(payload.offset(), payload.size(), sectionBytes))
      return dataLoss(where.text(), " lies at ", payload.offset(), " with ",
                      payload.size(), " bytes, outside the payload section of ",
                      sectionBytes, " bytes");
    if (payload.offset() % sectionAlignment != 0)
      return where.bad("offset", payload.offset(), "it must be a multiple of ",
                       sectionAlignment);
  }
  return Status::okStatus();
}

/// ELF images begin with their magic. PTX ends in a zero byte: the driver
/// takes it as a C string, without a length.
Status checkImageBytes(const Where &where, fb::CodeFormat format,
                       std::span<const std::byte> image) {
  if (format == fb::CodeFormat::Ptx) {
    if (image.empty() || image.back() != std::byte(0))
      return where.bad("payload", "PTX",
                       "its text does not end in a zero byte");
    return Status::okStatus();
  }
  if (image.size() < 64 || std::memcmp(image.data(), "\177ELF", 4) != 0)
    return where.bad("payload", "an image of machine code",
                     "it does not begin with an ELF header");
  return Status::okStatus();
}

Status checkModules(const fb::Plan &plan, std::span<const std::byte> payloads) {
  bool cuda = plan.target() == fb::Target::CUDA;
  for (uint32_t i = 0; i < plan.modules()->size(); ++i) {
    const fb::CodeModule &module = *plan.modules()->Get(i);
    Where where("modules", i);
    if (module.arch()->size() == 0)
      return where.bad("arch", "''", "it must name an architecture");
    if (!isKnown(module.format()) ||
        cuda == (module.format() == fb::CodeFormat::Elf))
      return where.bad("format", unsigned(module.format()), "a ",
                       fb::EnumNameTarget(plan.target()),
                       " plan holds no such code");
    if (module.payload() >= plan.payloads()->size())
      return where.bad("payload", module.payload(), "the plan has ",
                       plan.payloads()->size(), " payloads");
    const fb::Payload &range = *plan.payloads()->Get(module.payload());
    GPT2_RETURN_IF_ERROR(
        checkImageBytes(where, module.format(),
                        payloads.subspan(range.offset(), range.size())));
  }
  return Status::okStatus();
}

Status checkImages(const fb::Plan &plan, const fb::Kernel &kernel,
                   const Where &kernelWhere) {
  uint32_t modules = plan.modules()->size();
  if (kernel.images()->size() == 0)
    return dataLoss(kernelWhere.text(), ".images is empty: the kernel has no "
                                        "code");
  for (uint32_t i = 0; i < kernel.images()->size(); ++i) {
    const fb::KernelImage &image = *kernel.images()->Get(i);
    Where where(kernelWhere, "images", i);
    if (image.module_() >= modules)
      return where.bad("module", image.module_(), "the plan has ", modules,
                       " modules");
    uint64_t shared =
        uint64_t(image.static_shared_bytes()) + kernel.dynamic_shared_bytes();
    if (shared > maxSharedBytes)
      return dataLoss(where.text(), " needs ", shared,
                      " bytes of shared memory, but no GPU has more than ",
                      maxSharedBytes, " a block");
  }
  return Status::okStatus();
}

Status checkKernels(const fb::Plan &plan) {
  bool cuda = plan.target() == fb::Target::CUDA;
  for (uint32_t i = 0; i < plan.kernels()->size(); ++i) {
    const fb::Kernel &kernel = *plan.kernels()->Get(i);
    Where where("kernels", i);
    if (!isIdentifier(kernel.name()->string_view()))
      return where.bad("name", quote(kernel.name()->string_view()),
                       "it must be an identifier");
    uint32_t threads = kernel.block_threads();
    if (cuda && (threads == 0 || threads > maxBlockThreads))
      return where.bad("block_threads", threads, "it must be in [1, ",
                       maxBlockThreads, "]");
    GPT2_RETURN_IF_ERROR(checkImages(plan, kernel, where));
  }
  return Status::okStatus();
}

Status checkArenas(const fb::Plan &plan) {
  uint64_t total = 0;
  for (uint32_t i = 0; i < plan.arenas()->size(); ++i) {
    const fb::Arena &arena = *plan.arenas()->Get(i);
    Where where("arenas", i);
    if (!isKnown(arena.kind()))
      return where.bad("kind", unsigned(arena.kind()), "the largest known is ",
                       unsigned(fb::ArenaKind::MAX));
    uint32_t alignment = arena.alignment();
    if (!std::has_single_bit(alignment) || alignment < slotAlignment ||
        alignment > maxArenaAlignment)
      return where.bad("alignment", alignment, "it must be a power of two in [",
                       slotAlignment, ", ", maxArenaAlignment, "]");
    std::optional<uint64_t> sum = checkedAdd(total, arena.bytes());
    if (!sum)
      return where.bad("bytes", arena.bytes(),
                       "the arenas' sum does not fit 64 bits");
    total = *sum;
  }
  return Status::okStatus();
}

Status checkTuning(const fb::Plan &plan) {
  const fb::Tuning *tuning = plan.tuning();
  if (!tuning)
    return Status::okStatus();
  if (plan.target() != fb::Target::CUDA)
    return dataLoss("tuning holds algorithms of cuBLASLt, but the plan is for ",
                    fb::EnumNameTarget(plan.target()));
  for (uint32_t i = 0; i < tuning->algorithms()->size(); ++i) {
    uint32_t words = tuning->algorithms()->Get(i)->words()->size();
    if (words != std::tuple_size_v<AlgorithmWords>)
      return dataLoss(Where("tuning.algorithms", i).text(), " has ", words,
                      " words, but an algorithm has ",
                      std::tuple_size_v<AlgorithmWords>);
  }
  return Status::okStatus();
}

} // namespace

Status detail::validateTables(const fb::Plan &plan,
                              std::span<const std::byte> payloads) {
  GPT2_RETURN_IF_ERROR(checkRoot(plan));
  GPT2_RETURN_IF_ERROR(checkModel(*plan.model()));
  GPT2_RETURN_IF_ERROR(checkPayloads(plan, payloads.size()));
  GPT2_RETURN_IF_ERROR(checkModules(plan, payloads));
  GPT2_RETURN_IF_ERROR(checkKernels(plan));
  GPT2_RETURN_IF_ERROR(checkArenas(plan));
  return checkTuning(plan);
}
