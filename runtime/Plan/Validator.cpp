//===- Validator.cpp - Semantic checks of a plan --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Plan/Validator.h"

using namespace gpt2rt;

Status gpt2rt::validatePlan(const fb::Plan &plan,
                            std::span<const std::byte> payloads) {
  GPT2_RETURN_IF_ERROR(detail::validateTables(plan, payloads));
  GPT2_RETURN_IF_ERROR(detail::validateBuffers(plan));
  GPT2_RETURN_IF_ERROR(detail::validateInstructions(plan));
  GPT2_RETURN_IF_ERROR(detail::validateSlots(plan));
  GPT2_RETURN_IF_ERROR(detail::validateDataflow(plan));
  return detail::validateModes(plan);
}
