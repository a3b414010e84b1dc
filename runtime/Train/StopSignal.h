//===- StopSignal.h - SIGINT and SIGTERM while training ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include <csignal>

namespace gpt2rt {

/// While it lives, the first SIGINT or SIGTERM sets flag() to its number, and
/// one that comes a second later or more ends the process at once.
class StopSignal {
public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal &) = delete;
  StopSignal &operator=(const StopSignal &) = delete;

  const volatile std::sig_atomic_t *flag() const;

private:
  struct sigaction oldInterrupt, oldTerminate;
};

} // namespace gpt2rt
