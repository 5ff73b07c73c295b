// SPDX-License-Identifier: Apache-2.0
// Frozen batch norms by what the batches that trained were like.
#pragma once

#include <span>
#include <vector>

#include "integer_training/integer_model.h"

namespace nibble::inline integer_training {

// Of each norm, in the unit that its frozen values have: that of what it reads, by node, and of the
// shifts that its product's weights ask for.
std::vector<NormalizationRecord> running_norms(const Network& network,
                                               std::span<const ModelTensor> trained,
                                               std::span<const int> exponents,
                                               std::span<const RunningStatistics> running);

}  // namespace nibble::inline integer_training
