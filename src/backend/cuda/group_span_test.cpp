// SPDX-License-Identifier: Apache-2.0
// The three products of groups as tiles compute them, index by index, against the definition.
#include "backend/cuda/group_span.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "backend/cuda/device_params.h"

namespace nibble::cuda {
namespace {

struct Groups {
  std::uint32_t groups;
  std::uint32_t in;    // of a group
  std::uint32_t outs;  // of a group
  std::uint32_t taps;
  std::uint32_t tile_columns;

  std::uint32_t all_in() const { return groups * in; }
  std::uint32_t all_out() const { return groups * outs; }
};

std::uint32_t filled_up(std::uint32_t channels) {
  return (channels + kChunk - 1) / kChunk * kChunk;
}

// Windows (tap, channel) of one pixel, and a weight (out, tap, in).
class GroupTiles {
 public:
  explicit GroupTiles(const Groups& of)
      : of_(of),
        ahead_(group_span(of.groups, of.outs, of.in, of.tile_columns, kChunk, 1)),
        back_(group_span(of.groups, of.in, of.outs, of.tile_columns, kChunk, 1)),
        inputs_(numbers(of.taps * filled_up(of.all_in()))),
        errors_(numbers(of.taps * filled_up(of.all_out()))),
        weight_(numbers(of.all_out() * of.taps * of.in)),
        packed_ahead_(std::size_t{of.all_out()} * of.taps * ahead_.width),
        packed_back_(std::size_t{of.all_in()} * of.taps * back_.width) {
    const GroupedFilters filters{.ahead = packed_ahead_.data(),
                                 .back = packed_back_.data(),
                                 .in = Divisor::of(of.in),
                                 .taps = Divisor::of(of.taps),
                                 .ahead_span = ahead_,
                                 .back_span = back_};
    for (std::uint32_t i = 0; i < weight_.size(); ++i) filters.put(i, weight_[i]);
  }

  void expect_definition() const {
    EXPECT_EQ(by_tiles(ahead_, of_.all_out(), inputs_, of_.all_in(), packed_ahead_), forward());
    EXPECT_EQ(by_tiles(back_, of_.all_in(), errors_, of_.all_out(), packed_back_), backward());
    expect_every_gradient_once();
  }

 private:
  std::vector<std::int8_t> numbers(std::size_t count) {
    std::vector<std::int8_t> all(count);
    for (std::int8_t& each : all) each = static_cast<std::int8_t>(draws_() % 255 - 127);
    return all;
  }
  std::int32_t weight(std::uint32_t out, std::uint32_t tap, std::uint32_t in) const {
    return weight_[(std::size_t{out} * of_.taps + tap) * of_.in + in];
  }

  // As LoadStream reads both operands.
  std::vector<std::int32_t> by_tiles(const GroupSpan& span, std::uint32_t columns,
                                     const std::vector<std::int8_t>& rows, std::uint32_t channels,
                                     const std::vector<std::int8_t>& packed) const {
    EXPECT_EQ(span.width % kChunk, 0U);
    std::vector<std::int32_t> sums(columns);
    for (std::uint32_t column = 0; column < columns; ++column) {
      const std::uint32_t first = span.first(column / span.tile_columns * span.tile_columns);
      EXPECT_EQ(first % kChunk, 0U);
      EXPECT_LE(first + span.width, filled_up(channels));
      for (std::uint32_t tap = 0; tap < of_.taps; ++tap) {
        const std::int8_t* row = rows.data() + tap * filled_up(channels) + first * span.step;
        const std::int8_t* filter =
            packed.data() + (std::size_t{column} * of_.taps + tap) * span.width;
        for (std::uint32_t k = 0; k < span.width; ++k) sums[column] += row[k] * filter[k];
      }
    }
    return sums;
  }

