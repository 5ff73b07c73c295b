// SPDX-License-Identifier: Apache-2.0
// Devices of float training by name.
#include "float_training/float_device.h"

#include "core/name.h"
#include "nibble/core/error.h"

namespace nibble::inline float_training {

std::unique_ptr<FloatDevice> make_float_device(std::string_view name) {
  if (name == "pretend") return make_pretend_float_device();
  throw Error("place", "device of float training", in_quotes(name),
              "cpu or pretend, which alone have products of floats here", ErrorKind::usage);
}

}  // namespace nibble::inline float_training
