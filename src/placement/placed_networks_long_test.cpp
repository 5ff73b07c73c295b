// SPDX-License-Identifier: Apache-2.0
// What a GPU has to show, on a device that every machine has.
#include "placement/test_placed_networks.h"

namespace nibble::inline placement {
namespace {

INSTANTIATE_TEST_SUITE_P(OnWholeBatches, PlacedNetworks,
                         testing::ValuesIn(four_networks("pretend")), name_of);
INSTANTIATE_TEST_SUITE_P(OnWholeBatches, NetworksOfAuto,
                         testing::ValuesIn(four_networks("pretend")), name_of);

}  // namespace
}  // namespace nibble::inline placement
