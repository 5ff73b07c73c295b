// SPDX-License-Identifier: Apache-2.0
// Convolution and linear layers on the accumulating matrix product: y = P·W^T, dP = dy·W,
// dW = dy^T·P, where a row of P is what one output pixel sees (im2col).
#include "float_training/simulated_layer.h"

#include <algorithm>
#include <cstring>

#include "float_training/slice_sums.h"
#include "float_training/streams.h"
#include "float_training/weight_quantizer.h"

namespace nibble::inline float_training {
namespace {

// Which of the three products; part of the stream, so that no draw is used twice.
enum class Product : std::uint32_t { forward, error, gradient };

TensorView matrix(float* data, std::int64_t rows, std::int64_t columns) {
  return {reinterpret_cast<std::byte*>(data), DType::f32, {rows, columns}};
}
ConstTensorView matrix(const float* data, std::int64_t rows, std::int64_t columns) {
  return {reinterpret_cast<const std::byte*>(data), DType::f32, {rows, columns}};
}

void transpose(const float* from, std::int64_t rows, std::int64_t columns, std::int64_t stride,
               float* to) {
  for_each_task(columns, [&](std::int64_t c) {
    for (std::int64_t r = 0; r < rows; ++r) to[c * rows + r] = from[r * stride + c];
  });
}

// A linear layer is a convolution of one pixel.
struct Geometry {
  Conv2d op;
  Shape input;
  Shape output;
};

Geometry geometry_of(const LayerSettings& settings) {
  if (const auto* conv = std::get_if<Conv2d>(&settings.node.op))
    return {*conv, settings.inputs[0], settings.output};
  const auto& linear = std::get<Linear>(settings.node.op);
  return {{.channels = linear.features, .kernel = {1, 1}, .has_bias = linear.has_bias},
          {1, 1, settings.inputs[0].elements()},
          {1, 1, linear.features}};
}

class SimulatedLayer final : public Layer {
 public:
  explicit SimulatedLayer(const LayerSettings& settings)
      : shape_(geometry_of(settings)),
        accumulator_(*settings.accumulator),
        node_(settings.index),
        weight_(settings.node) {}

  bool keeps_inputs() const override { return true; }
  std::vector<LayerParameter*> parameters() override {
    std::vector<LayerParameter*> list = weight_.parameters();
    if (shape_.op.has_bias) list.push_back(&bias_);
    return list;
  }

  void forward(const ForwardArguments& arguments) override {
    const std::int64_t rows = arguments.pass.slices.images * pixels();
    for (std::int64_t group = 0; group < shape_.op.groups; ++group) {
      const Buffer patches = gather(arguments.pass, arguments.inputs[0], group);
      const Buffer weights = arguments.pass.pool->take<float>(taps() * width());
      transpose(weight_.used().value.as<float>().data() + group * width() * taps(), width(), taps(),
                taps(), weights.as<float>());
      const Buffer sums = arguments.pass.pool->take<float>(rows * width());
      multiply(arguments.pass, Product::forward, group, matrix(patches.as<float>(), rows, taps()),
               matrix(weights.as<float>(), taps(), width()),
               matrix(sums.as<float>(), rows, width()));
      const float* bias =
          shape_.op.has_bias ? bias_.value.as<float>().data() + group * width() : nullptr;
      for_each_task(rows, [&](std::int64_t row) {
        for (std::int64_t o = 0; o < width(); ++o) {
          const float sum = sums.as<float>()[row * width() + o];
          arguments.output[row * shape_.op.channels + group * width() + o] =
              bias != nullptr ? sum + bias[o] : sum;
        }
      });
    }
  }

