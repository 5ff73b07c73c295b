// SPDX-License-Identifier: Apache-2.0
// The scales of a tensor's groups, from the format, the caller or the data.
#include "kernels/quantize/group_scales.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "kernels/quantize/kernels.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"
#include "numerics/scale_rules.h"

namespace nibble::inline kernels {
namespace {

struct Range {
  float low = 0;
  float high = 0;

  void take(float x) {
    const float magnitude = scaling_magnitude(x);
    (std::signbit(x) ? low : high) =
        std::signbit(x) ? std::min(low, -magnitude) : std::max(high, magnitude);
  }
  void take(const Range& other) {
    low = std::min(low, other.low);
    high = std::max(high, other.high);
  }
  float magnitude() const { return std::max(high, -low); }  // of zeros: +0
};

constexpr std::size_t kScaledAtOnce = std::size_t{1} << 16;

// One group after another; they do not overlap. Where both ends are not asked for, `high` is the
// largest magnitude.
std::vector<Range> block_ranges(std::span<const float> values, const Grouping& g, bool both_ends) {
  std::vector<Range> ranges(static_cast<std::size_t>(g.groups()));
  const QuantizeKernels* kernels = best_path(kQuantizePaths, active_isa()).kernel;
  const bool is_quick = !both_ends && g.inner == 1 && kernels != nullptr;
  const auto grain = std::max<std::size_t>(1, kScaledAtOnce / static_cast<std::size_t>(g.block));
  parallel_for(ranges.size(), grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto group = static_cast<std::int64_t>(i);
      const std::int64_t line = group / (g.blocks_a_line * g.inner);
      const std::int64_t first = group / g.inner % g.blocks_a_line * g.block;
      const std::int64_t last = std::min(first + g.block, g.length);
      if (is_quick) {
        ranges[i].high = kernels->largest_magnitude(values.data() + line * g.length + first,
                                                    static_cast<std::size_t>(last - first));
        continue;
      }
      for (std::int64_t l = first; l < last; ++l) {
        const std::int64_t element = (line * g.length + l) * g.inner + group % g.inner;
        ranges[i].take(values[static_cast<std::size_t>(element)]);
      }
    }
  });
  return ranges;
}

// Every chunk may touch every group: each joins its own ranges, in whatever order.
std::vector<Range> ranges_of(std::span<const float> values, const Grouping& g, bool both_ends) {
  if (g.granularity == Granularity::block) return block_ranges(values, g, both_ends);
  std::vector<Range> all(static_cast<std::size_t>(g.groups()));
  const auto run =
      static_cast<std::size_t>(g.granularity == Granularity::tensor ? g.length : g.inner);
  std::mutex joining;
  parallel_for(values.size(), kScaledAtOnce, [&](std::size_t begin, std::size_t end) {
    std::vector<Range> own(all.size());
    for (std::size_t i = begin; i < end;) {
      Range& range = own[static_cast<std::size_t>(g.group_of(static_cast<std::int64_t>(i)))];
      for (const std::size_t stop = std::min(end, (i / run + 1) * run); i < stop; ++i)
        range.take(values[i]);
    }
    const std::lock_guard lock(joining);
    for (std::size_t i = 0; i < own.size(); ++i) all[i].take(own[i]);
  });
  return all;
}

}  // namespace

