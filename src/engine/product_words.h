// SPDX-License-Identifier: Apache-2.0
// Convolutions and linear layers in words: names of steps, keys of tunings.
#pragma once

#include <string>

#include "engine/product_step.h"

namespace nibble {

std::string window_words(const Conv2d& conv);  // "conv2d 3x3/2"

// All that its speed depends on, but for the machine.
std::string shape_words(const ProductSpec& spec, std::int64_t batch);

}  // namespace nibble
