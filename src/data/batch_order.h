// SPDX-License-Identifier: Apache-2.0
// Which image comes when: orders that are a function of their key alone.
#pragma once

#include <cstdint>
#include <vector>

namespace nibble::inline data {

inline constexpr std::uint32_t kOrderStream = 0xDA7A0001u;
inline constexpr std::uint32_t kHoldOutStream = 0xDA7A0002u;

// The order of the images 0 to count - 1 in an epoch; batch b of size s is [b·s, (b+1)·s).
//
// Fisher and Yates: start with the identity, for i = count - 1 down to 1 swap entries i and j,
// where j is uniform in 0 to i: x = draw32({seed, kOrderStream, step = epoch}, i + a·2^32) for the
// first a = 0, 1, … with (x·(i+1)) mod 2^32 >= 2^32 mod (i+1), and j = ⌊x·(i+1) / 2^32⌋ (Lemire
// 2019).
std::vector<std::int32_t> epoch_order(std::int32_t count, std::uint64_t seed, std::uint32_t epoch);

struct HoldOut {
  std::vector<std::int32_t> train;  // both ascending
  std::vector<std::int32_t> validation;
};

// Sets images aside for validation: the first `validation_count` of an order made as above, with
// kHoldOutStream and step 0.
HoldOut hold_out(std::int32_t count, std::int32_t validation_count, std::uint64_t seed);

}  // namespace nibble::inline data
