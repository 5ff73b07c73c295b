// SPDX-License-Identifier: Apache-2.0
// Packs weights into panels.
#include "engine/cpu/packed_filters.h"

#include <algorithm>

#include "laws/small_rescale.h"

namespace nibble::inline engine {
namespace {

constexpr std::size_t kPackedGroup = 128;  // weights of 64 packed bytes

// Where weight number i of an output lies among the taps and bytes of a window.
struct Position {
  std::int64_t tap = 0;
  std::int64_t byte = 0;
};

std::int64_t quads_of(Extent2 kernel) {
  return (kernel.y + 3) / 4;
}

class PositionRule {
 public:
  PositionRule(const ProductSpec& spec, const FilterShape& shape)
      : is_linear_(spec.is_linear),
        channels_(spec.in.channels),
        per_tap_(spec.in.channels / spec.window.groups),
        pixel_bytes_(spec.in.storage == FilterStorage::u4 ? spec.in.channels : spec.in.stride),
        columns_(shape.tap_columns),
        kernel_(spec.window.kernel),
        is_depthwise_(shape.is_depthwise) {}

  Position operator()(std::int64_t i) const {
    if (is_depthwise_) {
      const std::int64_t row = i / kernel_.x;
      return {i % kernel_.x * quads_of(kernel_) + row / 4, row % 4};
    }
    if (is_linear_) return {0, i / channels_ * pixel_bytes_ + i % channels_};
    const std::int64_t tap = i / per_tap_;  // (row, column) of the kernel
    return {tap / columns_, tap % columns_ * pixel_bytes_ + i % per_tap_};
  }

