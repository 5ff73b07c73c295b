// SPDX-License-Identifier: Apache-2.0
// Builds the one-line text of an error.
#include "nibble/core/error.h"

namespace nibble {
namespace {

std::string text_of(std::string_view op, std::string_view what) {
  std::string text;
  text.append("[").append(op).append("] ").append(what);
  return text;
}

}  // namespace

Error::Error(std::string_view op, std::string_view what, std::string_view got,
             std::string_view expected)
    : std::runtime_error(
          text_of(op, what).append(": got ").append(got).append(", expected ").append(expected)) {}

Error::Error(std::string_view op, std::string_view what) : std::runtime_error(text_of(op, what)) {}

}  // namespace nibble
