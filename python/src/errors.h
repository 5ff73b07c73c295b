// SPDX-License-Identifier: Apache-2.0
// Errors of Python alone, which their class says; of all others the kind says what they become.
#pragma once

#include "nibble/core/error.h"

namespace nibble::python {

// TypeError: an object or an element type that a function cannot take.
class TypeMistake : public Error {
 public:
  using Error::Error;
};

// RuntimeError: a device, a build or a state that cannot serve the call.
class StateMistake : public Error {
 public:
  using Error::Error;
};

}  // namespace nibble::python
