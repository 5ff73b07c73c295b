// SPDX-License-Identifier: Apache-2.0
// Average pools: the sum of a window times ⌊2^15 / count⌉, in units 2^-15 of the input's.
#include "integer/layer.h"
#include "integer/meetings.h"
#include "integer/round_pixels.h"
#include "nibble/kernels/integer_loops.h"

namespace nibble {
namespace {

constexpr int kFactorBits = 15;
constexpr std::int64_t kMostFactors = std::int64_t{1} << 24;  // 127 times it fits 32 bits

class AverageLayer final : public IntegerLayer {
 public:
  AverageLayer(const IntegerLayerSettings& settings, const SlidingWindow& window,
               bool counts_padding)
      : ahead_(Meetings::forward(window, settings.inputs[0], settings.output)),
        back_(Meetings::backward(window, settings.inputs[0], settings.output)),
        value_point_(settings.value_point()),
        error_point_(settings.error_point()) {
    for (std::int64_t pixel = 0; pixel < ahead_.pixels(); ++pixel) {
      const auto there = static_cast<std::int64_t>(ahead_.of(pixel).size());
      const std::int64_t count = counts_padding ? window.taps() : std::max<std::int64_t>(there, 1);
      factors_.push_back(
          static_cast<std::int32_t>(((std::int64_t{1} << kFactorBits) + count / 2) / count));
    }
    for (std::int64_t pixel = 0; pixel < back_.pixels(); ++pixel) {
      std::int64_t sum = 0;
      for (const Meeting& each : back_.of(pixel))
        sum += factors_[static_cast<std::size_t>(each.source)];
      if (sum > kMostFactors)
        refuse_layer(settings.node, "windows that nearly all overlap", "fewer over one pixel");
    }
  }

  void forward(const IntegerForward& arguments) override {
    const BlockTensor& input = *arguments.inputs[0];
    const int shift = run(value_point_, arguments.pass, ahead_, input, arguments.output, true);
    arguments.output.exponent = input.exponent - kFactorBits + shift;
  }

  void backward(const IntegerBackward& arguments) override {
    BlockTensor* target = arguments.input_errors[0];
    if (target == nullptr) return;
    const BlockTensor& error = arguments.output_error;
    const int shift = run(error_point_, arguments.pass, back_, error, *target, false);
    target->exponent = error.exponent - kFactorBits + shift;
  }

  int sum_exponent(std::span<const int> inputs) const override { return inputs[0] - kFactorBits; }
  RoundingPoint* value_point() override { return &value_point_; }
  std::vector<RoundingPoint*> error_points() override { return {&error_point_}; }

 private:
  // The factor is the window's: of the result on the way forward, of the source on the way back.
  int run(RoundingPoint& point, const IntegerPass& pass, const Meetings& meetings,
          const BlockTensor& source, const BlockTensor& result, bool is_forward) {
    const auto count = static_cast<std::size_t>(result.picture.pixel_bytes());
    return point.round(pass.rule, result, [&](const RoundingJob& job) {
      return round_pixels<std::int32_t>(
          job, result, pass.first_image,
          [&](std::int64_t group, std::int64_t pixel, std::int32_t* sums) {
            for (const Meeting& each : meetings.of(pixel)) {
              const std::int64_t window = is_forward ? pixel : each.source;
              integer_loops().add_scaled(sums, source.at(group, each.source),
                                         factors_[static_cast<std::size_t>(window)], count);
            }
          });
    });
  }

  Meetings ahead_;
  Meetings back_;
  std::vector<std::int32_t> factors_;  // of every window
  RoundingPoint value_point_;
  RoundingPoint error_point_;
};

}  // namespace

std::unique_ptr<IntegerLayer> make_integer_average(const IntegerLayerSettings& settings) {
  const Picture& input = settings.inputs[0];
  SlidingWindow window{.kernel = {input.height, input.width}};
  bool counts_padding = true;
  if (const auto* pool = std::get_if<AveragePool>(&settings.node.op)) {
    window = {pool->kernel, pool->stride, pool->padding, {1, 1}};
    counts_padding = pool->counts_padding;
  }
  return std::make_unique<AverageLayer>(settings, window, counts_padding);
}

}  // namespace nibble
