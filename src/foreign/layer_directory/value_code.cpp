// SPDX-License-Identifier: Apache-2.0
// The codes of values between layers.
#include "foreign/layer_directory/value_code.h"

#include <array>

namespace nibble::inline foreign {
namespace {

struct CodeRow {
  ValueCode code;
  std::string_view name;
  ValueRange range;
};

constexpr std::array<CodeRow, 5> kCodes = {{
    {ValueCode::u4, "u4", {4, 0, 15}},
    {ValueCode::u7, "u7", {7, 0, 127}},
    {ValueCode::s8, "s8", {7, -127, 127}},
    {ValueCode::u31, "u31", {31, 0, kMaxInteger}},
    {ValueCode::s32, "s32", {31, -kMaxInteger, kMaxInteger}},
}};

const CodeRow& row_of(ValueCode code) {
  return kCodes[static_cast<std::size_t>(code)];
}

}  // namespace

std::string_view name_of(ValueCode code) {
  return row_of(code).name;
}

ValueRange range_of(ValueCode code) {
  return row_of(code).range;
}

std::optional<ValueCode> code_named(std::string_view name) {
  for (const CodeRow& row : kCodes) {
    if (row.name == name) return row.code;
  }
  return {};
}

std::optional<ValueCode> code_of_range(std::int64_t low, std::int64_t high) {
  for (const CodeRow& row : kCodes) {
    if (row.range.low == low && row.range.high == high) return row.code;
  }
  return {};
}

bool is_narrow(ValueCode code) {
  return range_of(code).bits <= 7;
}

Precision precision_of(ValueCode code) {
  if (!is_narrow(code)) return {};
  const bool is_signed = range_of(code).low < 0;
  const int bits = static_cast<int>(range_of(code).bits) + (is_signed ? 1 : 0);
  return {
      .format = {
          .element = GridElement{.bits = bits, .is_signed = is_signed, .is_symmetric = is_signed},
          .scaling = {}}};
}

Node input_node(std::int64_t rows, std::int64_t columns) {
  Node node{.name = "input",
            .op = Input{.shape = {rows, columns, 3},
                        .mean = {0.485F, 0.456F, 0.406F},
                        .deviation = {0.229F, 0.224F, 0.225F}}};
  node.value = precision_of(kInputCode);
  node.value.format.scaling = {.kind = ScaleKind::given, .scale = static_cast<float>(2.64 / 127)};
  return node;
}

}  // namespace nibble::inline foreign
