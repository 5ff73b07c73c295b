// SPDX-License-Identifier: Apache-2.0
// The factors of a model of integers, as embedded engineers want them.
#pragma once

#include <string>

#include "nibble/graph/network.h"

namespace nibble {

// Of every rescale: multiplier and shift of each channel in CMSIS-NN's convention, and the zero
// point and the scale of its format.
std::string rescale_tables(const Model& model);

}  // namespace nibble
