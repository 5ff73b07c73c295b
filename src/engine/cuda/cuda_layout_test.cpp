// SPDX-License-Identifier: Apache-2.0
// How pictures lie on a GPU and are cut into bands there, looked at without one: what a band's rows
// find at each tap's offset are the windows of the convolution, and sums of bytes with zeros around
// them become those of numbers.
#include <gtest/gtest.h>

#include <vector>

#include "backend/cuda/banded_product.h"
#include "engine/cuda/entry_layout.h"
#include "engine/cuda/product_parts.h"
#include "graph/test_network_maker.h"

namespace nibble::inline engine {
namespace {

using Bytes = std::vector<std::int8_t>;

constexpr std::int64_t kOutputs = 2;

Bytes random_bytes(std::int64_t count) {
  const Integers numbers = Dice(static_cast<std::uint64_t>(count)).many(count, -7, 7);
  return {numbers.begin(), numbers.end()};
}

// A picture whose pixels have `pixel` bytes, and a convolution of it.
struct Layer {
  Picture picture;
  std::int64_t pixel;
  Conv2d conv;
  Bytes numbers;  // of the picture, filled up with zeros
  Bytes weights;  // (out, tap, pixel)
  Picture result;

  std::int8_t number(std::int64_t y, std::int64_t x, std::int64_t c) const {
    const bool is_there = y >= 0 && y < picture.height && x >= 0 && x < picture.width;
    return is_there ? numbers[static_cast<std::size_t>((y * picture.width + x) * pixel + c)]
                    : std::int8_t{0};
  }
  std::int64_t sum(std::int64_t y, std::int64_t x, std::int64_t out) const {
    std::int64_t sum = 0;
    auto weight = weights.begin() + out * conv.kernel.y * conv.kernel.x * pixel;
    for (std::int64_t ky = 0; ky < conv.kernel.y; ++ky) {
      for (std::int64_t kx = 0; kx < conv.kernel.x; ++kx) {
        for (std::int64_t c = 0; c < pixel; ++c)
          sum += *weight++ * number(y * conv.stride.y - conv.padding.y + ky,
                                    x * conv.stride.x - conv.padding.x + kx, c);
      }
    }
    return sum;
  }