 private:
  bool is_linear_;
  std::int64_t channels_;
  std::int64_t per_tap_;
  std::int64_t pixel_bytes_;
  std::int64_t columns_;
  Extent2 kernel_;
  bool is_depthwise_;
};

std::int32_t one_of(const std::vector<std::int64_t>& list, std::int64_t channel) {
  return static_cast<std::int32_t>(list.size() == 1 ? list[0]
                                                    : list[static_cast<std::size_t>(channel)]);
}

// Those of the panel's outputs, or the one of all.
std::span<const std::int64_t> of_panel(const std::vector<std::int64_t>& list,
                                       const FilterPanel& panel) {
  if (list.size() == 1) return list;
  return std::span(list).subspan(static_cast<std::size_t>(panel.first_output),
                                 static_cast<std::size_t>(panel.outputs));
}

// Whether few bits are enough for all that the law does to these outputs.
bool has_small_law(const FinishLaw& law, const FilterPanel& panel) {
  const std::span multipliers = of_panel(law.multiplier, panel);
  const RescaleRange y{law.low, law.high};
  if (law.addend == kNoNode)
    return fits_words({law.sum.low, law.sum.high}, multipliers, law.shift, y);
  return !law.is_wide && fits_halves(multipliers, law.shift, y, {law.addend_low, law.addend_high},
                                     of_panel(law.addend_multiplier, panel), law.addend_shift);
}

}  // namespace

std::int64_t panel_groups_of(const Conv2d& window) {
  const std::int64_t per_group = window.channels / window.groups;
  std::int64_t count = std::clamp<std::int64_t>(kFilterOutputs / per_group, 1, window.groups);
  while (window.groups % count != 0) --count;
  return count;
}

FilterShape depthwise_shape(const Conv2d& window) {
  return {.taps = window.kernel.x * quads_of(window.kernel), .is_depthwise = true};
}

PackedFilters::PackedFilters(const ProductSpec& spec, const FilterShape& shape)
    : is_packed_(spec.has_small_weights) {
  const std::int64_t groups = shape.is_depthwise ? 1 : spec.window.groups;
  const std::int64_t per_group = spec.out.channels / groups;
  const bool has_halves =
      spec.out.storage == FilterStorage::u4 || spec.addend.storage == FilterStorage::u4;
  const std::int64_t width =
      has_halves || spec.cut.outputs == 0 ? std::int64_t{kFilterColumns} : spec.cut.outputs;
  for (std::int64_t g = 0; g < groups; g += shape.panel_groups) {
    const std::int64_t outputs = per_group * std::min(shape.panel_groups, groups - g);
    for (std::int64_t o = 0; o < outputs; o += width) {
      FilterPanel panel{.first_output = g * per_group + o, .outputs = std::min(width, outputs - o)};
      panel.blocks = static_cast<int>((panel.outputs + kFilterOutputs - 1) / kFilterOutputs);
      panel.first_channel = g * (spec.in.channels / groups);
      panel.is_small = has_small_law(spec.finish, panel);
      pack_panel(spec, shape, panel);
      panels_.push_back(panel);
    }
  }
}

void PackedFilters::pack_panel(const ProductSpec& spec, const FilterShape& shape,
                               FilterPanel& panel) {
  const std::int64_t columns = panel.blocks * kFilterOutputs;
  const std::int64_t run =
      shape.is_matrix ? row_bytes(shape.taps, shape.depth) : shape.taps * shape.depth;
  const auto whole = static_cast<std::size_t>(run * columns);
  panel.bytes = (whole + kPackedGroup - 1) / kPackedGroup * kPackedGroup;
  std::vector<std::int8_t> weights(panel.bytes);
  const std::int64_t count =
      static_cast<std::int64_t>(spec.weights.size()) / spec.out.channels;  // of an output
  const PositionRule position(spec, shape);
  const std::int64_t per_group = spec.out.channels / spec.window.groups;
  const std::int64_t depth = spec.in.channels / spec.window.groups;
  std::vector<std::int64_t> sums(kFilterColumns);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto [tap, first_byte] = position(i);
    const std::int8_t* from =
        &spec.weights[static_cast<std::size_t>(panel.first_output * count + i)];
    for (std::int64_t o = 0; o < panel.outputs; ++o) {
      const std::int64_t byte = first_byte + (shape.panel_groups == 1 ? 0 : o / per_group) * depth;
      const std::int64_t quad = (tap * shape.depth + byte) / 4;
      const std::int64_t at =
          shape.is_matrix
              ? (o / kFilterOutputs * run / 4 + quad) * kFilterOutputs + o % kFilterOutputs
              : quad * columns + o;
      weights[static_cast<std::size_t>(at * 4 + byte % 4)] = from[o * count];
      sums[static_cast<std::size_t>(o)] += from[o * count];
    }
  }
  store_panel(weights, panel);
  // What the stored value has too much, zero·Σ w, is taken off with the bias. Wrapping is fine: the
  // sum itself fits.
  Columns& numbers = columns_.emplace_back();
  for (std::int64_t o = 0; o < panel.outputs; ++o) {
    const std::int64_t channel = panel.first_output + o;
    const std::int64_t bias = spec.finish.bias.empty() ? 0 : one_of(spec.finish.bias, channel);
    numbers.bias[o] = static_cast<std::int32_t>(
        static_cast<std::uint32_t>(bias - spec.in.zero * sums[static_cast<std::size_t>(o)]));
    numbers.multiplier[o] = one_of(spec.finish.multiplier, channel);
    numbers.addend_multiplier[o] = one_of(spec.finish.addend_multiplier, channel);
  }
}

void PackedFilters::store_panel(const std::vector<std::int8_t>& weights, FilterPanel& panel) {
  panel.offset = weight_bytes();
  largest_panel_ = std::max(largest_panel_, panel.bytes);
  lines_.resize(lines_.size() + stored_bytes(panel) / sizeof(Line));
  std::uint8_t* to = lines_.front().bytes + panel.offset;
  if (!is_packed_) {
    std::copy(weights.begin(), weights.end(), to);
    return;
  }
  for (std::size_t at = 0; at < weights.size(); at += kPackedGroup) {
    for (std::size_t i = at; i < at + kPackedGroup / 2; ++i) {
      *to++ =
          static_cast<std::uint8_t>((weights[i] & 15) | (weights[i + kPackedGroup / 2] & 15) << 4);
    }
  }
}

}  // namespace nibble::inline engine
