// SPDX-License-Identifier: Apache-2.0
// What a GPU has to show, on a device that every machine has.
#include "placement/test_placed_networks.h"

namespace nibble::inline placement {
namespace {

INSTANTIATE_TEST_SUITE_P(OnWholeBatches, PlacedNetworks,
                         testing::ValuesIn(four_networks("pretend")), name_of);
INSTANTIATE_TEST_SUITE_P(OnWholeBatches, NetworksOfAuto,
                         testing::ValuesIn(four_networks("pretend")), name_of);

// Long enough for a difference of one bit to spread into all weights.
INSTANTIATE_TEST_SUITE_P(OnWholeCourses, PlacedNetworks,
                         testing::Values(PlacedNetwork{"convnet-8x8", "pretend", 500, 32},
                                         PlacedNetwork{"lenet", "pretend", 100, 16},
                                         PlacedNetwork{"resnet20", "pretend", 10, 4}),
                         name_of);

}  // namespace
}  // namespace nibble::inline placement
