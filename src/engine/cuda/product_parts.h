// SPDX-License-Identifier: Apache-2.0
// A convolution or linear layer on its way to a GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/cuda/device_work.h"
#include "engine/cuda/finish_constants.h"

namespace nibble::inline engine {

// A product, and where its values lie.
struct PlacedProduct {
  const ProductLaw& law;
  Conv2d window;  // of a linear layer: one tap a pixel of its picture
  DevicePlace in;
  DevicePlace out;
  const DevicePlace* addend;  // null: none

  PlacedProduct(const DevicePlaces& places, const ProgramStep& step, const ProductLaw& law_);

  std::int64_t taps() const { return window.kernel.y * window.kernel.x; }
  std::int64_t depth() const { return in.picture.channels / window.groups; }
};

// With its weights (out, rows, columns, in / groups).
struct ProductParts : PlacedProduct {
  Interval in_range;
  std::vector<std::int8_t> weights;

  std::int8_t weight(std::int64_t out_channel, std::int64_t tap, std::int64_t k) const {
    return weights[static_cast<std::size_t>((out_channel * taps() + tap) * depth() + k)];
  }

  // Numbers are bytes + base: the bias takes base·Σ w along.
  std::vector<std::int64_t> bias_of_bytes() const;
  // (out, tap, filled channels), outs filled up to a multiple of `columns`.
  std::vector<std::int8_t> packed_weights(std::int64_t columns) const;
  DeviceFinish finish(const std::vector<std::int64_t>& bias, DeviceConstants& constants) const {
    return {law.finish, bias, out, addend, constants};
  }
};

// What sums lack where windows meet the byte 0 outside of their picture (cuda::OutsideSums).
struct OutsideTable {
  std::vector<std::int32_t> sums;
  std::vector<std::int32_t> rows;
};
OutsideTable outside_table(const ProductParts& parts);

// Whether the copy engine of Hopper can bring its operands, and its sums can end in a form for
// that.
bool can_be_copied(const PlacedProduct& product);
DeviceWork copied_work(const ProductParts& product, const DeviceParts& parts, std::string& shape);
// Tiles that it may be cut into.
std::vector<ProductCut> copied_cuts();

}  // namespace nibble::inline engine
