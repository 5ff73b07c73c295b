// SPDX-License-Identifier: Apache-2.0
// Slice and pad: every number of the smaller side has a place in the larger one.
#include <algorithm>
#include <array>
#include <cstddef>

#include "float_training/layer.h"

namespace nibble::inline float_training {
namespace {

constexpr std::size_t kAxes = 3;
using Axes = std::array<std::int64_t, kAxes>;

// Extents with leading ones, so that vectors and pictures are treated alike.
Axes widen(const Shape& shape) {
  Axes axes{1, 1, 1};
  for (std::size_t i = 0; i < shape.rank(); ++i) axes[kAxes - shape.rank() + i] = shape[i];
  return axes;
}

// Index i of an axis of the small side is begin + i·step of the large one.
class WindowLayer final : public Layer {
 public:
  explicit WindowLayer(const LayerSettings& settings) {
    const std::size_t first = kAxes - settings.output.rank();
    if (const auto* slice = std::get_if<Slice>(&settings.node.op)) {
      is_slice_ = true;
      large_ = widen(settings.inputs[0]);
      small_ = widen(settings.output);
      for (std::size_t i = 0; i < settings.output.rank(); ++i) {
        if (!slice->begin.empty()) begin_[first + i] = slice->begin[i];
        if (!slice->step.empty()) step_[first + i] = slice->step[i];
      }
      return;
    }
    const auto& pad = std::get<Pad>(settings.node.op);
    large_ = widen(settings.output);
    small_ = widen(settings.inputs[0]);
    for (std::size_t i = 0; i < settings.output.rank(); ++i) {
      if (!pad.before.empty()) begin_[first + i] = pad.before[i];
    }
  }

  void forward(const ForwardArguments& arguments) override {
    move(arguments.pass, arguments.inputs[0], arguments.output, is_slice_);
  }

  void backward(const BackwardArguments& arguments) override {
    if (arguments.input_errors[0] == nullptr) return;
    move(arguments.pass, arguments.output_error, arguments.input_errors[0], !is_slice_);
  }

 private:
  static std::int64_t volume(const Axes& axes) { return axes[0] * axes[1] * axes[2]; }

  // From large to small, or back with zeros around.
  void move(const Pass& pass, const float* from, float* to, bool to_small) const {
    for_each_task(pass.slices.images, [&](std::int64_t image) {
      const std::int64_t small = image * volume(small_);
      const std::int64_t large = image * volume(large_);
      if (!to_small) std::fill_n(to + large, volume(large_), 0.0F);
      for (std::int64_t y = 0; y < small_[0]; ++y) {
        for (std::int64_t x = 0; x < small_[1]; ++x) {
          const std::int64_t s = small + (y * small_[1] + x) * small_[2];
          const std::int64_t l =
              large +
              ((begin_[0] + y * step_[0]) * large_[1] + begin_[1] + x * step_[1]) * large_[2] +
              begin_[2];
          for (std::int64_t c = 0; c < small_[2]; ++c) {
            if (to_small) {
              to[s + c] = from[l + c * step_[2]];
            } else {
              to[l + c * step_[2]] = from[s + c];
            }
          }
        }
      }
    });
  }

  bool is_slice_ = false;
  Axes large_{};
  Axes small_{};
  Axes begin_{0, 0, 0};
  Axes step_{1, 1, 1};
};

}  // namespace

std::unique_ptr<Layer> make_window(const LayerSettings& settings) {
  return std::make_unique<WindowLayer>(settings);
}

}  // namespace nibble::inline float_training
