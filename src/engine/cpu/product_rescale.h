// SPDX-License-Identifier: Apache-2.0
// What makes the sums of a product's panel into its values.
#pragma once

#include "engine/cpu/packed_filters.h"

namespace nibble::inline engine {

// For the first pixel of the first picture, which lies at `out`; without sums and pixels.
RescaleTile rescale_of(const ProductSpec& spec, const PackedFilters& filters, std::size_t panel,
                       const std::byte* arena, std::uint8_t* out);

// `pixels` further.
void advance_tile(RescaleTile& tile, std::int64_t pixels);

}  // namespace nibble::inline engine
