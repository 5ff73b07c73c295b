// SPDX-License-Identifier: Apache-2.0
// The three products of a layer as matrix products: result[row][column] = Σ left(row, depth) ·
// right(column, depth). A side finds its numbers where they lie: rows and depths are taken apart
// once each, and `at` joins them. Nothing is copied, and what lies outside a picture is 0.
#pragma once

#include "float_training/cuda/product_shape.h"
#include "nibble/core/host_device.h"

namespace nibble::cuda {

struct PixelPlace {
  std::int32_t image, y, x;
};
struct TapPlace {
  std::int32_t tap, y, x, channel;
};

NIBBLE_HOST_DEVICE constexpr PixelPlace pixel_place(std::int32_t pixel,
                                                    FloatProductShape::Extent extent) {
  const std::int32_t line = pixel / extent.x;
  return {line / extent.y, line % extent.y, pixel % extent.x};
}

NIBBLE_HOST_DEVICE constexpr TapPlace tap_place(std::int32_t depth, std::int32_t channels,
                                                FloatProductShape::Extent kernel) {
  const std::int32_t tap = depth / channels;
  return {tap, tap / kernel.x, tap % kernel.x, depth % channels};
}

// The input under a tap: rows are pixels of the output, depths are taps and input channels.
struct InputWindows {
  using Row = PixelPlace;
  using Depth = TapPlace;
  static constexpr bool kDepthsLieTogether = true;

  FloatProductShape shape;
  const float* input;

  NIBBLE_HOST_DEVICE std::int32_t rows() const { return shape.output_pixels(); }
  NIBBLE_HOST_DEVICE std::int32_t depths() const { return shape.taps() * shape.in; }
  NIBBLE_HOST_DEVICE Row row(std::int32_t i) const { return pixel_place(i, shape.output); }
  NIBBLE_HOST_DEVICE Depth depth(std::int32_t i) const {
    return tap_place(i, shape.in, shape.kernel);
  }
  NIBBLE_HOST_DEVICE float at(const Row& row, const Depth& depth, std::int32_t group) const {
    const std::int32_t y = row.y * shape.stride.y - shape.padding.y + depth.y * shape.dilation.y;
    const std::int32_t x = row.x * shape.stride.x - shape.padding.x + depth.x * shape.dilation.x;
    if (y < 0 || y >= shape.input.y || x < 0 || x >= shape.input.x) return 0.0F;
    const std::int64_t pixel =
        (static_cast<std::int64_t>(row.image) * shape.input.y + y) * shape.input.x + x;
    return input[(pixel * shape.groups + group) * shape.in + depth.channel];
  }
};

// The weights of an output: depths as of the windows.
struct WeightRows {
  using Row = std::int32_t;
  using Depth = std::int32_t;
  static constexpr bool kDepthsLieTogether = true;

  FloatProductShape shape;
  const float* weight;

  NIBBLE_HOST_DEVICE std::int32_t rows() const { return shape.out; }
  NIBBLE_HOST_DEVICE std::int32_t depths() const { return shape.taps() * shape.in; }
  NIBBLE_HOST_DEVICE Row row(std::int32_t i) const { return i; }
  NIBBLE_HOST_DEVICE Depth depth(std::int32_t i) const { return i; }
  NIBBLE_HOST_DEVICE float at(Row row, Depth depth, std::int32_t group) const {
    return weight[(static_cast<std::int64_t>(group) * shape.out + row) * depths() + depth];
  }
};

// The errors that a pixel of the input has a part in: depths are taps and output channels. With a
// stride most taps meet none.
struct ErrorWindows {
  using Row = PixelPlace;
  using Depth = TapPlace;
  static constexpr bool kDepthsLieTogether = true;

  FloatProductShape shape;
  const float* error;

