// SPDX-License-Identifier: Apache-2.0
// The definition itself on the device, one thread an element: for what has no plan, and for compat.
#pragma once

#include "kernels/quantize/cuda/ranges.h"
#include "kernels/quantize/cuda/round.h"
#include "nibble/numerics/compat.h"

namespace nibble::cuda {

enum class ElementFamily : std::uint8_t { floating, grid, posit, codebook };

// An element without what only the host has.
struct DeviceElement {
  ElementFamily family = ElementFamily::floating;
  FloatElement floating;
  GridElement grid;
  PositElement posit;
  const float* table = nullptr;  // on the device
  std::int64_t entries = 0;
};

struct DefineJob {
  const void* input = nullptr;
  void* output = nullptr;  // null: codes
  DType input_type = DType::f32;
  DType output_type = DType::f32;
  std::int64_t count = 0;
  RandomKey random;
  Rounding rounding;
  Overflow overflow = Overflow::native;
  DeviceElement element;
  ScaleKind kind = ScaleKind::none;
  ScaleJob scales;  // source none, tensor or groups
  CodeJob codes;
  Compat compat = Compat::none;
  const GroupRange* ranges = nullptr;  // compat blocks
};

void round_by_definition(const DefineJob& job, const Place& place);
void round_by_compat(const DefineJob& job, const Place& place);

}  // namespace nibble::cuda
