//===- Status.h - Error values of the runtime ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Every runtime API that can fail returns a Status or a Result. No exception
// crosses an API: inputs come from users, and each bad one must end as one
// line that names the thing and the fix.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Support/StrCat.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <variant>

namespace gpt2rt {

enum class ErrorCode : uint8_t {
  Ok = 0,
  InvalidArgument,    // a flag, prompt or setting that cannot be used
  NotFound,           // a file, tensor or program that is not there
  DataLoss,           // a corrupt or truncated file
  OutOfRange,         // an index or size outside what is allowed
  FailedPrecondition, // wrong machine, architecture or version
  ResourceExhausted,  // memory or disk
  Unavailable,        // no GPU, no driver, a peer that went away
  Cancelled,
  Internal, // a bug in gpt2c
};

/// The code's name as printed in JSON output, such as "invalid_argument".
const char *errorCodeName(ErrorCode code);

/// Success, or an error code with a one-line message.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(ErrorCode code, std::string message);

  static Status okStatus() { return {}; }

  bool ok() const { return errorCode == ErrorCode::Ok; }
  ErrorCode code() const { return errorCode; }
  const std::string &message() const { return text; }

  /// The same error with "PREFIX: " put before its message, to name the file
  /// or step that a lower layer cannot know. Success stays success.
  Status withContext(std::string_view prefix) const;

private:
  ErrorCode errorCode = ErrorCode::Ok;
  std::string text;
};

/// Process exit code: 0 for success, otherwise 2 for what the user can fix on
/// the command line, 3 for bad or missing files, 4 for the machine (wrong
/// architecture, no device, no memory), 130 for cancelled and 70 for our bugs.
int exitCode(const Status &status);

/// Makes an error whose message is the concatenation of the arguments.
template <typename... Args>
Status makeError(ErrorCode code, const Args &...args) {
  return Status(code, strCat(args...));
}

// One maker per code, so that call sites read as the error they raise.
#define GPT2_DEFINE_ERROR_MAKER(NAME, CODE)                                    \
  template <typename... Args>                                                  \
  Status NAME(const Args &...args) {                                           \
    return makeError(ErrorCode::CODE, args...);                                \
  }
GPT2_DEFINE_ERROR_MAKER(invalidArgument, InvalidArgument)
GPT2_DEFINE_ERROR_MAKER(notFound, NotFound)
GPT2_DEFINE_ERROR_MAKER(dataLoss, DataLoss)
GPT2_DEFINE_ERROR_MAKER(outOfRange, OutOfRange)
GPT2_DEFINE_ERROR_MAKER(failedPrecondition, FailedPrecondition)
GPT2_DEFINE_ERROR_MAKER(resourceExhausted, ResourceExhausted)
GPT2_DEFINE_ERROR_MAKER(unavailable, Unavailable)
GPT2_DEFINE_ERROR_MAKER(cancelled, Cancelled)
GPT2_DEFINE_ERROR_MAKER(internalError, Internal)
#undef GPT2_DEFINE_ERROR_MAKER

/// A value, or the error that prevented it. Reading the value of a failed
/// Result is a bug in the caller and aborts.
template <typename T>
class [[nodiscard]] Result {
public:
  template <typename U = T>
  requires(std::convertible_to<U &&, T> &&
           !std::same_as<std::remove_cvref_t<U>, Status> &&
           !std::same_as<std::remove_cvref_t<U>, Result>) Result(U &&value)
      : state(std::in_place_index<0>, std::forward<U>(value)) {}
  Result(Status status) : state(std::in_place_index<1>, std::move(status)) {
    if (std::get<1>(state).ok())
      std::abort();
  }

  bool ok() const { return state.index() == 0; }
  explicit operator bool() const { return ok(); }

  Status status() const { return ok() ? Status() : std::get<1>(state); }

  T &operator*() & { return value(); }
  const T &operator*() const & { return value(); }
  T &&operator*() && { return std::move(value()); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &value(); }

  T &value() {
    if (!ok())
      std::abort();
    return *std::get_if<0>(&state);
  }
  const T &value() const { return const_cast<Result *>(this)->value(); }

private:
  std::variant<T, Status> state;
};

#define GPT2_CONCAT_IMPL(a, b) a##b
#define GPT2_CONCAT(a, b) GPT2_CONCAT_IMPL(a, b)

/// Returns the error of a Status expression from the enclosing function.
#define GPT2_RETURN_IF_ERROR(expr)                                             \
  do {                                                                         \
    if (::gpt2rt::Status gpt2StatusTmp = (expr); !gpt2StatusTmp.ok())          \
      return gpt2StatusTmp;                                                    \
  } while (false)

/// GPT2_ASSIGN_OR_RETURN(auto x, compute()): the value of a Result, or return
/// its error from the enclosing function.
#define GPT2_ASSIGN_OR_RETURN(decl, ...)                                       \
  GPT2_ASSIGN_OR_RETURN_IMPL(GPT2_CONCAT(gpt2Result, __LINE__), decl,          \
                             (__VA_ARGS__))
#define GPT2_ASSIGN_OR_RETURN_IMPL(tmp, decl, expr)                            \
  auto tmp = expr;                                                             \
  if (!tmp.ok())                                                               \
    return tmp.status();                                                       \
  decl = *std::move(tmp)

} // namespace gpt2rt