  void backward(const BackwardArguments& arguments) override {
    const Pass& pass = arguments.pass;
    const std::int64_t rows = pass.slices.images * pixels();
    float* input_error = arguments.input_errors[0];
    if (input_error != nullptr)
      std::fill_n(input_error, pass.slices.images * shape_.input.elements(), 0.0F);
    for (std::int64_t group = 0; group < shape_.op.groups; ++group) {
      const Buffer patches = gather(pass, arguments.inputs[0], group);
      const Buffer errors = pass.pool->take<float>(rows * width());
      const Buffer turned = pass.pool->take<float>(rows * width());
      for_each_task(rows, [&](std::int64_t row) {
        std::copy_n(arguments.output_error + row * shape_.op.channels + group * width(), width(),
                    errors.as<float>() + row * width());
      });
      transpose(errors.as<float>(), rows, width(), width(), turned.as<float>());
      multiply(pass, Product::gradient, group, matrix(turned.as<float>(), width(), rows),
               matrix(patches.as<float>(), rows, taps()),
               matrix(weight_.gradient().data() + group * width() * taps(), width(), taps()));
      if (input_error == nullptr) continue;
      const Buffer patch_errors = pass.pool->take<float>(rows * taps());
      multiply(pass, Product::error, group, matrix(errors.as<float>(), rows, width()),
               matrix(weight_.used().value.as<float>().data() + group * width() * taps(), width(),
                      taps()),
               matrix(patch_errors.as<float>(), rows, taps()));
      scatter(pass, patch_errors.as<float>(), group, input_error);
    }
    weight_.finish_gradient();
    if (shape_.op.has_bias) {
      sum_channels(pass, arguments.output_error, rows, shape_.op.channels,
                   bias_.gradient.as<float>().data());
    }
  }

 private:
  std::int64_t pixels() const { return shape_.output[0] * shape_.output[1]; }
  std::int64_t width() const { return shape_.op.channels / shape_.op.groups; }
  std::int64_t depth() const { return shape_.input[2] / shape_.op.groups; }
  std::int64_t taps() const { return shape_.op.kernel.y * shape_.op.kernel.x * depth(); }

  void multiply(const Pass& pass, Product product, std::int64_t group, ConstTensorView a,
                ConstTensorView b, TensorView c) const {
    Accumulator accumulator = accumulator_;
    accumulator.random = {
        pass.random.seed,
        kProductStreams + (static_cast<std::uint32_t>(product) << 28) +
            static_cast<std::uint32_t>((node_ << 15) + static_cast<std::size_t>(group)),
        pass.random.step};
    matmul(a, b, c, accumulator);
  }

  // Calls body(offset in the picture, place in the patch) for every tap of a pixel inside it.
  template <class Body>
  void for_each_tap(std::int64_t y, std::int64_t x, const Body& body) const {
    const Conv2d& op = shape_.op;
    for (std::int64_t ky = 0; ky < op.kernel.y; ++ky) {
      const std::int64_t row = y * op.stride.y - op.padding.y + ky * op.dilation.y;
      if (row < 0 || row >= shape_.input[0]) continue;
      for (std::int64_t kx = 0; kx < op.kernel.x; ++kx) {
        const std::int64_t column = x * op.stride.x - op.padding.x + kx * op.dilation.x;
        if (column < 0 || column >= shape_.input[1]) continue;
        body((row * shape_.input[1] + column) * shape_.input[2], (ky * op.kernel.x + kx) * depth());
      }
    }
  }

  template <class Body>
  void for_each_pixel(const Pass& pass, const Body& body) const {
    for_each_task(pass.slices.images, [&](std::int64_t image) {
      for (std::int64_t pixel = 0; pixel < pixels(); ++pixel) {
        body(image, image * pixels() + pixel, pixel / shape_.output[1], pixel % shape_.output[1]);
      }
    });
  }

  Buffer gather(const Pass& pass, const float* input, std::int64_t group) const {
    Buffer patches = pass.pool->take<float>(pass.slices.images * pixels() * taps());
    for_each_pixel(pass, [&](std::int64_t image, std::int64_t row, std::int64_t y, std::int64_t x) {
      const float* picture = input + image * shape_.input.elements() + group * depth();
      float* patch = patches.as<float>() + row * taps();
      std::fill_n(patch, taps(), 0.0F);
      for_each_tap(y, x, [&](std::int64_t from, std::int64_t to) {
        std::copy_n(picture + from, depth(), patch + to);
      });
    });
    return patches;
  }

  void scatter(const Pass& pass, const float* patches, std::int64_t group, float* input) const {
    for_each_pixel(pass, [&](std::int64_t image, std::int64_t row, std::int64_t y, std::int64_t x) {
      float* picture = input + image * shape_.input.elements() + group * depth();
      const float* patch = patches + row * taps();
      for_each_tap(y, x, [&](std::int64_t to, std::int64_t from) {
        for (std::int64_t c = 0; c < depth(); ++c) picture[to + c] += patch[from + c];
      });
    });
  }

  Geometry shape_;
  Accumulator accumulator_;
  std::size_t node_;
  WeightQuantizer weight_;
  LayerParameter bias_;
};

}  // namespace

std::unique_ptr<Layer> make_simulated(const LayerSettings& settings) {
  return std::make_unique<SimulatedLayer>(settings);
}

}  // namespace nibble::inline float_training
