// SPDX-License-Identifier: Apache-2.0
// A GPU as a device of float training.
#pragma once

#include <memory>
#include <string_view>

#include "float_training/float_device.h"

namespace nibble::inline float_training {

// Throws where there is no such GPU.
std::unique_ptr<FloatDevice> make_cuda_float_device(std::string_view name);

}  // namespace nibble::inline float_training
