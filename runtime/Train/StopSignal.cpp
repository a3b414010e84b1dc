//===- StopSignal.cpp - SIGINT and SIGTERM while training -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Train/StopSignal.h"

#include <cstdint>
#include <ctime>
#include <unistd.h>

using namespace gpt2rt;

static volatile std::sig_atomic_t received = 0;
static timespec receivedAt;

/// Whether the first signal is less than a second old. `timeout` and batch
/// systems send one request to the process and to its group, so it comes twice.
static bool isEcho() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  int64_t nanoseconds = (now.tv_sec - receivedAt.tv_sec) * 1000000000 +
                        (now.tv_nsec - receivedAt.tv_nsec);
  return nanoseconds < 1000000000;
}

/// The exit status of a process that a signal ended, as shells give it.
static void handle(int signal) {
  if (received) {
    if (!isEcho())
      ::_exit(128 + signal);
    return;
  }
  ::clock_gettime(CLOCK_MONOTONIC, &receivedAt);
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