  NIBBLE_HOST_DEVICE std::int32_t rows() const { return shape.input_pixels(); }
  NIBBLE_HOST_DEVICE std::int32_t depths() const { return shape.taps() * shape.out; }
  NIBBLE_HOST_DEVICE Row row(std::int32_t i) const { return pixel_place(i, shape.input); }
  NIBBLE_HOST_DEVICE Depth depth(std::int32_t i) const {
    return tap_place(i, shape.out, shape.kernel);
  }
  NIBBLE_HOST_DEVICE float at(const Row& row, const Depth& depth, std::int32_t group) const {
    const std::int32_t y = row.y + shape.padding.y - depth.y * shape.dilation.y;
    const std::int32_t x = row.x + shape.padding.x - depth.x * shape.dilation.x;
    if (y < 0 || x < 0 || y % shape.stride.y != 0 || x % shape.stride.x != 0) return 0.0F;
    const std::int32_t from_y = y / shape.stride.y;
    const std::int32_t from_x = x / shape.stride.x;
    if (from_y >= shape.output.y || from_x >= shape.output.x) return 0.0F;
    const std::int64_t pixel =
        (static_cast<std::int64_t>(row.image) * shape.output.y + from_y) * shape.output.x + from_x;
    return error[(pixel * shape.groups + group) * shape.out + depth.channel];
  }
};

// The weights of an input channel: depths as of the errors' windows.
struct WeightColumns {
  using Row = std::int32_t;
  using Depth = TapPlace;
  static constexpr bool kDepthsLieTogether = false;

  FloatProductShape shape;
  const float* weight;

  NIBBLE_HOST_DEVICE std::int32_t rows() const { return shape.in; }
  NIBBLE_HOST_DEVICE std::int32_t depths() const { return shape.taps() * shape.out; }
  NIBBLE_HOST_DEVICE Row row(std::int32_t i) const { return i; }
  NIBBLE_HOST_DEVICE Depth depth(std::int32_t i) const {
    return tap_place(i, shape.out, shape.kernel);
  }
  NIBBLE_HOST_DEVICE float at(Row row, const Depth& depth, std::int32_t group) const {
    const std::int64_t output = static_cast<std::int64_t>(group) * shape.out + depth.channel;
    return weight[(output * shape.taps() + depth.tap) * shape.in + row];
  }
};

// The errors of an output channel: depths are pixels of the output.
struct ErrorChannels {
  using Row = std::int32_t;
  using Depth = std::int32_t;
  static constexpr bool kDepthsLieTogether = false;

  FloatProductShape shape;
  const float* error;

  NIBBLE_HOST_DEVICE std::int32_t rows() const { return shape.out; }
  NIBBLE_HOST_DEVICE std::int32_t depths() const { return shape.output_pixels(); }
  NIBBLE_HOST_DEVICE Row row(std::int32_t i) const { return i; }
  NIBBLE_HOST_DEVICE Depth depth(std::int32_t i) const { return i; }
  NIBBLE_HOST_DEVICE float at(Row row, Depth depth, std::int32_t group) const {
    return error[(static_cast<std::int64_t>(depth) * shape.groups + group) * shape.out + row];
  }
};

// The windows with rows and depths exchanged.
struct TurnedWindows {
  using Row = InputWindows::Depth;
  using Depth = InputWindows::Row;
  static constexpr bool kDepthsLieTogether = false;

  InputWindows windows;

  NIBBLE_HOST_DEVICE std::int32_t rows() const { return windows.depths(); }
  NIBBLE_HOST_DEVICE std::int32_t depths() const { return windows.rows(); }
  NIBBLE_HOST_DEVICE Row row(std::int32_t i) const { return windows.depth(i); }
  NIBBLE_HOST_DEVICE Depth depth(std::int32_t i) const { return windows.row(i); }
  NIBBLE_HOST_DEVICE float at(const Row& row, const Depth& depth, std::int32_t group) const {
    return windows.at(depth, row, group);
  }
};

}  // namespace nibble::cuda
