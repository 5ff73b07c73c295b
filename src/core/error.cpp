// SPDX-License-Identifier: Apache-2.0
// Builds the one-line text of an error.
#include "nibble/core/error.h"

namespace nibble::inline core {
namespace {

std::string text_of(std::string_view op, std::string_view what) {
  std::string text;
  text.append("[").append(op).append("] ").append(what);
  return text;
}

}  // namespace

Error::Error(std::string_view op, std::string_view what, std::string_view got,
             std::string_view expected, ErrorKind kind)
    : Error(text_of(op, what).append(": got ").append(got).append(", expected ").append(expected),
            kind) {}

Error::Error(std::string_view op, std::string_view what, ErrorKind kind)
    : Error(text_of(op, what), kind) {}

Error::Error(const std::string& text, ErrorKind kind) : std::runtime_error(text), kind_(kind) {}

std::string_view Error::reason() const {
  const std::string_view text = what();
  const std::size_t end = text.starts_with('[') ? text.find("] ") : std::string_view::npos;
  return end == std::string_view::npos ? text : text.substr(end + 2);
}

}  // namespace nibble::inline core
