// SPDX-License-Identifier: Apache-2.0
// From a call to the parameters of the kernel that rounds its elements.
#include <algorithm>
#include <cmath>
#include <vector>

#include "cuda/upload.h"
#include "kernels/quantize/cuda/device_layout.h"
#include "kernels/quantize/cuda/encode.h"
#include "kernels/quantize/cuda/table_draws.h"

namespace nibble::inline kernels {
namespace {

ScaleUse scale_use(ScaleKind kind) {
  if (kind == ScaleKind::none) return ScaleUse::none;
  return kind == ScaleKind::power_of_two ? ScaleUse::exact : ScaleUse::divide;
}

// A codebook's arrays: seven of 2^levels entries.
void place_table(cuda::RoundJob& job, const DeviceLayout& layout, const CodebookElement& codebook,
                 void* workspace, const cuda::Place& place) {
  const RoundPlan& plan = layout.program->plan();
  const auto size = std::size_t{1} << plan.table.levels;
  job.table.entries = static_cast<int>(codebook.values.size());
  std::vector<float> values(size, codebook.values.back());
  std::copy(codebook.values.begin(), codebook.values.end(), values.begin());
  const float* arrays[] = {plan.table.thresholds,
                           plan.table.toward,
                           plan.table.away,
                           plan.table.inverse_width,
                           plan.nearest->table.thresholds,
                           plan.nearest->table.toward,
                           values.data()};
  float* small[] = {job.table.thresholds,
                    job.table.toward,
                    job.table.away,
                    job.table.inverse_width,
                    job.table.nearest_thresholds,
                    job.table.nearest_values,
                    job.table.values};
  auto* large = piece_of<float>(workspace, layout.table);
  for (std::size_t a = 0; a < std::size(arrays); ++a) {
    if (layout.has_large_table) {
      cuda::upload(large + a * size, arrays[a], size * sizeof(float), place);
    } else {
      std::copy_n(arrays[a], size, small[a]);
    }
  }
  if (layout.has_large_table) {
    job.table.large = large;
    return;
  }
  job.table.cells = cuda::even_cells(job.table.thresholds);
  job.table.undecided = cuda::undecided_margin(codebook.values);
}

cuda::PhiloxKeys philox_keys(const RandomKey& key) {
  cuda::PhiloxKeys keys;
  auto k0 = static_cast<std::uint32_t>(key.seed);
  auto k1 = static_cast<std::uint32_t>(key.seed >> 32);
  const std::uint64_t product = std::uint64_t{0xCD9E8D57U} * key.step;
  keys.start[0] = static_cast<std::uint32_t>(product >> 32) ^ k0;
  keys.start[1] = static_cast<std::uint32_t>(product);
  keys.start[2] = key.stream ^ k1;
  for (auto& round : keys.rounds) {
    round[0] = k0 += 0x9E3779B9U;
    round[1] = k1 += 0xBB67AE85U;
  }
  return keys;
}

void round_floats(const cuda::RoundJob& job, const cuda::Place& place) {
  if (cuda::is_plain(job.plan.floating)) return cuda::round_plain_floats(job, place);
  if (cuda::lacks_minus_zero(job.plan.floating)) {
    return cuda::round_floats_without_minus_zero(job, place);
  }
  cuda::round_any_floats(job, place);
}

void round_quickly(cuda::RoundJob& job, const cuda::Place& place) {
  if (job.plan.family == RoundPlan::Family::grid) return cuda::round_quick_grids(job, place);
  if (job.plan.family == RoundPlan::Family::posit) return cuda::round_quick_posits(job, place);
  if (job.plan.family == RoundPlan::Family::table) return cuda::round_quick_tables(job, place);
  const FloatPlan& p = job.plan.floating;
  job.quick.ratio = std::ldexp(1.0F, static_cast<int>(p.dropped_bits));
  job.quick.fractions_per_one = 0x1p32F / p.small_quantum;
  cuda::round_quick_floats(job, place);
}

void round_by_plan(const DeviceLayout& layout, DeviceArray input, DeviceArray output,
                   const cuda::CodeJob& codes, const cuda::ScaleJob& scales, const Shape& shape,
                   const Format& format, const QuantizeOptions& options, void* workspace,
                   const cuda::Place& place) {
  cuda::RoundJob job;
  job.input = input.data;
  job.output = output.data;
  job.encodes = output.data == nullptr;
  job.runs_backwards = layout.scans_data || layout.scans_tensor;
  job.input_type = input.dtype;
  job.output_type = output.dtype;
  job.input_is_aligned = is_aligned_to(input.data, 4 * size_of(input.dtype));
  job.output_is_aligned = is_aligned_to(output.data, 4 * size_of(output.dtype));
  job.count = shape.elements();
  job.random = options.random;
  job.keys = philox_keys(options.random);
  job.use = scale_use(format.scaling.kind);
  job.plan = layout.program->plan();
  job.scales = scales;
  job.codes = codes;
  job.rounding = options.rounding;
  if (const auto* posit = std::get_if<PositElement>(&format.element)) job.posit = *posit;
  if (const auto* codebook = std::get_if<CodebookElement>(&format.element)) {
    place_table(job, layout, *codebook, workspace, place);
  }
  if (job.encodes) {
    if (const auto encode = cuda::make_encode_job(job)) return cuda::encode(*encode, place);
  }
  if (cuda::is_quick(job)) return round_quickly(job, place);
  switch (job.plan.family) {
    case RoundPlan::Family::floating:
      return round_floats(job, place);
    case RoundPlan::Family::grid:
      return cuda::round_grids(job, place);
    case RoundPlan::Family::posit:
      return cuda::round_posits(job, place);
    case RoundPlan::Family::table:
      return layout.has_large_table ? cuda::round_large_tables(job, place)
                                    : cuda::round_small_tables(job, place);
  }
}

}  // namespace

void round_on_device(const DeviceLayout& layout, DeviceArray input, DeviceArray output,
                     const cuda::CodeJob& codes, const cuda::ScaleJob& scales, const Shape& shape,
                     const Format& format, const QuantizeOptions& options, void* workspace,
                     const cuda::Place& place) {
  if (layout.program != nullptr) {
    round_by_plan(layout, input, output, codes, scales, shape, format, options, workspace, place);
    return;
  }
  cuda::DefineJob job;
  job.input = input.data;
  job.output = output.data;
  job.input_type = input.dtype;
  job.output_type = output.dtype;
  job.count = shape.elements();
  job.random = options.random;
  job.rounding = options.rounding;
  job.overflow = options.overflow;
  job.element = device_element(format.element);
  job.kind = format.scaling.kind;
  job.scales = scales;
  job.codes = codes;
  if (const auto* table = std::get_if<CodebookElement>(&format.element)) {
    auto* to = piece_of<float>(workspace, layout.table);
    cuda::upload(to, table->values.data(), table->values.size() * sizeof(float), place);
    job.element.table = to;
  }
  if (options.compat == Compat::none) {
    cuda::round_by_definition(job, place);
    return;
  }
  job.compat = options.compat;
  job.scales.scale = format.scaling.scale;
  if (layout.scans_data) job.ranges = piece_of<cuda::GroupRange>(workspace, layout.ranges);
  cuda::round_by_compat(job, place);
}

}  // namespace nibble::inline kernels