std::vector<GroupScale> given_scales(const Format& format, const Grouping& grouping,
                                     const QuantizeOptions& options) {
  const auto groups = static_cast<std::size_t>(grouping.groups());
  const bool is_axis = grouping.granularity == Granularity::axis;
  if (options.scales.empty() && is_axis) {
    throw Error("quantize", "scales of " + to_string(format), "none",
                std::to_string(groups) + " beside the data");
  }
  const auto check_count = [&](std::size_t got, std::string_view what) {
    if (got != 0 && got != groups) {
      throw Error("quantize", what, std::to_string(got), std::to_string(groups));
    }
  };
  check_count(options.scales.size(), "number of scales");
  check_count(options.zeros.size(), "number of zero points");
  std::vector<GroupScale> result(groups, {format.scaling.scale, format.scaling.zero});
  const auto* grid = std::get_if<GridElement>(&format.element);
  for (std::size_t g = 0; g < groups; ++g) {
    if (!options.scales.empty()) result[g].scale = options.scales[g];
    if (!options.zeros.empty()) result[g].zero = options.zeros[g];
    if (!std::isfinite(result[g].scale) || result[g].scale <= 0) {
      throw Error("quantize", "scale", std::to_string(result[g].scale), "a finite number above 0");
    }
    if (result[g].zero != 0 && (grid == nullptr || result[g].zero < grid->lowest_n() ||
                                result[g].zero > grid->highest_n())) {
      throw Error("quantize", "zero point", std::to_string(result[g].zero),
                  "a code of an integer format");
    }
  }
  return result;
}

float largest_magnitude_of(std::span<const float> values) {
  const QuantizeKernels* kernels = best_path(kQuantizePaths, active_isa()).kernel;
  float largest = 0;
  std::mutex joining;
  parallel_for(values.size(), kScaledAtOnce, [&](std::size_t begin, std::size_t end) {
    float own = 0;
    if (kernels != nullptr) {
      own = kernels->largest_magnitude(values.data() + begin, end - begin);
    } else {
      for (std::size_t i = begin; i < end; ++i) own = std::max(own, scaling_magnitude(values[i]));
    }
    const std::lock_guard lock(joining);
    largest = std::max(largest, own);
  });
  return largest;
}

float tensor_scale_of(std::span<const float> values, const Format& format) {
  if (format.scaling.tensor_scale != 0) return format.scaling.tensor_scale;
  return two_level_tensor_scale(format.element, largest_magnitude_of(values));
}

void check_scales_beside(const Format& format, const QuantizeOptions& options) {
  if (format.scaling.kind == ScaleKind::given) return;
  if (options.scales.empty() && options.zeros.empty()) return;
  throw Error("quantize", "scales beside the data for " + to_string(format), "some",
              "none: the format has its own");
}

GroupScales group_scales(std::span<const float> values, const Format& format,
                         const Grouping& grouping, const QuantizeOptions& options) {
  const Scaling& s = format.scaling;
  check_scales_beside(format, options);
  if (s.kind == ScaleKind::none) return {{GroupScale{}}, {}, 1.0F};
  if (s.kind == ScaleKind::given) return {given_scales(format, grouping, options), {}, 1.0F};
  std::vector<Range> ranges;
  if (grouping.granularity == Granularity::tensor && s.kind != ScaleKind::minmax) {
    ranges = {{0, largest_magnitude_of(values)}};
  } else {
    ranges = ranges_of(values, grouping, s.kind == ScaleKind::minmax);
  }
  const ScaleRules rules = scale_rules(format.element, s.rule);
  GroupScales result;
  if (s.kind == ScaleKind::two_level) {
    result.tensor_scale = tensor_scale_of(values, format);
  }
  result.groups.reserve(ranges.size());
  for (const Range& range : ranges) {
    const float amax = range.magnitude();
    switch (s.kind) {
      case ScaleKind::power_of_two:
        result.groups.push_back({std::ldexp(1.0F, shared_exponent(rules, amax))});
        break;
      case ScaleKind::absmax:
        result.groups.push_back({absmax_scale(rules, amax)});
        break;
      case ScaleKind::minmax:
        result.groups.push_back(minmax_scale(rules, range.low, range.high));
        break;
      case ScaleKind::two_level:
        result.block_scales.push_back(two_level_block_scale(rules, amax, result.tensor_scale));
        result.groups.push_back({result.block_scales.back() * result.tensor_scale});
        break;
      default:
        break;
    }
  }
  return result;
}

}  // namespace nibble::inline kernels
