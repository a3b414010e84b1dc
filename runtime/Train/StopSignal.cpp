//===- StopSignal.cpp - SIGINT and SIGTERM while training -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Train/StopSignal.h"

#include <unistd.h>

using namespace gpt2rt;

static volatile std::sig_atomic_t received = 0;

/// The exit status of a process that a signal ended, as shells give it.
static void handle(int signal) {
  if (received)
    ::_exit(128 + signal);
  received = signal;
}

StopSignal::StopSignal() {
  received = 0;
  struct sigaction action = {};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART; // reads and writes go on
  ::sigaction(SIGINT, &action, &oldInterrupt);
  ::sigaction(SIGTERM, &action, &oldTerminate);
}

StopSignal::~StopSignal() {
  ::sigaction(SIGINT, &oldInterrupt, nullptr);
  ::sigaction(SIGTERM, &oldTerminate, nullptr);
}

const volatile std::sig_atomic_t *StopSignal::flag() const { return &received; }
