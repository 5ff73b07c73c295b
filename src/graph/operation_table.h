// SPDX-License-Identifier: Apache-2.0
// What can be done with each operation: which are trained, run, emitted, read, written, quantized.
// `nibble describe --operations` and docs/operations.md show it, tests/operations tries every cell.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "nibble/graph/op.h"

namespace nibble::inline graph {

enum class Capability : std::uint8_t {
  float_training,
  integer_training,
  engine,
  emit,
  emit_training,
  onnx_in,
  onnx_out,
  quantize,
};
inline constexpr std::size_t kCapabilities = 8;

std::string_view name_of(Capability capability);     // "emit --train", as a column's head has it
std::string_view command_of(Capability capability);  // "nibble emit --train": what is typed for it

// One cell of the table.
struct Support {
  bool is_there = false;
  std::string_view words = {};  // why not; where it is there, what it asks for or makes of it
};

struct OperationRow {
  std::string_view operation;
  std::array<Support, kCapabilities> cells;  // by capability

  const Support& of(Capability capability) const {
    return cells[static_cast<std::size_t>(capability)];
  }
};

// In the order of Op.
std::span<const OperationRow> operation_table();

const Support& support_of(const Op& op, Capability capability);

// The table for a terminal, its words below it.
std::string operation_table_text();

// docs/operations.md.
std::string operation_table_page();

}  // namespace nibble::inline graph
