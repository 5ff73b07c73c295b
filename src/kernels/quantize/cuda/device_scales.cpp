// SPDX-License-Identifier: Apache-2.0
// Finds or brings the scales of a call on a GPU.
#include <bit>
#include <vector>

#include "cuda/upload.h"
#include "kernels/quantize/codes.h"
#include "kernels/quantize/cuda/device_layout.h"
#include "kernels/quantize/group_scales.h"

namespace nibble::inline kernels {
namespace {

cuda::RangeJob range_job(DeviceArray input, const Shape& shape, const Grouping& grouping) {
  cuda::RangeJob job;
  job.input = input.data;
  job.type = input.dtype;
  job.is_aligned = is_aligned_to(input.data, 4 * size_of(input.dtype));
  job.count = shape.elements();
  job.is_short = job.count < (std::int64_t{1} << 31);
  job.grouping = grouping;
  return job;
}

// Given scales: one travels in the parameters, several by the workspace.
void bring_scales(cuda::ScaleJob& job, const DeviceLayout& layout, const Format& format,
                  const QuantizeOptions& options, const DeviceEncoded& stored, void* workspace,
                  const cuda::Place& place) {
  const std::vector<GroupScale> given = given_scales(format, layout.grouping, options);
  std::vector<float> scales;
  std::vector<std::int32_t> zeros;
  bool has_zero = false;
  for (const GroupScale& group : given) {
    scales.push_back(group.scale);
    zeros.push_back(group.zero);
    has_zero = has_zero || group.zero != 0;
  }
  if (layout.source == cuda::ScaleSource::tensor) {
    job.scale = scales.front();
    job.zero = zeros.front();
  } else {
    auto* to = piece_of<float>(workspace, layout.scales);
    cuda::upload(to, scales.data(), scales.size() * sizeof(float), place);
    job.scales = to;
    if (has_zero) {
      auto* zeros_to = piece_of<std::int32_t>(workspace, layout.zeros);
      cuda::upload(zeros_to, zeros.data(), zeros.size() * sizeof(std::int32_t), place);
      job.zeros = zeros_to;
    }
  }
  if (stored.scales != nullptr) {
    cuda::upload(stored.scales, scales.data(), scales.size() * sizeof(float), place);
  }
  if (stored.zeros != nullptr) {
    cuda::upload(stored.zeros, zeros.data(), zeros.size() * sizeof(std::int32_t), place);
  }
}

}  // namespace

cuda::ScaleJob prepare_scales(const DeviceLayout& layout, DeviceArray input, const Shape& shape,
                              const Format& format, const QuantizeOptions& options,
                              const DeviceEncoded& stored, void* workspace,
                              const cuda::Place& place) {
  cuda::ScaleJob job;
  job.source = layout.source;
  job.is_short = layout.is_short;
  job.grouping = layout.grouping;
  if (format.scaling.kind == ScaleKind::none) return job;
  if (format.scaling.kind == ScaleKind::given) {
    bring_scales(job, layout, format, options, stored, workspace, place);
    return job;
  }
  cuda::GroupScaleJob scales;
  scales.kind = format.scaling.kind;
  scales.rules = scale_rules(format.element, format.scaling.rule);
  if (layout.scans_tensor) {
    cuda::RangeJob ranges = range_job(input, shape, {.length = shape.elements()});
    ranges.ranges = piece_of<cuda::GroupRange>(workspace, layout.tensor_range);
    cuda::find_ranges(ranges, place);
    cuda::GroupScaleJob tensor = scales;
    tensor.ranges = ranges.ranges;
    tensor.scales = piece_of<float>(workspace, layout.tensor_scale);
    tensor.stored_scales = stored.tensor_scale;
    cuda::find_scales(tensor, place);
    job.tensor_scale = scales.tensor_scale = tensor.scales;
  } else if (format.scaling.kind == ScaleKind::two_level) {
    const float& given = format.scaling.tensor_scale;
    if (layout.uploads_tensor_scale) {
      auto* to = piece_of<float>(workspace, layout.tensor_scale);
      cuda::upload(to, &given, sizeof given, place);
      job.tensor_scale = scales.tensor_scale = to;
    }
    if (stored.tensor_scale != nullptr) {
      cuda::upload(stored.tensor_scale, &given, sizeof given, place);
    }
  }
  if (layout.source == cuda::ScaleSource::blocks) {
    job.blocks = *make_block_plan(format);
    job.block_bits = std::countr_zero(job.blocks.block);
    job.e4m3 = *job.blocks.block_scale;
    job.stored_scales = stored.scales;
    return job;
  }
  cuda::RangeJob ranges = range_job(input, shape, layout.grouping);
  ranges.ranges = piece_of<cuda::GroupRange>(workspace, layout.ranges);
  ranges.as_packages = options.compat != Compat::none;
  cuda::find_ranges(ranges, place);
  if (ranges.as_packages) return job;
  scales.groups = layout.groups;
  scales.ranges = ranges.ranges;
  scales.scales = piece_of<float>(workspace, layout.scales);
  job.scales = scales.scales;
  if (format.scaling.kind == ScaleKind::minmax) {
    scales.zeros = piece_of<std::int32_t>(workspace, layout.zeros);
    job.zeros = scales.zeros;
  }
  scales.stored_scales = stored.scales;
  scales.stored_zeros = stored.zeros;
  cuda::find_scales(scales, place);
  return job;
}

}  // namespace nibble::inline kernels
