// SPDX-License-Identifier: Apache-2.0
// The matrix product with a simulated accumulator: checks of operands, choice of the path, threads.
#include "nibble/kernels/accumulate.h"

#include <algorithm>
#include <functional>

#include "core/isa.h"
#include "kernels/accumulate/job.h"
#include "kernels/accumulate/paths.h"
#include "kernels/accumulate/reference.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"

namespace nibble::inline kernels {
namespace {

using accumulation::Job;
using accumulation::Operands;
using accumulation::TileKernel;

constexpr std::int64_t kProductsPerTask = 1 << 16;  // some 50 microseconds, so threads pay off

bool overlap(ConstTensorView x, ConstTensorView y) {
  const std::less<> before;
  return x.bytes() > 0 && y.bytes() > 0 && before(x.data(), y.data() + y.bytes()) &&
         before(y.data(), x.data() + x.bytes());
}

Operands checked_operands(ConstTensorView a, ConstTensorView b, ConstTensorView c) {
  for (const ConstTensorView& matrix : {a, b, c}) {
    if (matrix.shape().rank() != 2) {
      throw Error("matmul", "rank", std::to_string(matrix.shape().rank()), "2");
    }
    if (matrix.device().kind != Device::Kind::cpu) {
      throw Error("matmul", "device", "cuda", "cpu");
    }
  }
  const Operands operands = {.a = a.as<float>().data(),
                             .b = b.as<float>().data(),
                             .rows = a.shape()[0],
                             .inner = a.shape()[1],
                             .columns = b.shape()[1]};
  if (b.shape()[0] != operands.inner) {
    throw Error("matmul", "rows of b", std::to_string(b.shape()[0]),
                std::to_string(operands.inner) + ", the columns of a");
  }
  const Shape expected{operands.rows, operands.columns};
  if (c.shape() != expected) {
    throw Error("matmul", "shape of c", c.shape().to_string(), expected.to_string());
  }
  if (overlap(a, c) || overlap(b, c)) {
    throw Error("matmul", "c lies in the memory of a or b");
  }
  return operands;
}

std::size_t grain_of(std::int64_t products_per_item) {
  return static_cast<std::size_t>(
      std::max<std::int64_t>(1, kProductsPerTask / std::max<std::int64_t>(1, products_per_item)));
}

void run_definition(const Operands& operands, float* c, const Accumulator& accumulator) {
  const auto outputs = static_cast<std::size_t>(operands.rows * operands.columns);
  // A rounding of the definition costs as much as a hundred of a kernel.
  const std::size_t grain = grain_of(100 * operands.inner);
  parallel_for(outputs, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t output = begin; output < end; ++output) {
      const auto index = static_cast<std::int64_t>(output);
      c[output] =
          output_of(operands, accumulator, index / operands.columns, index % operands.columns);
    }
  });
}

// Tiles one below the other follow each other, so that a task reads few columns of b.
void run_tiles(const Job& job, const TileKernel& kernel) {
  const Operands& operands = job.operands;
  if (operands.rows == 0 || operands.columns == 0) return;
  const std::int64_t down = (operands.rows - 1) / kernel.rows + 1;
  const std::int64_t across = (operands.columns - 1) / kernel.columns + 1;
  const std::size_t grain = grain_of(kernel.rows * kernel.columns * operands.inner);
  parallel_for(static_cast<std::size_t>(down * across), grain,
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t tile = begin; tile < end; ++tile) {
                   const auto index = static_cast<std::int64_t>(tile);
                   kernel.run(job, index % down * kernel.rows, index / down * kernel.columns);
                 }
               });
}

}  // namespace

Accumulator accumulator_of(const Format& format) {
  return {.format = format, .product_format = format};
}

void matmul(ConstTensorView a, ConstTensorView b, TensorView c, const Accumulator& accumulator) {
  accumulation::check_accumulator(accumulator);
  const Operands operands = checked_operands(a, b, c);
  float* result = c.as<float>().data();
  const auto& [isa, tile_kernel] = best_path(kTilePaths, active_isa());
  const std::optional<Job> job = accumulation::make_job(operands, result, accumulator);
  if (tile_kernel == nullptr || !job) {
    run_definition(operands, result, accumulator);
    report_isa_used(Isa::reference);
    return;
  }
  run_tiles(*job, tile_kernel(*job));
  report_isa_used(isa);
}

}  // namespace nibble::inline kernels
