//===- ValidateBuffers.cpp - Shapes, slots and views ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Plan/PlanFormat.h"
#include "runtime/Plan/Validator.h"
#include "runtime/Support/Checked.h"
#include "runtime/Support/DType.h"

#include <string_view>
#include <unordered_set>

using namespace gpt2rt;
using namespace gpt2rt::detail;

static_assert(numDTypes == unsigned(fb::DType::MAX) + 1 &&
                  unsigned(fb::DType::BOOL) == unsigned(DType::BOOL),
              "fb::DType and DType share their values");

namespace {

constexpr uint32_t maxRank = 8;

std::span<const uint64_t> shapeOf(const fb::Buffer &buffer) {
  return {buffer.shape()->data(), buffer.shape()->size()};
}

std::string named(const fb::Buffer &buffer) {
  return strCat("buffer ", quote(buffer.name()->string_view()));
}

Status checkSize(const fb::Buffer &buffer, const Where &where) {
  if (!isKnown(buffer.dtype()))
    return where.bad("dtype", unsigned(buffer.dtype()), "the largest known is ",
                     unsigned(fb::DType::MAX));
  std::span<const uint64_t> shape = shapeOf(buffer);
  if (shape.empty() || shape.size() > maxRank)
    return where.bad("shape", shape, "the rank must be in [1, ", maxRank, "]");
  std::optional<uint64_t> bytes = checkedProduct(shape);
  if (bytes)
    bytes = checkedMul(*bytes, sizeOf(static_cast<DType>(buffer.dtype())));
  if (!bytes || *bytes == 0)
    return where.bad("shape", shape,
                     bytes ? "no dimension may be 0"
                           : "its size in bytes does not fit 64 bits");
  if (buffer.bytes() != *bytes)
    return where.bad("bytes", buffer.bytes(), named(buffer), " of shape ",
                     shape, " and type ",
                     name(static_cast<DType>(buffer.dtype())), " has ", *bytes);
  return Status::okStatus();
}

Status checkSlot(const fb::Plan &plan, const fb::Buffer &buffer,
                 const Where &where) {
  if (buffer.arena() >= plan.arenas()->size())
    return where.bad("arena", buffer.arena(), "the plan has ",
                     plan.arenas()->size(), " arenas");
  const fb::Arena &arena = *plan.arenas()->Get(buffer.arena());
  if (!rangeFits(buffer.offset(), buffer.bytes(), arena.bytes()))
    return where.bad("offset", buffer.offset(), named(buffer), " with ",
                     buffer.bytes(), " bytes would end outside arena ",
                     buffer.arena(), " of ", arena.bytes(), " bytes");
  if (buffer.offset() % slotAlignment != 0)
    return where.bad("offset", buffer.offset(), "it must be a multiple of ",
                     slotAlignment);
  return Status::okStatus();
}

/// Globals live in the arenas that outlive a program, the rest in those that
/// programs share.
Status checkOwner(const fb::Plan &plan, const fb::Buffer &buffer,
                  const Where &where) {
  fb::ArenaKind kind = plan.arenas()->Get(buffer.arena())->kind();
  bool scratch =
      kind == fb::ArenaKind::Activations || kind == fb::ArenaKind::Workspace;
  if (scratch == (buffer.program() < 0))
    return where.bad("program", buffer.program(), named(buffer),
                     " lies in arena ", buffer.arena(), " of kind ",
                     fb::EnumNameArenaKind(kind));
  if (buffer.program() < 0)
    return buffer.program() == -1
               ? Status::okStatus()
               : where.bad("program", buffer.program(), "-1 marks a global");
  auto program = static_cast<uint32_t>(buffer.program());
  if (program >= plan.programs()->size())
    return where.bad("program", program, "the plan has ",
                     plan.programs()->size(), " programs");
  uint32_t count = plan.programs()->Get(program)->instructions()->size();
  if (buffer.first() > buffer.last())
    return where.bad("first", buffer.first(), "last is ", buffer.last());
  if (buffer.last() >= count)
    return where.bad("last", buffer.last(), "program ", program, " has ", count,
                     " instructions");
  return Status::okStatus();
}

/// A view is the first rows of a global.
Status checkView(const fb::Plan &plan, const fb::Buffer &buffer,
                 const Where &where) {
  if (buffer.view_of() == -1)
    return Status::okStatus();
  if (buffer.view_of() < 0 ||
      static_cast<uint32_t>(buffer.view_of()) >= plan.buffers()->size())
    return where.bad("view_of", buffer.view_of(), "the plan has ",
                     plan.buffers()->size(), " buffers");
  const fb::Buffer &whole = *plan.buffers()->Get(buffer.view_of());
  if (buffer.program() != -1 || whole.program() != -1 || whole.view_of() != -1)
    return where.bad("view_of", buffer.view_of(),
                     "only globals have views, and a view has none");
  if (buffer.dtype() != whole.dtype() || buffer.arena() != whole.arena() ||
      buffer.offset() != whole.offset())
    return where.bad("view_of", buffer.view_of(), named(buffer),
                     " has another type, arena or offset than ", named(whole));
  std::span<const uint64_t> part = shapeOf(buffer), full = shapeOf(whole);
  bool prefix = part.size() == full.size() && part[0] <= full[0];
  for (size_t i = 1; prefix && i < part.size(); ++i)
    prefix = part[i] == full[i];
  if (!prefix)
    return where.bad("shape", part, "it is no prefix of the rows of ",
                     named(whole), " with shape ", full);
  return Status::okStatus();
}

} // namespace

Status detail::validateBuffers(const fb::Plan &plan) {
  std::unordered_set<std::string_view> globals;
  for (uint32_t i = 0; i < plan.buffers()->size(); ++i) {
    const fb::Buffer &buffer = *plan.buffers()->Get(i);
    Where where("buffers", i);
    GPT2_RETURN_IF_ERROR(checkSize(buffer, where));
    GPT2_RETURN_IF_ERROR(checkSlot(plan, buffer, where));
    GPT2_RETURN_IF_ERROR(checkOwner(plan, buffer, where));
    if (buffer.program() == -1 && buffer.view_of() == -1 &&
        !globals.insert(buffer.name()->string_view()).second)
      return where.bad("name", quote(buffer.name()->string_view()),
                       "another global has that name");
  }
  // Views look at the buffers they are of, which are proved by now.
  for (uint32_t i = 0; i < plan.buffers()->size(); ++i)
    GPT2_RETURN_IF_ERROR(
        checkView(plan, *plan.buffers()->Get(i), Where("buffers", i)));
  return Status::okStatus();
}
