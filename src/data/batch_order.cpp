// SPDX-License-Identifier: Apache-2.0
// Fisher and Yates with draws by counter, unbiased by rejection.
#include "data/batch_order.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "nibble/core/error.h"
#include "nibble/core/philox.h"

namespace nibble::inline data {
namespace {

// Uniform in 0 to bound - 1. A try is refused with probability below bound / 2^32.
std::uint32_t draw_below(std::uint32_t bound, const RandomKey& key, std::uint64_t element) {
  const std::uint32_t refused = (0u - bound) % bound;  // 2^32 mod bound
  for (;; element += std::uint64_t{1} << 32) {
    const std::uint64_t product = std::uint64_t{draw32(key, element)} * bound;
    if (static_cast<std::uint32_t>(product) >= refused) {
      return static_cast<std::uint32_t>(product >> 32);
    }
  }
}

std::vector<std::int32_t> permutation(std::int32_t count, const RandomKey& key) {
  if (count < 0) throw Error("batch_order", "count", std::to_string(count), "0 or more");
  std::vector<std::int32_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i-- > 1;) {
    std::swap(order[i], order[draw_below(static_cast<std::uint32_t>(i + 1), key, i)]);
  }
  return order;
}

}  // namespace

std::vector<std::int32_t> epoch_order(std::int32_t count, std::uint64_t seed, std::uint32_t epoch) {
  return permutation(count, {.seed = seed, .stream = kOrderStream, .step = epoch});
}

HoldOut hold_out(std::int32_t count, std::int32_t validation_count, std::uint64_t seed) {
  if (validation_count < 0 || validation_count > count) {
    throw Error("hold_out", "images for validation", std::to_string(validation_count),
                "0 to " + std::to_string(count));
  }
  const std::vector<std::int32_t> order =
      permutation(count, {.seed = seed, .stream = kHoldOutStream, .step = 0});
  const auto middle = order.begin() + validation_count;
  HoldOut parts{.train = {middle, order.end()}, .validation = {order.begin(), middle}};
  std::sort(parts.train.begin(), parts.train.end());
  std::sort(parts.validation.begin(), parts.validation.end());
  return parts;
}

}  // namespace nibble::inline data
