// SPDX-License-Identifier: Apache-2.0
// Says what a product is.
#include "engine/product_words.h"

#include <fmt/format.h>

namespace nibble {

std::string window_words(const Conv2d& conv) {
  std::string text = fmt::format("conv2d {}x{}", conv.kernel.y, conv.kernel.x);
  if (conv.stride != Extent2{1, 1}) text += fmt::format("/{}", conv.stride.y);
  return text;
}

std::string shape_words(const ProductSpec& spec, std::int64_t batch) {
  const auto name = [](const Place& place) {
    return fmt::format("{}x{}x{} {}", place.height, place.width, place.channels,
                       place.storage == FilterStorage::u4    ? "u4"
                       : place.storage == FilterStorage::s32 ? "s32"
                                                             : "u8");
  };
  return fmt::format("{} of {}, {} to {}, groups {}, {}-bit weights{}{}{}",
                     spec.is_linear ? "linear" : window_words(spec.window), batch, name(spec.in),
                     name(spec.out), spec.window.groups, spec.has_small_weights ? 4 : 8,
                     spec.addend.is_stored() ? ", add" : "", spec.is_wide ? ", wide" : "",
                     spec.kind.ends_with("max_pool") ? ", pool" : "");
}

}  // namespace nibble