  cuda::WindowProduct product() const {
    return {.pixel_bytes = static_cast<std::uint32_t>(pixel),
            .source = picture,
            .result = result,
            .window = {conv.kernel, conv.stride, conv.padding, conv.dilation},
            .columns = 64};
  }
};

Layer plain_layer(const Picture& picture, std::int64_t kernel) {
  const std::int64_t taps = kernel * kernel;
  return {.picture = picture,
          .pixel = picture.channels,
          .conv = {.channels = kOutputs,
                   .kernel = {kernel, kernel},
                   .padding = {kernel / 2, kernel / 2}},
          .numbers = random_bytes(picture.pixels() * picture.channels),
          .weights = random_bytes(kOutputs * taps * picture.channels),
          .result = {picture.height, picture.width, kOutputs}};
}

// What lies in a stage: lines of a picture with what is around them.
Bytes stage_of(const Layer& layer, const cuda::BandedShape& shape, std::int64_t first_line) {
  const std::int64_t pitch = shape.pitch.divisor;
  const std::int64_t first_x = -layer.conv.padding.x;
  Bytes stage(shape.stage_bytes, 99);  // what is not brought
  auto at = stage.begin();
  for (std::uint32_t line = 0; line < shape.lines + shape.taps[1] - 1; ++line) {
    for (std::int64_t x = 0; x < pitch; ++x) {
      for (std::int64_t c = 0; c < layer.pixel; ++c)
        *at++ = layer.number(first_line + shape.first[1] + line, first_x + x, c);
    }
  }
  EXPECT_EQ(at - stage.begin(), shape.rows_bytes);
  return stage;
}

// The sum of a row of a tile, as tensor cores make it.
std::int64_t banded_sum(const Layer& layer, const cuda::BandedShape& shape, const Bytes& stage,
                        std::int64_t row, std::int64_t out) {
  const std::int64_t taps = shape.taps[0] * shape.taps[1];
  const std::int64_t depth = shape.filter_bytes() / (taps * cuda::kBandTile.columns);
  auto weight = layer.weights.begin() + out * taps * depth;
  std::int64_t sum = 0;
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    const std::int64_t from = tap / shape.taps[0] * shape.line_bytes + tap % shape.taps[0] * depth +
                              row * shape.pixel_bytes;
    for (std::int64_t k = 0; k < depth; ++k)
      sum += *weight++ * stage.at(static_cast<std::size_t>(from + k));
  }
  return sum;
}

void expect_bands(const Layer& layer) {
  const auto shape = cuda::banded_shape(layer.product(), false);
  ASSERT_TRUE(shape.has_value());
  EXPECT_LE(shape->shared_bytes(), cuda::kBandBytes);
  std::int64_t pixels = 0;
  for (std::uint32_t band = 0; band < shape->bands.divisor; ++band) {
    const std::int64_t first = band * shape->lines;
    const Bytes stage = stage_of(layer, *shape, first);
    for (std::uint32_t row = 0; row < cuda::kBandTile.rows; ++row) {
      const std::int64_t y = shape->pitch.quotient(row);
      const std::int64_t x = row - y * shape->pitch.divisor;
      const std::int64_t sum = banded_sum(layer, *shape, stage, row, 1);  // none is beyond a stage
      if (y >= shape->lines || first + y >= layer.result.height || x >= layer.result.width)
        continue;
      EXPECT_EQ(sum, layer.sum(first + y, x, 1)) << first + y << ", " << x;
      ++pixels;
    }
  }
  EXPECT_EQ(pixels, layer.result.pixels());
}

TEST(CudaBands, HaveTheWindowsOfAConvolution) {
  for (const std::int64_t channels : {32, 64}) {
    expect_bands(plain_layer({56, 56, channels}, 3));
    expect_bands(plain_layer({13, 32, channels}, 3));
    expect_bands(plain_layer({16, 15, channels}, 2));
    expect_bands(plain_layer({3, 70, channels}, 3));
  }
  expect_bands(plain_layer({9, 20, 32}, 5));
}

TEST(CudaBands, AreRefusedWhereTheyDoNotFit) {
  const auto shape = [](const Layer& layer, bool has_addend) {
    return cuda::banded_shape(layer.product(), has_addend).has_value();
  };
  EXPECT_TRUE(shape(plain_layer({56, 56, 64}, 3), true));
  EXPECT_FALSE(shape(plain_layer({56, 56, 64}, 1), false));   // nothing is read twice
  EXPECT_FALSE(shape(plain_layer({56, 56, 128}, 3), false));  // two segments
  EXPECT_FALSE(shape(plain_layer({56, 56, 64}, 5), false));   // filters fill the memory
  EXPECT_FALSE(shape(plain_layer({7, 7, 64}, 3), false));     // most rows are nothing
  EXPECT_FALSE(shape(plain_layer({4, 131, 64}, 3), false));   // a line has too many
  Layer layer = plain_layer({56, 56, 64}, 3);
  layer.conv.stride = {2, 2};
  EXPECT_FALSE(shape(layer, false));
}

// A first layer as examples lie where its windows overlap.
Layer overlapping_layer(const Layer& old, bool has_border) {
  const EntryLayout layout = EntryLayout::best(old.picture, old.conv, true, has_border);
  EXPECT_TRUE(layout.overlaps());
  EXPECT_EQ(layout.has_border(), has_border);
  const Bytes dense = layout.weights(old.conv, old.weights);
  const Picture stored = layout.stored();
  Layer layer{.picture = stored,
              .pixel = 16,
              .conv = layout.window(old.conv),
              .numbers = Bytes(static_cast<std::size_t>(stored.pixels() * 16)),
              .weights = {},
              .result = old.result};
  for (std::size_t at = 0; at < dense.size(); at += static_cast<std::size_t>(stored.channels)) {
    const auto from = dense.begin() + static_cast<std::ptrdiff_t>(at);
    layer.weights.insert(layer.weights.end(), from, from + stored.channels);
    layer.weights.resize(layer.weights.size() + 16 - static_cast<std::size_t>(stored.channels));
  }
  for (std::int64_t y = 0; y < old.picture.height; ++y) {
    for (std::int64_t x = 0; x < old.picture.width; ++x) {
      for (std::int64_t c = 0; c < old.picture.channels; ++c)
        layer.numbers[static_cast<std::size_t>(
            (layout.y.stored_pixel(y) * stored.width + layout.x.stored_pixel(x)) * 16 +
            layout.channel(y % 2, x % 2, c))] = old.number(y, x, c);
    }
  }
  return layer;
}

TEST(CudaBands, OverlapInFirstLayersOfStrideTwo) {
  for (const Picture picture : {Picture{30, 224, 3}, Picture{21, 35, 1}}) {
    Layer old = plain_layer(picture, 7);
    old.conv.stride = {2, 2};
    old.result = {(picture.height + 1) / 2, (picture.width + 1) / 2, kOutputs};
    for (const bool has_border : {false, true}) {
      const Layer layer = overlapping_layer(old, has_border);
      for (std::int64_t y = 0; y < old.result.height; ++y) {
        for (std::int64_t x = 0; x < old.result.width; ++x)
          EXPECT_EQ(layer.sum(y, x, 1), old.sum(y, x, 1));
      }
      expect_bands(layer);
    }
  }
}

// The first layer of a network, whose input is a byte less a base.
ProductParts first_product(const EngineProgram& program, const DevicePlaces& places) {
  const auto& law = std::get<ProductLaw>(program.steps[0].law);
  return {{places, program.steps[0], law}, {}, program.weights_of(law)};
}

// Of an output, what it should be and what the tensor cores' sum of bytes becomes.
struct OutputSums {
  std::int64_t wanted = 0;
  std::int64_t found = 0;
};
OutputSums sums_of(const ProductParts& parts, const Integers& numbers, std::int64_t y,
                   std::int64_t x, std::int64_t out) {
  const Conv2d& window = parts.window;
  const Picture& in = parts.in.picture;
  OutputSums sums;
  for (std::int64_t tap = 0; tap < parts.taps(); ++tap) {
    const std::int64_t iy =
        y * window.stride.y - window.padding.y + tap / window.kernel.x * window.dilation.y;
    const std::int64_t ix =
        x * window.stride.x - window.padding.x + tap % window.kernel.x * window.dilation.x;
    if (iy < 0 || iy >= in.height || ix < 0 || ix >= in.width) continue;
    for (std::int64_t k = 0; k < in.channels; ++k) {
      const std::int64_t number =
          numbers[static_cast<std::size_t>((iy * in.width + ix) * in.channels + k)];
      const std::int64_t weight = parts.weight(out, tap, k);
      sums.wanted += weight * number;
      sums.found += weight * (number - parts.in.base);
    }
  }
  return sums;
}

TEST(CudaOutside, SumsOfBytesBecomeThoseOfNumbers) {
  constexpr std::int64_t kDepth = 32;
  const std::vector<Conv2d> windows = {
      {.channels = 5, .kernel = {3, 3}, .padding = {1, 1}},
      {.channels = 5, .kernel = {5, 3}, .stride = {2, 1}, .padding = {2, 0}},
      {.channels = 5, .kernel = {3, 3}, .padding = {2, 3}, .dilation = {2, 2}}};
  for (const char* format : {"uint8", "uint8(zero=114)", "int8"}) {
    for (const Conv2d& window : windows) {
      Dice dice(3);
      NetworkMaker maker({6, 9, kDepth}, integers_format(format));
      maker.add(window);
      const std::int64_t taps = window.kernel.y * window.kernel.x;
      maker.with(tensor_of<std::int8_t>({5, window.kernel.y, window.kernel.x, kDepth},
                                        dice.many(5 * taps * kDepth, -127, 127)));
      maker.rescale(maker.last(), {3}, 14, -100, 127);
      const EngineProgram program = make_program(maker.model(), true);
      const DevicePlaces places(program, {}, true);
      const ProductParts parts = first_product(program, places);
      EXPECT_FALSE(parts.in.has_border);  // the copy engine needs none
      EXPECT_TRUE(DevicePlaces(program, {}, false)[0].has_border || parts.in.base == 0);
      const OutsideTable table = outside_table(parts);
      const std::vector<std::int64_t> bias = parts.bias_of_bytes();
      const ValueInfo& input = program.values[0].info;
      const Integers numbers = dice.many(6 * 9 * kDepth, input.low, input.high);
      const Picture& out = parts.out.picture;
      for (std::int64_t y = 0; y < out.height; ++y) {
        for (std::int64_t x = 0; x < out.width; ++x) {
          for (std::int64_t o = 0; o < out.channels; ++o) {
            const OutputSums sums = sums_of(parts, numbers, y, x, o);
            const std::int32_t row = table.rows[static_cast<std::size_t>(y * out.width + x)];
            EXPECT_EQ(sums.wanted, sums.found + bias[static_cast<std::size_t>(o)] +
                                       table.sums[static_cast<std::size_t>(row + o)]);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace nibble::inline engine
