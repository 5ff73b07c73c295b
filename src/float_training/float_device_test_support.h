// SPDX-License-Identifier: Apache-2.0
// For tests: the products of a layer on a device beside those of the CPU.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "float_training/float_device.h"
#include "float_training/product_passes.h"
#include "float_training/test_networks.h"

namespace nibble::inline float_training {

constexpr std::array kTypes = {ProductType::fp32, ProductType::tf32, ProductType::fp16,
                               ProductType::bf16};
constexpr std::array kWires = {WireFormat::fp32, WireFormat::fp16, WireFormat::bf16,
                               WireFormat::int8};

using Floats = std::vector<float>;

// A layer and a batch for it.
struct ProductCase {
  Node node;
  Shape input;
  Shape output;
  std::int64_t images = 1;

  LayerSettings settings() const { return {node, 1, {input}, output}; }
  bool is_convolution() const { return is<Conv2d>(node.op); }
  bool has_bias() const {
    return is_convolution() ? std::get<Conv2d>(node.op).has_bias
                            : std::get<Linear>(node.op).has_bias;
  }
  std::int64_t biases() const { return has_bias() ? output[output.rank() - 1] : 0; }
  std::int64_t weights() const {
    if (!is_convolution()) return input.elements() * output.elements();
    const auto& conv = std::get<Conv2d>(node.op);
    return conv.channels * conv.kernel.y * conv.kernel.x * input[2] / conv.groups;
  }
  std::string text() const {
    if (!is_convolution()) return "linear " + input.to_string() + " to " + output.to_string();
    const auto& conv = std::get<Conv2d>(node.op);
    const auto pair = [](const Extent2& each) {
      return std::to_string(each.y) + "x" + std::to_string(each.x) + " ";
    };
    return std::to_string(images) + " images " + input.to_string() + " kernel " +
           pair(conv.kernel) + "stride " + pair(conv.stride) + "padding " + pair(conv.padding) +
           "dilation " + pair(conv.dilation) + std::to_string(conv.groups) + " groups, to " +
           output.to_string();
  }
};

inline ProductCase convolution(const Shape& input, const Conv2d& conv, std::int64_t images) {
  const auto extent = [](std::int64_t size, std::int64_t kernel, std::int64_t stride,
                         std::int64_t padding, std::int64_t dilation) {
    return (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
  };
  const Shape output{
      extent(input[0], conv.kernel.y, conv.stride.y, conv.padding.y, conv.dilation.y),
      extent(input[1], conv.kernel.x, conv.stride.x, conv.padding.x, conv.dilation.x),
      conv.channels};
  return {{"conv", conv}, input, output, images};
}

inline ProductCase linear(std::int64_t in, std::int64_t out, std::int64_t images) {
  return {{"fc", Linear{.features = out, .has_bias = true}}, {in}, {out}, images};
}

// Another number, another shape: nothing square, any stride, padding, dilation and groups.
inline ProductCase convolution_by_chance(std::uint32_t number) {
  std::uint32_t at = 0;
  const auto draw = [&](std::int64_t least, std::int64_t most) {
    const std::uint32_t drawn = draw32({77, number, 0}, at++);
    return least + static_cast<std::int64_t>(drawn % static_cast<std::uint32_t>(most - least + 1));
  };
  Conv2d conv{.has_bias = true};
  conv.groups = draw(0, 2) == 0 ? draw(2, 4) : 1;
  conv.channels = conv.groups * draw(1, 70 / conv.groups);
  conv.kernel = {draw(1, 5), draw(1, 4)};
  conv.stride = {draw(1, 3), draw(1, 3)};
  conv.padding = {draw(0, 3), draw(0, 2)};
  conv.dilation = {draw(1, 2), draw(1, 3)};
  const Shape input{draw(9, 17), draw(10, 20), conv.groups * draw(1, 20)};
  return convolution(input, conv, draw(1, 5));
}

// Of ResNet-20, as the original has measured them.
inline std::vector<ProductCase> convolutions_of_resnet20(std::int64_t images) {
  const auto layer = [&](std::int64_t size, std::int64_t in, std::int64_t out,
                         std::int64_t stride) {
    return convolution({size, size, in},
                       {.channels = out, .stride = {stride, stride}, .padding = {1, 1}}, images);
  };
  return {layer(32, 3, 16, 1),  layer(32, 16, 16, 1), layer(32, 16, 32, 2),
          layer(16, 32, 32, 1), layer(16, 32, 64, 2), layer(8, 64, 64, 1)};
}

// What enters the products, and what they give.
struct ProductNumbers {
  Floats input, weight, bias, error;
};
struct ProductResults {
  WireParcel output, input_error, gradients;
};

// Whole numbers from -most to most; 0: anything in [-1, 1).
inline Floats numbers(std::int64_t count, std::size_t stream, int most) {
  Floats values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float value = test_value(stream, i);
    values[i] = most == 0 ? value : std::round(value * static_cast<float>(most));
  }
  return values;
}

inline ProductNumbers numbers_for(const ProductCase& layer, int most) {
  return {numbers(layer.images * layer.input.elements(), 1, most),
          numbers(layer.weights(), 2, most), numbers(layer.biases(), 3, most),
          numbers(layer.images * layer.output.elements(), 4, most)};
}

constexpr RandomKey kTestDraws = {.seed = 5, .stream = 3, .step = 2};

inline Slices all_at_once(const ProductCase& layer) {
  return {.images = layer.images, .size = layer.images};
}

inline ProductResults on_device(FloatDevice& device, const ProductCase& layer,
                                const ProductNumbers& numbers, ProductType type, WireFormat wire) {
  const std::unique_ptr<DeviceProducts> products = device.products(layer.settings(), type);
  products->put_weight(pack(numbers.weight, wire));
  if (layer.has_bias()) products->put_bias(pack(numbers.bias, wire));
  products->put_input(pack(numbers.input, wire));
  const Slices slices = all_at_once(layer);
  auto output = products->forward(slices, wire);
  products->put_error(pack(numbers.error, wire));
  auto input_error = products->input_error(slices, wire, kTestDraws);
  auto gradients = products->weight_gradient(slices, layer.weights(), layer.biases());
  return {output.get(), input_error.get(), gradients.get()};
}

// By the CPU's own passes, over what would have arrived.
inline ProductResults on_cpu(const ProductCase& layer, const ProductNumbers& numbers,
                             ProductType type, WireFormat wire) {
  const auto arrived = [&](const Floats& values, ProductType to) {
    Floats found(values.size());
    unpack(pack(values, wire), found);
    if (!holds(to, wire))
      quantize(view_of(std::span<const float>(found)), view_of(std::span(found)), format_of(to));
    return found;
  };
  const Floats input = arrived(numbers.input, type);
  const Floats error = arrived(numbers.error, type);
  LayerParameter weight;
  weight.value = copy_of(view_of(std::span<const float>(arrived(numbers.weight, type))));
  LayerParameter bias;
  if (layer.has_bias())
    bias.value = copy_of(view_of(std::span<const float>(arrived(numbers.bias, ProductType::fp32))));
  BufferPool pool;
  const Pass pass{.slices = all_at_once(layer), .is_training = true, .pool = &pool};
  const std::unique_ptr<ProductPasses> passes = make_product_passes(layer.settings());
  Floats output(numbers.error.size());
  passes->forward(pass, input.data(), {weight, layer.has_bias() ? &bias : nullptr}, output.data());
  Floats input_error(input.size());
  Floats gradients(static_cast<std::size_t>(layer.weights() + layer.biases()));
  ProductsBack back{.input = input.data(), .error = error.data(), .weight = weight};
  back.input_error = input_error.data();
  back.weight_gradient = gradients.data();
  if (layer.has_bias()) back.bias_gradient = gradients.data() + layer.weights();
  passes->backward(pass, back);
  return {pack(output, wire), pack(input_error, wire, kTestDraws),
          pack(gradients, WireFormat::fp32)};
}

inline Floats values_of(const WireParcel& parcel) {
  Floats values(static_cast<std::size_t>(parcel.coded.codes.elements()));
  unpack(parcel, values);
  return values;
}

// Bit for bit, with the scales.
inline void expect_same_parcel(const WireParcel& got, const WireParcel& wanted) {
  const auto bytes = [](const Tensor& tensor) {
    return std::vector<std::byte>(tensor.data(), tensor.data() + tensor.bytes());
  };
  EXPECT_EQ(got.is_finite, wanted.is_finite);
  EXPECT_EQ(got.bytes(), wanted.bytes());
  EXPECT_EQ(values_of(got), values_of(wanted));
  EXPECT_EQ(bytes(got.coded.codes), bytes(wanted.coded.codes));
  EXPECT_EQ(bytes(got.coded.scales), bytes(wanted.coded.scales));
}

// Sums of few small integers are exact, so that nothing may differ: neither products of any type,
// nor what is packed on the device.
inline void expect_exact_products(FloatDevice& device, const ProductCase& layer, ProductType type,
                                  WireFormat wire) {
  SCOPED_TRACE(layer.text() + ", " + std::string(name_of(type)) + " by " +
               std::string(name_of(wire)));
  const ProductNumbers numbers = numbers_for(layer, 7);
  const ProductResults got = on_device(device, layer, numbers, type, wire);
  const ProductResults wanted = on_cpu(layer, numbers, type, wire);
  expect_same_parcel(got.output, wanted.output);
  expect_same_parcel(got.input_error, wanted.input_error);
  expect_same_parcel(got.gradients, wanted.gradients);
}

// An infinite error is seen in all that is made of it.
inline void expect_infinities_seen(FloatDevice& device) {
  const ProductCase layer = convolution_by_chance(1);
  for (const WireFormat wire : kWires) {
    ProductNumbers numbers = numbers_for(layer, 7);
    numbers.error[numbers.error.size() / 2] = std::numeric_limits<float>::infinity();
    const ProductResults got = on_device(device, layer, numbers, ProductType::fp32, wire);
    EXPECT_TRUE(got.output.is_finite);
    for (const WireParcel* each : {&got.input_error, &got.gradients}) {
      EXPECT_FALSE(std::ranges::all_of(values_of(*each), [](float x) { return std::isfinite(x); }))
          << name_of(wire);
    }
  }
}

// The largest difference, as a share of the largest magnitude.
inline double share_off(const WireParcel& got, const WireParcel& wanted) {
  const Floats have = values_of(got);
  const Floats want = values_of(wanted);
  double most = 0;
  double off = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    most = std::max(most, std::abs(static_cast<double>(want[i])));
    off = std::max(off, std::abs(static_cast<double>(have[i]) - static_cast<double>(want[i])));
  }
  return have.size() == want.size() && most > 0 ? off / most : 1.0;
}

}  // namespace nibble::inline float_training
