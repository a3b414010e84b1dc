//===- ValidateSlots.cpp - Live buffers share no bytes --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Plan/Validator.h"

#include <algorithm>
#include <map>
#include <queue>
#include <vector>

using namespace gpt2rt;
using namespace gpt2rt::detail;

namespace {

/// Sweeps over one program's instructions (or once over the globals), keeping
/// the live buffers of one arena ordered by offset: a buffer that comes alive
/// need only be compared with its two neighbours.
class Sweep {
public:
  explicit Sweep(const fb::Plan &plan) : plan(plan) {}

  Status run(std::vector<uint32_t> &buffers) {
    std::sort(buffers.begin(), buffers.end(),
              [&](uint32_t a, uint32_t b) { return first(a) < first(b); });
    for (uint32_t index : buffers) {
      while (!ends.empty() && ends.top().first < first(index)) {
        live.erase(at(ends.top().second).offset());
        ends.pop();
      }
      auto next = live.lower_bound(at(index).offset());
      if (next != live.end() && overlap(index, next->second))
        return clash(index, next->second);
      if (next != live.begin() && overlap(index, std::prev(next)->second))
        return clash(index, std::prev(next)->second);
      live.emplace_hint(next, at(index).offset(), index);
      ends.emplace(last(index), index);
    }
    return Status::okStatus();
  }

private:
  const fb::Buffer &at(uint32_t index) const {
    return *plan.buffers()->Get(index);
  }
  // Globals live for ever, whatever their fields say.
  uint32_t first(uint32_t index) const {
    return at(index).program() < 0 ? 0 : at(index).first();
  }
  uint32_t last(uint32_t index) const {
    return at(index).program() < 0 ? ~0u : at(index).last();
  }
  bool overlap(uint32_t a, uint32_t b) const {
    const fb::Buffer &x = at(a), &y = at(b);
    return x.offset() < y.offset() + y.bytes() &&
           y.offset() < x.offset() + x.bytes();
  }
  Status clash(uint32_t a, uint32_t b) const {
    Where where("buffers", a);
    auto lifetime = [](const fb::Buffer &buffer) {
      return buffer.program() < 0
                 ? std::string("always")
                 : strCat("in instructions ", buffer.first(), "..",
                          buffer.last(), " of program ", buffer.program());
    };
    auto range = [](const fb::Buffer &buffer) {
      return strCat("[", buffer.offset(), ", ",
                    buffer.offset() + buffer.bytes(), ")");
    };
    return dataLoss(where.text(), " (", quote(at(a).name()->string_view()),
                    ") lives ", lifetime(at(a)), " in bytes ", range(at(a)),
                    " of arena ", at(a).arena(), ", but buffers[", b, "] (",
                    quote(at(b).name()->string_view()), ") lives ",
                    lifetime(at(b)), " in ", range(at(b)));
  }

  const fb::Plan &plan;
  std::map<uint64_t, uint32_t> live;         // offset -> buffer
  using End = std::pair<uint32_t, uint32_t>; // last instruction, buffer
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
};

} // namespace

Status detail::validateSlots(const fb::Plan &plan) {
  // One group an arena and owner (-1: globals).
  std::map<std::pair<uint32_t, int32_t>, std::vector<uint32_t>> groups;
  for (uint32_t i = 0; i < plan.buffers()->size(); ++i) {
    const fb::Buffer &buffer = *plan.buffers()->Get(i);
    if (buffer.view_of() == -1)
      groups[{buffer.arena(), buffer.program()}].push_back(i);
  }
  for (auto &[owner, buffers] : groups)
    GPT2_RETURN_IF_ERROR(Sweep(plan).run(buffers));
  return Status::okStatus();
}
