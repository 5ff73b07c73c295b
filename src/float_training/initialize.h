// SPDX-License-Identifier: Apache-2.0
// First values of parameters, a function of the seed.
#pragma once

#include <cstdint>
#include <vector>

#include "nibble/float_training/recipe.h"

namespace nibble::inline float_training {

// One tensor a parameter, in the order of parameters_of.
std::vector<Tensor> initial_parameters(const Network& network, Initialization initialization,
                                       std::uint64_t seed);

// WAGE divides what a layer gives by max(1, 2^round(log2(0.75 / √(6 / in)))).
float wage_scale(const Shape& weight);

}  // namespace nibble::inline float_training
