// SPDX-License-Identifier: Apache-2.0
// Packs weights into panels.
#include "engine/packed_filters.h"

#include <algorithm>

namespace nibble {
namespace {

constexpr std::size_t kPackedGroup = 128;  // weights of 64 packed bytes

// Where weight number i of an output lies among the taps and bytes of a window.
struct Position {
  std::int64_t tap = 0;
  std::int64_t byte = 0;
};

class PositionRule {
 public:
  PositionRule(const ProductSpec& spec, const FilterShape& shape)
      : is_linear_(spec.is_linear),
        channels_(spec.in.channels),
        per_tap_(spec.in.channels / spec.window.groups),
        pixel_bytes_(spec.in.storage == FilterStorage::u4 ? spec.in.channels : spec.in.stride),
        columns_(shape.tap_columns) {}

  Position operator()(std::int64_t i) const {
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
};

std::int32_t one_of(const std::vector<std::int64_t>& list, std::int64_t channel) {
  return static_cast<std::int32_t>(list.size() == 1 ? list[0]
                                                    : list[static_cast<std::size_t>(channel)]);
}

}  // namespace

PackedFilters::PackedFilters(const ProductSpec& spec, const FilterShape& shape)
    : is_packed_(spec.has_small_weights) {
  const std::int64_t groups = spec.window.groups;
  const std::int64_t per_group = spec.out.channels / groups;
  const bool has_halves =
      spec.out.storage == FilterStorage::u4 || spec.addend.storage == FilterStorage::u4;
  const std::int64_t width =
      has_halves || spec.cut.outputs == 0 ? std::int64_t{kFilterColumns} : spec.cut.outputs;
  for (std::int64_t g = 0; g < groups; ++g) {
    for (std::int64_t o = 0; o < per_group; o += width) {
      FilterPanel panel{.first_output = g * per_group + o,
                        .outputs = std::min(width, per_group - o)};
      panel.blocks = static_cast<int>((panel.outputs + kFilterOutputs - 1) / kFilterOutputs);
      panel.first_channel = g * (spec.in.channels / groups);
      pack_panel(spec, shape, panel);
      panels_.push_back(panel);
    }
  }
}

void PackedFilters::pack_panel(const ProductSpec& spec, const FilterShape& shape,
                               FilterPanel& panel) {
  const std::int64_t columns = panel.blocks * kFilterOutputs;
  const auto whole = static_cast<std::size_t>(shape.taps * shape.depth * columns);
  panel.bytes = (whole + kPackedGroup - 1) / kPackedGroup * kPackedGroup;
  std::vector<std::int8_t> weights(panel.bytes);
  const std::int64_t count =
      static_cast<std::int64_t>(spec.weights.size()) / spec.out.channels;  // of an output
  const PositionRule position(spec, shape);
  std::vector<std::int64_t> sums(kFilterColumns);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto [tap, byte] = position(i);
    const std::int64_t quad = (tap * shape.depth + byte) / 4;
    std::int8_t* to = &weights[static_cast<std::size_t>(quad * columns * 4 + byte % 4)];
    const std::int8_t* from =
        &spec.weights[static_cast<std::size_t>(panel.first_output * count + i)];
    for (std::int64_t o = 0; o < panel.outputs; ++o) {
      to[o * 4] = from[o * count];
      sums[static_cast<std::size_t>(o)] += from[o * count];
    }
  }
  panel.offset = bytes_.size();
  largest_panel_ = std::max(largest_panel_, panel.bytes);
  if (is_packed_) {
    for (std::size_t at = 0; at < weights.size(); at += kPackedGroup) {
      for (std::size_t i = at; i < at + kPackedGroup / 2; ++i) {
        bytes_.push_back(static_cast<std::uint8_t>((weights[i] & 15) |
                                                   (weights[i + kPackedGroup / 2] & 15) << 4));
      }
    }
  } else {
    const auto* first = reinterpret_cast<const std::uint8_t*>(weights.data());
    bytes_.insert(bytes_.end(), first, first + weights.size());
  }
  // What the stored value has too much, zero·Σ w, is taken off with the bias. Wrapping is fine: the
  // sum itself fits.
  for (std::int64_t o = 0; o < kFilterColumns; ++o) {
    const std::int64_t channel = panel.first_output + o;
    const bool is_there = o < panel.outputs;
    const std::int64_t bias = is_there && !spec.bias.empty() ? one_of(spec.bias, channel) : 0;
    bias_.push_back(static_cast<std::int32_t>(
        static_cast<std::uint32_t>(bias - spec.in.zero * sums[static_cast<std::size_t>(o)])));
    multiplier_.push_back(is_there ? one_of(spec.multiplier, channel) : 0);
    addend_multiplier_.push_back(is_there ? one_of(spec.addend_multiplier, channel) : 0);
  }
}

}  // namespace nibble
