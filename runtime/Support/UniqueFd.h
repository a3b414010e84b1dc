//===- UniqueFd.h - An owned file descriptor --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include <unistd.h>
#include <utility>

namespace gpt2rt {

class UniqueFd {
public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd(fd) {}
  UniqueFd(UniqueFd &&other) noexcept : fd(other.release()) {}
  UniqueFd &operator=(UniqueFd &&other) noexcept {
    reset(other.release());
    return *this;
  }
  ~UniqueFd() { reset(); }

  bool valid() const { return fd >= 0; }
  int get() const { return fd; }
  int release() { return std::exchange(fd, -1); }
  void reset(int next = -1) {
    if (fd >= 0)
      ::close(fd);
    fd = next;
  }

private:
  int fd = -1;
};

} // namespace gpt2rt
