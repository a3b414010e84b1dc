//===- Status.cpp - Error values of the runtime ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Support/Status.h"

using namespace gpt2rt;

const char *gpt2rt::errorCodeName(ErrorCode code) {
  switch (code) {
  case ErrorCode::Ok:
    return "ok";
  case ErrorCode::InvalidArgument:
    return "invalid_argument";
  case ErrorCode::NotFound:
    return "not_found";
  case ErrorCode::DataLoss:
    return "data_loss";
  case ErrorCode::OutOfRange:
    return "out_of_range";
  case ErrorCode::FailedPrecondition:
    return "failed_precondition";
  case ErrorCode::ResourceExhausted:
    return "resource_exhausted";
  case ErrorCode::Unavailable:
    return "unavailable";
  case ErrorCode::Cancelled:
    return "cancelled";
  case ErrorCode::Internal:
    return "internal";
  }
  return "unknown";
}

Status::Status(ErrorCode code, std::string message)
    : errorCode(code), text(std::move(message)) {
  // Messages are one line: whatever a library put in must not break that.
  for (char &c : text)
    if (c == '\n' || c == '\r')
      c = ' ';
}

Status Status::withContext(std::string_view prefix) const {
  if (ok())
    return *this;
  return Status(errorCode, strCat(prefix, ": ", text));
}

int gpt2rt::exitCode(const Status &status) {
  switch (status.code()) {
  case ErrorCode::Ok:
    return 0;
  case ErrorCode::InvalidArgument:
  case ErrorCode::OutOfRange:
    return 2;
  case ErrorCode::NotFound:
  case ErrorCode::DataLoss:
    return 3;
  case ErrorCode::FailedPrecondition:
  case ErrorCode::ResourceExhausted:
  case ErrorCode::Unavailable:
    return 4;
  case ErrorCode::Cancelled:
    return 130;
  case ErrorCode::Internal:
    break;
  }
  return 70;
}
