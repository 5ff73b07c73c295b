// SPDX-License-Identifier: Apache-2.0
// Fills in the kernel's rescale from a product.
#include "engine/cpu/packed_filters.h"

namespace nibble::inline engine {

RescaleTile rescale_of(const ProductSpec& spec, const PackedFilters& filters, std::size_t panel,
                       const std::byte* arena, std::uint8_t* out) {
  const FilterPanel& outputs = filters.panels()[panel];
  RescaleTile tile{.columns = static_cast<int>(outputs.outputs),
                   .multiplier = filters.multiplier(panel),
                   .shift = spec.finish.shift,
                   .low = static_cast<std::int32_t>(spec.finish.low),
                   .high = static_cast<std::int32_t>(spec.finish.high),
                   .zero = spec.out.zero,
                   .is_wide = spec.finish.is_wide,
                   .has_ties = spec.finish.has_ties,
                   .is_small = outputs.is_small,
                   .storage = spec.out.storage,
                   .out = out + spec.out.channel_bytes(outputs.first_output),
                   .stride = spec.out.stride};
  if (spec.addend.is_stored()) {
    tile.addend = {.storage = spec.addend.storage,
                   .data = reinterpret_cast<const std::uint8_t*>(arena + spec.addend.offset) +
                           spec.addend.channel_bytes(outputs.first_output),
                   .stride = spec.addend.stride,
                   .multiplier = filters.addend_multiplier(panel),
                   .shift = spec.finish.addend_shift,
                   .zero = spec.addend.zero};
  }
  return tile;
}

void advance_tile(RescaleTile& tile, std::int64_t pixels) {
  tile.out = static_cast<std::uint8_t*>(tile.out) + pixels * tile.stride;
  tile.addend.data += pixels * tile.addend.stride;
}

}  // namespace nibble::inline engine
