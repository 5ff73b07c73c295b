// SPDX-License-Identifier: Apache-2.0
// How a call runs on a GPU.
#include "kernels/quantize/cuda/device_layout.h"

#include <bit>

#include "kernels/quantize/codes.h"

namespace nibble::inline kernels {
namespace {

constexpr std::int64_t kShortest = 4;   // of the blocks that a kernel scales by itself: a vector,
constexpr std::int64_t kLongest = 128;  // and a warp's vectors

bool scales_blocks_itself(const Grouping& g, const Scaling& scaling) {
  return g.granularity == Granularity::block && g.inner == 1 &&
         (g.length % g.block == 0 || g.outer == 1) && scaling.kind != ScaleKind::minmax &&
         std::has_single_bit(static_cast<std::uint64_t>(g.block)) && g.block >= kShortest &&
         g.block <= kLongest;
}

bool rounds_vectors(const RoundPlan& plan) {
  return plan.family != RoundPlan::Family::floating || cuda::is_plain(plan.floating) ||
         cuda::lacks_minus_zero(plan.floating);
}

std::size_t large_table_entries(const Element& element) {
  const auto* table = std::get_if<CodebookElement>(&element);
  if (table == nullptr || table->values.size() <= cuda::kSmallTable) return 0;
  return std::bit_ceil(table->values.size());
}

}  // namespace

bool is_aligned_to(const void* data, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(data) % bytes == 0;
}

cuda::DeviceElement device_element(const Element& element) {
  cuda::DeviceElement result;
  if (const auto* f = std::get_if<FloatElement>(&element)) {
    result.floating = *f;
  } else if (const auto* g = std::get_if<GridElement>(&element)) {
    result.family = cuda::ElementFamily::grid;
    result.grid = *g;
  } else if (const auto* p = std::get_if<PositElement>(&element)) {
    result.family = cuda::ElementFamily::posit;
    result.posit = *p;
  } else {
    result.family = cuda::ElementFamily::codebook;
    result.entries = static_cast<std::int64_t>(std::get<CodebookElement>(element).values.size());
  }
  return result;
}

DeviceLayout layout_of(const Shape& shape, const Format& format, const QuantizeOptions& options,
                       DeviceCall call) {
  const Scaling& scaling = format.scaling;
  DeviceLayout layout;
  layout.grouping = grouping_of(shape, scaling);
  layout.groups = layout.grouping.groups();
  layout.is_short = shape.elements() < (std::int64_t{1} << 31);
  const bool is_compat = options.compat != Compat::none;
  const bool runs_plan = !is_compat && describe(format.element).quantizes_fp32;
  if (runs_plan) {
    layout.program = RoundProgram::remembered(format, 0, options.rounding, options.overflow);
  }
  const bool from_data = scaling.kind != ScaleKind::none && scaling.kind != ScaleKind::given;
  WorkspaceLayout workspace;
  if (scaling.kind != ScaleKind::none) {
    layout.source = layout.grouping.granularity == Granularity::tensor ? cuda::ScaleSource::tensor
                                                                       : cuda::ScaleSource::groups;
  }
  const bool takes_vectors = layout.program != nullptr && rounds_vectors(layout.program->plan());
  if (takes_vectors && scales_blocks_itself(layout.grouping, scaling)) {
    layout.source = cuda::ScaleSource::blocks;
  }
  layout.scans_data = from_data && layout.source != cuda::ScaleSource::blocks;
  const auto groups = static_cast<std::size_t>(layout.groups);
  if (layout.scans_data) layout.ranges = workspace.add(groups * sizeof(cuda::GroupRange));
  if (layout.scans_data || layout.source == cuda::ScaleSource::groups) {
    layout.scales = workspace.add(groups * sizeof(float));
    layout.zeros = workspace.add(groups * sizeof(std::int32_t));
  }
  const bool has_two_levels = scaling.kind == ScaleKind::two_level;
  layout.scans_tensor = has_two_levels && scaling.tensor_scale == 0;
  if (layout.scans_tensor) layout.tensor_range = workspace.add(sizeof(cuda::GroupRange));
  layout.uploads_tensor_scale =
      has_two_levels && !layout.scans_tensor && (layout.scans_data || call != DeviceCall::quantize);
  if (layout.scans_tensor || layout.uploads_tensor_scale) {
    layout.tensor_scale = workspace.add(sizeof(float));
  }
  const std::size_t large = large_table_entries(format.element);
  layout.has_large_table = layout.program != nullptr && large > 0;
  if (layout.has_large_table) {
    layout.table = workspace.add(7 * large * sizeof(float));
  } else if (const auto* table = std::get_if<CodebookElement>(&format.element);
             table != nullptr && layout.program == nullptr) {
    layout.table = workspace.add(table->values.size() * sizeof(float));
  }
  if (call == DeviceCall::encode_packed) {
    const int bits = describe(format.element).code_bits;
    const bool packs_itself =
        bits == 4 && takes_vectors && layout.source != cuda::ScaleSource::groups;
    layout.packs_after = !packs_itself && bits != 8 && bits != 16 && bits != 32;
    if (layout.packs_after) {
      layout.codes =
          workspace.add(static_cast<std::size_t>(shape.elements()) * size_of(code_type(bits)));
    }
  }
  layout.bytes = workspace.bytes();
  return layout;
}

}  // namespace nibble::inline kernels
