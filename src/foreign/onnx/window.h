// SPDX-License-Identifier: Apache-2.0
// Where the windows of convolutions and pools lie, and how their padding is written for Nibble.
#pragma once

#include <optional>

#include "foreign/onnx/translation.h"

namespace nibble::inline foreign {

struct Window {
  Extent2 kernel;
  Extent2 stride;
  Extent2 dilation;
  Extent2 before;  // padding
  Extent2 after;
};

// From the attributes strides, dilations, pads and auto_pad, for a picture (channels, rows,
// columns). With ceil_mode the padding after grows where that gives another window.
Window window_of(const NodeView& node, const Extents& picture, Extent2 kernel);

Extent2 extent_of(const NodeView& node, std::string_view attribute, Extent2 otherwise);

// Whether the same padding on both sides gives the same windows.
bool is_even(const Window& window, const Extents& picture);

// The windows asked for among those of a larger padding, the same on both sides: rows and columns
// from `first` to `end`. For pools that look at nothing outside of the picture.
struct EvenWindows {
  Extent2 padding;
  Extent2 first;
  Extent2 end;
};
// None where the larger padding would hold a whole window.
std::optional<EvenWindows> even_windows(const Window& window, const Extents& picture);

// A node that pads the picture by zeros as the window asks.
std::size_t add_padding(Translation& translation, const NodeView& node, std::size_t picture,
                        const Window& window);

}  // namespace nibble::inline foreign
