// SPDX-License-Identifier: Apache-2.0
// Errors of Python alone, which their class says; of all others the kind says what they become.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "nibble/core/error.h"

namespace nibble::python {

// An object or an element type that a function cannot take.
class TypeMistake : public Error {
 public:
  using Error::Error;
};

// A device, a build or a state that cannot serve the call.
class StateMistake : public Error {
 public:
  using Error::Error;
};

// Lets errors of this extension become those of nibble.errors; after a fork it works on one thread.
void prepare_extension();

nanobind::object to_exception(const Error& error);  // an instance of a class of nibble.errors

// Messages quote what callers and files wrote, line ends and escapes included.
std::string one_line(std::string text);

}  // namespace nibble::python
