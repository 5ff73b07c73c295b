// SPDX-License-Identifier: Apache-2.0
// The one exception type: a single line that says where, what, what was got and what was expected.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace nibble::inline core {

// For programs, which act on the kind and never search the text: that is for people.
enum class ErrorKind {
  usage,     // a call or an option that cannot be: a wrong value, type or combination
  input,     // a file, a text, a network or data is not what it should be
  limit,     // more than limits.h or a format of files allows
  memory,    // too little of it
  system,    // the operating system, the network or the parts of this build refuse
  device,    // a GPU refuses, or there is none
  internal,  // Nibble or a library below it contradicts itself
};

class Error : public std::runtime_error {
 public:
  // "[op] what: got X, expected Y"
  Error(std::string_view op, std::string_view what, std::string_view got, std::string_view expected,
        ErrorKind kind = ErrorKind::usage);

  // "[op] what", where nothing can be compared.
  Error(std::string_view op, std::string_view what, ErrorKind kind = ErrorKind::usage);

  // The whole text, of another error with more to say for instance.
  explicit Error(const std::string& text, ErrorKind kind = ErrorKind::usage);

  ErrorKind kind() const { return kind_; }

  // The text without its "[op] ", to stand inside another one.
  std::string_view reason() const;

 private:
  ErrorKind kind_;
};

// Of an error about what was read: what a call must not say, a file must not say either.
inline ErrorKind input_kind(const Error& error) {
  return error.kind() == ErrorKind::usage ? ErrorKind::input : error.kind();
}

}  // namespace nibble::inline core
