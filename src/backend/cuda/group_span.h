// SPDX-License-Identifier: Apache-2.0
// Products with groups by tiles of columns. A tile meets only the channels of the groups that it
// has columns of: a span of channels, as wide for all tiles. Within it the weights of other groups
// are zeros, which add nothing to sums of integers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "laws/integer_division.h"
#include "nibble/core/host_device.h"

namespace nibble::cuda {

// Of zeros: there are no groups, and a span is all channels.
struct GroupSpan {
  std::int64_t step = 0;           // bytes from channel to channel of the source
  Divisor columns = {};            // of a group
  std::uint32_t sources = 0;       // channels of a group that its columns meet
  std::uint32_t tile_columns = 0;  // a power of two
  std::uint32_t unit = 0;          // a power of two: spans are multiples of it
  std::uint32_t width = 0;         // channels of a span
  std::uint32_t last = 0;          // where a span begins at most

  bool has_groups() const { return width != 0; }

  // The first channel of the span of the tile that a column is in.
  NIBBLE_HOST_DEVICE constexpr std::uint32_t first(std::uint32_t column) const {
    const std::uint32_t group = columns.quotient(column & (0 - tile_columns));
    const std::uint32_t begin = group * sources & (0 - unit);
    return begin < last ? begin : last;
  }

  // Where the weight between a column and a channel lies among those of its tap: columns one after
  // the other, each of so many taps, each of a span.
  NIBBLE_HOST_DEVICE constexpr std::size_t place(std::uint32_t column, std::uint32_t tap,
                                                 std::uint32_t taps, std::uint32_t channel) const {
    return (std::size_t{column} * taps + tap) * width + channel - first(column);
  }

  // Row (tap, channel of the column's span) becomes (tap, channel of its group); false where the
  // channel is of another group. `spans` divides by the width.
  NIBBLE_HOST_DEVICE constexpr bool moves_to_group(const Divisor& spans, std::uint32_t column,
                                                   std::uint32_t& row) const {
    const std::uint32_t tap = spans.quotient(row);
    const std::uint32_t channel = first(column) + spans.remainder(row, tap);
    const std::uint32_t within = channel - columns.quotient(column) * sources;
    row = tap * sources + within;
    return within < sources;
  }
};

// Of so many groups, each of `columns` that meet `sources`; all channels of the source are filled
// up to a multiple of the unit.
constexpr GroupSpan group_span(std::uint32_t groups, std::uint32_t columns, std::uint32_t sources,
                               std::uint32_t tile_columns, std::uint32_t unit, std::int64_t step) {
  const auto filled = [&](std::uint32_t channels) { return (channels + unit - 1) / unit * unit; };
  GroupSpan span{.step = step,
                 .columns = Divisor::of(columns),
                 .sources = sources,
                 .tile_columns = tile_columns,
                 .unit = unit,
                 .width = 0,
                 .last = 0};
  for (std::uint32_t column = 0; column < groups * columns; column += tile_columns) {
    const std::uint32_t begin = column / columns * sources / unit * unit;
    const std::uint32_t last_column = std::min(column + tile_columns, groups * columns) - 1;
    span.width = std::max(span.width, filled((last_column / columns + 1) * sources) - begin);
  }
  span.last = filled(groups * sources) - span.width;
  return span;
}

// Of the three products of a layer.
struct GroupSpans {
  GroupSpan ahead;     // columns are outputs, sources are inputs
  GroupSpan back;      // columns are inputs, sources are outputs
  GroupSpan gradient;  // columns are outputs, rows are taps of the inputs of a span
};

// Where an update puts the weights of groups, as products read them.
struct GroupedFilters {
  std::int8_t* ahead;
  std::int8_t* back;
  Divisor in;  // of a group
  Divisor taps;
  GroupSpan ahead_span;
  GroupSpan back_span;

  // Element i of (out, tap, in).
  NIBBLE_HOST_DEVICE constexpr void put(std::uint32_t i, std::int8_t mantissa) const {
    const std::uint32_t pair = in.quotient(i);
    const std::uint32_t out = taps.quotient(pair);
    const std::uint32_t tap = taps.remainder(pair, out);
    const std::uint32_t channel =
        ahead_span.columns.quotient(out) * in.divisor + in.remainder(i, pair);
    ahead[ahead_span.place(out, tap, taps.divisor, channel)] = mantissa;
    back[back_span.place(channel, tap, taps.divisor, out)] = mantissa;
  }
};

}  // namespace nibble::cuda
