// SPDX-License-Identifier: Apache-2.0
// Whether a data set is one that a network can answer.
#pragma once

#include "nibble/data/augment.h"
#include "nibble/data/dataset.h"
#include "nibble/graph/network.h"

namespace nibble::inline epoch_loop {

// Throws where the data's examples or classes do not fit the network.
void check_data(const Network& network, const Dataset& data);

// Throws where crop, flip or cutout is asked for and examples are no pictures.
void check_augment(const AugmentOptions& augment, const Dataset& data);

}  // namespace nibble::inline epoch_loop
