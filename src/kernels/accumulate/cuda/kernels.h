// SPDX-License-Identifier: Apache-2.0
// The parts of a product on a GPU: tiles of outputs, and single outputs by the definition.
#pragma once

#include "kernels/accumulate/definition.h"
#include "kernels/accumulate/job.h"
#include "nibble/cuda/device.h"
#include "numerics/element_view.h"

namespace nibble::cuda {

// What the definition is told on a GPU.
struct DefinitionJob {
  accumulation::Operands operands;
  float* c = nullptr;
  accumulation::SumRules rules;
  ElementView product;
  ElementView sum;
  Rounding rounding;
  Overflow overflow = Overflow::native;
  RandomKey random;
  std::uint64_t draws_per_output = 0;
};

// Both queue their work on the current device.
void run_tiles(const accumulation::Job& job, const Place& place);
void run_definition(const DefinitionJob& job, const Place& place);

}  // namespace nibble::cuda
