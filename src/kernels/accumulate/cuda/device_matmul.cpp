// SPDX-License-Identifier: Apache-2.0
// The matrix product with a simulated accumulator on a GPU: checks, tables, choice of the kernel.
#include <algorithm>
#include <cstddef>
#include <string>

#include "cuda/upload.h"
#include "kernels/accumulate/cuda/kernels.h"
#include "kernels/accumulate/job.h"
#include "nibble/core/error.h"
#include "nibble/kernels/device_accumulate.h"

namespace nibble::inline kernels {
namespace {

using accumulation::Job;
using accumulation::Operands;

bool rounds_products(const Accumulator& accumulator) {
  return accumulator.method == SumMethod::separate || accumulator.method == SumMethod::kahan;
}

std::size_t table_bytes(const Element& element) {
  const auto* codebook = std::get_if<CodebookElement>(&element);
  return codebook == nullptr ? 0 : (codebook->values.size() * sizeof(float) + 15) / 16 * 16;
}

// The element with its table, if it has one, at `table`.
ElementView device_view(const Element& element, void* table, const cuda::Place& place) {
  ElementView view = view_of(element);
  if (view.count == 0) return view;
  cuda::upload(table, view.values, view.count * sizeof(float), place);
  view.values = static_cast<const float*>(table);
  return view;
}

void run_definition(const Operands& operands, float* c, const Accumulator& accumulator,
                    void* workspace, const cuda::Place& place) {
  const Element& sum = accumulator.format.element;
  ElementView product;
  if (rounds_products(accumulator)) {
    void* table = static_cast<std::byte*>(workspace) + table_bytes(sum);
    product = device_view(accumulator.product_format.element, table, place);
  }
  cuda::run_definition(
      {.operands = operands,
       .c = c,
       .rules = {.method = accumulator.method,
                 .order = accumulator.order,
                 .chunk = accumulation::chunk_length(accumulator, operands.inner)},
       .product = product,
       .sum = device_view(sum, workspace, place),
       .rounding = accumulator.rounding,
       .overflow = accumulator.overflow,
       .random = accumulator.random,
       .draws_per_output = accumulation::draws_per_output(accumulator, operands.inner)},
      place);
}

}  // namespace

std::size_t device_matmul_workspace(const Accumulator& accumulator) {
  const Element& product = accumulator.product_format.element;
  return table_bytes(accumulator.format.element) +
         (rounds_products(accumulator) ? table_bytes(product) : 0);
}

void device_matmul(const float* a, const float* b, float* c, std::int64_t m, std::int64_t k,
                   std::int64_t n, const Accumulator& accumulator, void* workspace,
                   const cuda::Place& place) {
  accumulation::check_accumulator(accumulator);
  if (m < 0 || k < 0 || n < 0) {
    throw Error("device_matmul", "size of a matrix", std::to_string(std::min({m, k, n})),
                "0 or more");
  }
  if (workspace == nullptr && device_matmul_workspace(accumulator) > 0) {
    throw Error("device_matmul", "workspace", "none", "memory for the tables of codebooks");
  }
  if (m == 0 || n == 0) return;
  const cuda::DeviceGuard guard(place);
  const Operands operands = {.a = a, .b = b, .rows = m, .inner = k, .columns = n};
  if (const std::optional<Job> job = accumulation::make_job(operands, c, accumulator)) {
    cuda::run_tiles(*job, place);
  } else {
    run_definition(operands, c, accumulator, workspace, place);
  }
}

}  // namespace nibble::inline kernels
