// SPDX-License-Identifier: Apache-2.0
// Layers that bring values together or pass one on: add, concat, flatten.
#include <algorithm>
#include <vector>

#include "float_training/layer.h"
#include "nibble/core/parallel.h"

namespace nibble::inline float_training {
namespace {

constexpr std::size_t kJoinedAtOnce = 32768;

void copy(const float* from, std::size_t count, float* to) {
  if (to == nullptr || to == from) return;
  parallel_for(count, kJoinedAtOnce, [&](std::size_t begin, std::size_t end) {
    std::copy(from + begin, from + end, to + begin);
  });
}

class AddLayer final : public Layer {
 public:
  explicit AddLayer(const LayerSettings& settings) : elements_(settings.output.elements()) {}

  bool works_in_place() const override { return true; }

  void forward(const ForwardArguments& arguments) override {
    const auto count = static_cast<std::size_t>(arguments.pass.slices.images * elements_);
    copy(arguments.inputs[0], count, arguments.output);
    for (const float* x : arguments.inputs.subspan(1)) {
      parallel_for(count, kJoinedAtOnce, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) arguments.output[i] += x[i];
      });
    }
  }

  void backward(const BackwardArguments& arguments) override {
    const auto count = static_cast<std::size_t>(arguments.pass.slices.images * elements_);
    for (float* dx : arguments.input_errors) copy(arguments.output_error, count, dx);
  }

 private:
  std::int64_t elements_;
};

class ConcatLayer final : public Layer {
 public:
  explicit ConcatLayer(const LayerSettings& settings)
      : channels_(settings.output[settings.output.rank() - 1]),
        rows_(settings.output.elements() / channels_) {
    for (const Shape& shape : settings.inputs) widths_.push_back(shape[shape.rank() - 1]);
  }

  void forward(const ForwardArguments& arguments) override {
    for_each_row(arguments.pass, [&](std::int64_t row) {
      float* y = arguments.output + row * channels_;
      for (std::size_t i = 0; i < widths_.size(); ++i) {
        y = std::copy_n(arguments.inputs[i] + row * widths_[i], widths_[i], y);
      }
    });
  }

  void backward(const BackwardArguments& arguments) override {
    for_each_row(arguments.pass, [&](std::int64_t row) {
      const float* dy = arguments.output_error + row * channels_;
      for (std::size_t i = 0; i < widths_.size(); dy += widths_[i], ++i) {
        if (arguments.input_errors[i] != nullptr)
          std::copy_n(dy, widths_[i], arguments.input_errors[i] + row * widths_[i]);
      }
    });
  }

 private:
  template <class Body>
  void for_each_row(const Pass& pass, const Body& body) const {
    for_each_task(pass.slices.images, [&](std::int64_t image) {
      for (std::int64_t row = image * rows_; row < (image + 1) * rows_; ++row) body(row);
    });
  }

  std::int64_t channels_;
  std::int64_t rows_;  // an image
  std::vector<std::int64_t> widths_;
};

class FlattenLayer final : public Layer {
 public:
  explicit FlattenLayer(const LayerSettings& settings) : elements_(settings.output.elements()) {}

  bool works_in_place() const override { return true; }

  void forward(const ForwardArguments& arguments) override {
    copy(arguments.inputs[0], static_cast<std::size_t>(arguments.pass.slices.images * elements_),
         arguments.output);
  }
  void backward(const BackwardArguments& arguments) override {
    copy(arguments.output_error, static_cast<std::size_t>(arguments.pass.slices.images * elements_),
         arguments.input_errors[0]);
  }

 private:
  std::int64_t elements_;
};

}  // namespace

std::unique_ptr<Layer> make_add(const LayerSettings& settings) {
  return std::make_unique<AddLayer>(settings);
}
std::unique_ptr<Layer> make_concat(const LayerSettings& settings) {
  return std::make_unique<ConcatLayer>(settings);
}
std::unique_ptr<Layer> make_flatten(const LayerSettings& settings) {
  return std::make_unique<FlattenLayer>(settings);
}

}  // namespace nibble::inline float_training
