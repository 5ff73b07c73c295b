// SPDX-License-Identifier: Apache-2.0
// max(x, 0) and min(max(x, 0), 6), in place.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "float_training/layer.h"
#include "nibble/core/parallel.h"

namespace nibble::inline float_training {
namespace {

constexpr std::size_t kRectifiedAtOnce = 32768;  // elements a task; a multiple of 8 for the bits

class RectifierLayer final : public Layer {
 public:
  explicit RectifierLayer(const LayerSettings& settings)
      : elements_(settings.output.elements()),
        limit_(is<Relu6>(settings.node.op) ? 6.0F : std::numeric_limits<float>::infinity()),
        has_bits_(settings.output_is_rounded) {}

  bool works_in_place() const override { return true; }
  bool keeps_output() const override { return !has_bits_; }

  void forward(const ForwardArguments& arguments) override {
    const std::size_t count = count_of(arguments.pass);
    const float* x = arguments.inputs[0];
    float* y = arguments.output;
    const float limit = limit_;
    const bool marks = has_bits_ && arguments.pass.is_training;
    if (marks) passed_.resize(count);
    parallel_for(count, kRectifiedAtOnce, [&](std::size_t begin, std::size_t end) {
      if (marks) {
        for (std::size_t i = begin; i < end; ++i)
          passed_[i] = static_cast<std::uint8_t>((x[i] > 0.0F) & (x[i] < limit));
      }
      // NaN stays NaN, so that it is found where it arose.
#pragma omp simd  // x and y may be the same memory, which costs no order
      for (std::size_t i = begin; i < end; ++i) {
        const float low = x[i] < 0.0F ? 0.0F : x[i];
        y[i] = low > limit ? limit : low;
      }
    });
  }

  void backward(const BackwardArguments& arguments) override {
    if (arguments.input_errors[0] == nullptr) return;
    const float* y = arguments.output;
    const float* dy = arguments.output_error;
    float* dx = arguments.input_errors[0];
    const float limit = limit_;
    parallel_for(
        count_of(arguments.pass), kRectifiedAtOnce, [&](std::size_t begin, std::size_t end) {
          if (has_bits_) {
#pragma omp simd
            for (std::size_t i = begin; i < end; ++i) dx[i] = passed_[i] != 0 ? dy[i] : 0.0F;
            return;
          }
#pragma omp simd
          for (std::size_t i = begin; i < end; ++i) {
            const float error = dy[i];
            const float above = y[i] > 0.0F ? error : 0.0F;  // selected, not branched: vectorized
            dx[i] = y[i] < limit ? above : 0.0F;
          }
        });
  }

 private:
  std::size_t count_of(const Pass& pass) const {
    return static_cast<std::size_t>(pass.slices.images * elements_);
  }

  std::int64_t elements_;
  float limit_;
  bool has_bits_;                     // rounding may turn what passed into zero
  std::vector<std::uint8_t> passed_;  // one an element: 0 < x < limit
};

}  // namespace

std::unique_ptr<Layer> make_rectifier(const LayerSettings& settings) {
  return std::make_unique<RectifierLayer>(settings);
}

}  // namespace nibble::inline float_training
