// SPDX-License-Identifier: Apache-2.0
// Largest values and rescaled sums of windows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/cpu/place.h"
#include "engine/cpu/step.h"
#include "engine/program.h"
#include "kernels/engine/engine_kernels.h"
#include "nibble/graph/op.h"

namespace nibble::inline engine {

// A max pool, row by row. Both places have the same storage, u8 or u4, and the same zero.
class MaxPoolRows {
 public:
  MaxPoolRows(const MaxPool& pool, const Place& in, const Place& out)
      : pool_(pool), in_(in), out_(out) {}

  // The rows of the input that row y reads.
  std::int64_t first_row(std::int64_t y) const;
  std::int64_t end_row(std::int64_t y) const;

  // Row y of the picture whose row 0 is at `from`.
  void run_row(const EngineKernels& path, const std::uint8_t* from, std::int64_t y,
               std::uint8_t* to) const;

 private:
  MaxPool pool_;
  Place in_;
  Place out_;
};

std::unique_ptr<CpuStep> make_max_pool_step(const MaxPool& pool, const Place& in, const Place& out);

// The input is u8 and the pool's values fit 32 bits.
struct MeanSpec {
  MeanLaw law;
  Place in;
  Place out;
};
std::unique_ptr<CpuStep> make_mean_step(const MeanSpec& spec);

}  // namespace nibble::inline engine
