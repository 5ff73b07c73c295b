// SPDX-License-Identifier: Apache-2.0
// Whole networks on the CPU and on a device that runs ahead, on a picture or two.
#include <span>

#include "placement/test_placed_networks.h"

namespace nibble::inline placement {
namespace {

const std::vector<PlacedNetwork> kOnFewImages = {{"convnet-8x8", "pretend", 2, 2},
                                                 {"lenet", "pretend", 2, 2},
                                                 {"resnet20", "pretend", 2, 2},
                                                 {"vgg-small-7", "pretend", 1, 1}};

// The last one's plan is left to the long tests, and to sanitizers the first one's.
const std::span<const PlacedNetwork> kOfAuto =
    std::span(kOnFewImages).first(kIsSanitized ? 1 : kOnFewImages.size() - 1);

INSTANTIATE_TEST_SUITE_P(OnFewImages, PlacedNetworks, testing::ValuesIn(kOnFewImages), name_of);
INSTANTIATE_TEST_SUITE_P(OnFewImages, NetworksOfAuto,
                         testing::ValuesIn(kOfAuto.begin(), kOfAuto.end()), name_of);

}  // namespace
}  // namespace nibble::inline placement
