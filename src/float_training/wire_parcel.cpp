// SPDX-License-Identifier: Apache-2.0
// Tensors as codes and back.
#include "float_training/wire_parcel.h"

#include <algorithm>
#include <array>
#include <limits>

#include "float_training/finite.h"
#include "nibble/numerics/rounding.h"

namespace nibble::inline float_training {

const Format& format_of(WireFormat wire) {
  static const std::array formats = {parse_format("fp32"), parse_format("fp16"),
                                     parse_format("bf16"), parse_format("bfp(8)")};
  return formats[static_cast<std::size_t>(wire)];
}

const Format& format_of(ProductType type) {
  static const std::array formats = {parse_format("fp32"), parse_format("tf32"),
                                     parse_format("fp16"), parse_format("bf16")};
  return formats[static_cast<std::size_t>(type)];
}

bool holds(ProductType type, WireFormat wire) {
  switch (type) {
    case ProductType::fp32:
      return true;
    case ProductType::tf32:
      return wire == WireFormat::fp16 || wire == WireFormat::bf16;
    case ProductType::fp16:
      return wire == WireFormat::fp16;
    case ProductType::bf16:
      return wire == WireFormat::bf16;
  }
  return false;
}

std::int64_t WireParcel::bytes() const {
  return static_cast<std::int64_t>(coded.codes.bytes() + coded.scales.bytes());
}

WireParcel pack(std::span<const float> values, WireFormat wire,
                const std::optional<RandomKey>& draws) {
  WireParcel parcel{.wire = wire, .coded = {}};
  if (wire == WireFormat::fp32) {
    parcel.coded.codes = copy_of(view_of(values));
    return parcel;
  }
  QuantizeOptions options;
  if (wire == WireFormat::int8) {
    parcel.is_finite = is_finite(values);
    if (draws) options = {.rounding = parse_rounding("stochastic"), .random = *draws};
  }
  if (parcel.is_finite) {
    parcel.coded = encode(view_of(values), format_of(wire), options);
  } else {  // as many codes, which nobody reads
    parcel.coded.codes = Tensor(DType::u8, {static_cast<std::int64_t>(values.size())});
    parcel.coded.scales = Tensor(DType::f32, {1});
  }
  return parcel;
}

void unpack(const WireParcel& parcel, std::span<float> values) {
  if (!parcel.is_finite) {
    std::ranges::fill(values, std::numeric_limits<float>::quiet_NaN());
  } else if (parcel.wire == WireFormat::fp32) {
    std::ranges::copy(parcel.coded.codes.as<float>(), values.begin());
  } else {
    decode(parcel.coded, format_of(parcel.wire), values);
  }
}

}  // namespace nibble::inline float_training
