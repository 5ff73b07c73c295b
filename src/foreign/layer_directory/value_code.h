// SPDX-License-Identifier: Apache-2.0
// What values between layers may be: the codes of which compute_mode is made, with their ranges.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "nibble/graph/network.h"

namespace nibble::inline foreign {

enum class ValueCode : std::uint8_t { u4, u7, s8, u31, s32 };

struct ValueRange {
  std::int64_t bits = 0;  // as output_bits says it: of the largest magnitude
  std::int64_t low = 0;
  std::int64_t high = 0;
};

std::string_view name_of(ValueCode code);
ValueRange range_of(ValueCode code);  // s8 is symmetric: -127 to 127
std::optional<ValueCode> code_named(std::string_view name);
std::optional<ValueCode> code_of_range(std::int64_t low, std::int64_t high);

// Whether filters take it; sums of the wide ones would not fit 32 bits.
bool is_narrow(ValueCode code);

// For whoever reads the network: uint4, uint7, int8(symmetric); fp32 for the wide ones.
Precision precision_of(ValueCode code);

// The picture: s8 of (x / 255 - mean) / deviation in steps of 2.64 / 127.
Node input_node(std::int64_t rows, std::int64_t columns);
inline constexpr ValueCode kInputCode = ValueCode::s8;
inline constexpr std::string_view kNetworkMode = "s8f32";

}  // namespace nibble::inline foreign