  std::vector<std::int32_t> forward() const {
    std::vector<std::int32_t> sums(of_.all_out());
    for (std::uint32_t out = 0; out < of_.all_out(); ++out) {
      for (std::uint32_t tap = 0; tap < of_.taps; ++tap) {
        for (std::uint32_t i = 0; i < of_.in; ++i)
          sums[out] += weight(out, tap, i) *
                       inputs_[tap * filled_up(of_.all_in()) + out / of_.outs * of_.in + i];
      }
    }
    return sums;
  }
  std::vector<std::int32_t> backward() const {
    std::vector<std::int32_t> sums(of_.all_in());
    for (std::uint32_t in = 0; in < of_.all_in(); ++in) {
      for (std::uint32_t tap = 0; tap < of_.taps; ++tap) {
        for (std::uint32_t i = 0; i < of_.outs; ++i) {
          const std::uint32_t out = in / of_.in * of_.outs + i;
          sums[in] += weight(out, tap, in % of_.in) * errors_[tap * filled_up(of_.all_out()) + out];
        }
      }
    }
    return sums;
  }

  // Row (tap, channel of a span) of a tile times a column is the gradient of one weight, or of
  // none.
  void expect_every_gradient_once() const {
    const GroupSpan span = group_span(of_.groups, of_.outs, of_.in, of_.tile_columns, 1, 0);
    const Divisor by_width = Divisor::of(span.width);
    std::vector<int> found(weight_.size());
    for (std::uint32_t column = 0; column < of_.all_out(); ++column) {
      for (std::uint32_t row = 0; row < of_.taps * span.width; ++row) {
        const std::uint32_t channel = span.first(column) + row % span.width;
        ASSERT_LT(channel, of_.all_in());
        std::uint32_t moved = row;
        const bool is_kept = span.moves_to_group(by_width, column, moved);
        ASSERT_EQ(is_kept, channel / of_.in == column / of_.outs);
        if (!is_kept) continue;
        ASSERT_EQ(moved, row / span.width * of_.in + channel % of_.in);
        ++found[column * of_.taps * of_.in + moved];
      }
    }
    EXPECT_EQ(found, std::vector<int>(found.size(), 1));
  }

  std::minstd_rand draws_{7};
  Groups of_;
  GroupSpan ahead_;
  GroupSpan back_;
  std::vector<std::int8_t> inputs_;
  std::vector<std::int8_t> errors_;
  std::vector<std::int8_t> weight_;
  std::vector<std::int8_t> packed_ahead_;
  std::vector<std::int8_t> packed_back_;
};

TEST(GroupSpan, TilesOfGroupsAreTheDefinition) {
  for (const std::uint32_t tile_columns : {32U, 64U, 128U, 256U}) {
    for (const std::uint32_t groups : {2U, 3U, 4U, 20U, 70U}) {
      for (const std::uint32_t in : {1U, 3U, 5U, 7U, 16U, 40U, 130U}) {
        for (const std::uint32_t outs : {1U, 2U, 5U, 7U, 16U, 68U, 130U}) {
          if (groups * in * outs > 1000) continue;
          SCOPED_TRACE(testing::Message() << groups << " groups of " << in << " to " << outs
                                          << ", tiles of " << tile_columns);
          GroupTiles({groups, in, outs, 3, tile_columns}).expect_definition();
        }
      }
    }
  }
}

// What a tile multiplies: of depthwise layers as many channels as it has columns.
TEST(GroupSpan, IsNoWiderThanTheGroupsOfATile) {
  EXPECT_EQ(group_span(96, 1, 1, 32, kChunk, 1).width, 32U);
  EXPECT_EQ(group_span(20, 1, 1, 32, kChunk, 1).width, 32U);
  EXPECT_EQ(group_span(4, 64, 64, 32, kChunk, 1).width, 64U);
  EXPECT_EQ(group_span(2, 130, 130, 256, kChunk, 1).width, 272U);
  EXPECT_EQ(group_span(96, 1, 1, 32, 1, 1).width, 32U);
}

// All that dense products are told.
TEST(GroupSpan, OfZerosIsAllChannels) {
  const GroupSpan none;
  EXPECT_FALSE(none.has_groups());
  for (const std::uint32_t column : {0U, 1U, 4096U}) EXPECT_EQ(none.first(column), 0U);
}

}  // namespace
}  // namespace nibble::cuda
