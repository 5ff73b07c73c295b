// SPDX-License-Identifier: Apache-2.0
// A tensor on its way between the host and a device: fp32 as it is, else codes of a format.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "nibble/core/philox.h"
#include "nibble/float_training/recipe.h"
#include "nibble/kernels/quantize.h"

namespace nibble::inline float_training {

struct WireParcel {
  WireFormat wire = WireFormat::fp32;
  Encoded coded;  // of fp32 the codes are the values
  bool is_finite = true;

  std::int64_t bytes() const;
};

// What the codes are of. int8: integers from -127 to 127 and a power of two for the whole tensor.
const Format& format_of(WireFormat wire);
const Format& format_of(ProductType type);

// Whether all that arrives over the wire are numbers of the type.
bool holds(ProductType type, WireFormat wire);

// Rounded to the nearest; int8 with draws stochastically. A tensor of int8 with an infinity or a
// NaN arrives as NaN throughout, so that the loss scale notices it.
WireParcel pack(std::span<const float> values, WireFormat wire,
                const std::optional<RandomKey>& draws = std::nullopt);

void unpack(const WireParcel& parcel, std::span<float> values);

}  // namespace nibble::inline float_training
