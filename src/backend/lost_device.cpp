// SPDX-License-Identifier: Apache-2.0
// What is said of a device that was lost.
#include "backend/lost_device.h"

#include <string>

#include "core/warning.h"

namespace nibble::inline backend {

bool is_of_device(const Error& error) {
  return error.kind() == ErrorKind::device || error.kind() == ErrorKind::memory;
}

void warn_of_loss(std::string_view what, std::int64_t from_step, LossOutcome outcome) {
  std::string text = "the run went on on the CPU, from its snapshot of step ";
  text += std::to_string(from_step);
  if (outcome == LossOutcome::same_weights) text += " and to the same weights";
  text += ": ";
  text += what;
  warn(text);
}

}  // namespace nibble::inline backend
