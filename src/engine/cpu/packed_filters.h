// SPDX-License-Identifier: Apache-2.0
// The weights of a layer as the kernel reads them: panels of up to 64 outputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/cpu/product_step.h"

namespace nibble::inline engine {

// Where the numbers of one pixel's window lie: `taps` runs of `depth` bytes.
struct FilterShape {
  std::int64_t taps = 1;
  std::int64_t depth = 4;         // a multiple of 4
  std::int64_t tap_columns = 1;   // of the kernel that lie in one run
  std::int64_t panel_groups = 1;  // that share a panel: what others read has the weight 0
  bool is_depthwise = false;      // weights lie as DepthwiseTile has them
  bool is_matrix = false;         // or as FilterMatrix has them
};

// Groups that share a panel without more products than they would have apart.
std::int64_t panel_groups_of(const Conv2d& window);
FilterShape depthwise_shape(const Conv2d& window);

struct FilterPanel {
  std::int64_t first_output = 0;
  std::int64_t outputs = 0;        // 1 to 64
  int blocks = 1;                  // of 16
  std::int64_t first_channel = 0;  // of the group, in bytes of a pixel
  std::size_t offset = 0;          // of its weights
  std::size_t bytes = 0;           // when expanded
  bool is_small = false;           // as RescaleTile has it
};

class PackedFilters {
 public:
  PackedFilters(const ProductSpec& spec, const FilterShape& shape);

  const std::vector<FilterPanel>& panels() const { return panels_; }
  bool is_packed() const { return is_packed_; }  // two weights to a byte
  const std::uint8_t* weights(const FilterPanel& panel) const {
    return lines_.front().bytes + panel.offset;
  }
  // The weights of the panel that comes after; of the last, none.
  std::span<const std::uint8_t> behind(std::size_t panel) const {
    if (panel + 1 == panels_.size()) return {};
    return {weights(panels_[panel + 1]), stored_bytes(panels_[panel + 1])};
  }
  std::size_t largest_panel() const { return largest_panel_; }
  std::size_t weight_bytes() const { return lines_.size() * sizeof(Line); }

  // By panel, kFilterColumns each.
  const std::int32_t* bias(std::size_t panel) const { return columns_[panel].bias; }
  const std::int32_t* multiplier(std::size_t panel) const { return columns_[panel].multiplier; }
  const std::int32_t* addend_multiplier(std::size_t panel) const {
    return columns_[panel].addend_multiplier;
  }

 private:
  // Lines of the cache: what is read by them lies in them, else each read would take two.
  struct alignas(64) Line {
    std::uint8_t bytes[64];
  };
  struct alignas(64) Columns {
    std::int32_t bias[kFilterColumns];
    std::int32_t multiplier[kFilterColumns];
    std::int32_t addend_multiplier[kFilterColumns];
  };

  std::size_t stored_bytes(const FilterPanel& panel) const {
    return is_packed_ ? panel.bytes / 2 : panel.bytes;
  }
  void pack_panel(const ProductSpec& spec, const FilterShape& shape, FilterPanel& panel);
  void store_panel(const std::vector<std::int8_t>& weights, FilterPanel& panel);

  std::vector<FilterPanel> panels_;
  std::vector<Line> lines_;
  std::vector<Columns> columns_;  // by panel
  std::size_t largest_panel_ = 0;
  bool is_packed_ = false;
};

// What makes the sums of a product's panel into its values.

// For the first pixel of the first picture, which lies at `out`; without sums and pixels.
RescaleTile rescale_of(const ProductSpec& spec, const PackedFilters& filters, std::size_t panel,
                       const std::byte* arena, std::uint8_t* out);

// `pixels` further.
void advance_tile(RescaleTile& tile, std::int64_t pixels);

}  // namespace nibble::inline engine
