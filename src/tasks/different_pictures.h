// SPDX-License-Identifier: Apache-2.0
// The pictures that two models answer differently, as a page.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "nibble/data/dataset.h"

namespace nibble::inline tasks {

struct DifferentPicture {
  std::int64_t index = 0;
  std::int32_t label = 0;
  std::int32_t first = 0;  // the answers
  std::int32_t second = 0;
};

std::string class_name(const Dataset& data, std::int32_t label);

// The first 24 as SVG, or as an HTML page with it; sides above 64 pixels are thinned out. The data
// must be pictures of one or three channels.
std::string draw_pictures(const Dataset& data, std::span<const DifferentPicture> list,
                          bool is_html);

}  // namespace nibble::inline tasks
