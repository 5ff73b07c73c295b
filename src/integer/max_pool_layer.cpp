// SPDX-License-Identifier: Apache-2.0
// Max-pool: the first of equal values, in row-major order, passes, and takes the error.
#include <algorithm>
#include <cstring>

#include "integer/layer.h"
#include "integer/meetings.h"
#include "integer/round_pixels.h"
#include "nibble/core/parallel.h"
#include "nibble/kernels/integer_loops.h"

namespace nibble {
namespace {

constexpr std::size_t kGrain = 8;

template <class Body>
void for_each_pixel(const BlockTensor& tensor, const Body& body) {
  const std::int64_t pixels = tensor.picture.pixels();
  parallel_for(static_cast<std::size_t>(tensor.groups() * pixels), kGrain,
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) {
                   const auto at = static_cast<std::int64_t>(i);
                   body(at / pixels, at % pixels);
                 }
               });
}

class MaxPoolLayer final : public IntegerLayer {
 public:
  MaxPoolLayer(const IntegerLayerSettings& settings, const SlidingWindow& window)
      : ahead_(Meetings::forward(window, settings.inputs[0], settings.output)),
        back_(Meetings::backward(window, settings.inputs[0], settings.output)),
        error_point_(settings.error_point()) {}

  void forward(const IntegerForward& arguments) override {
    const BlockTensor& input = *arguments.inputs[0];
    const BlockTensor& output = arguments.output;
    arguments.output.exponent = input.exponent;
    places_.resize(static_cast<std::size_t>(output.bytes()));
    const auto bytes = static_cast<std::size_t>(output.picture.pixel_bytes());
    for_each_pixel(output, [&](std::int64_t group, std::int64_t pixel) {
      std::int8_t* best = output.at(group, pixel);
      std::uint8_t* place = places_.data() + (best - output.data);
      bool is_first = true;
      for (const Meeting& each : ahead_.of(pixel)) {
        const std::int8_t* from = input.at(group, each.source);
        const auto tap = static_cast<std::uint8_t>(each.tap);
        if (is_first) {
          std::memcpy(best, from, bytes);
          std::memset(place, tap, bytes);
        } else {
          integer_loops().take_larger(from, best, place, tap, bytes);
        }
        is_first = false;
      }
      if (is_first) std::memset(best, 0, bytes);
    });
  }

  void backward(const IntegerBackward& arguments) override {
    BlockTensor* target = arguments.input_errors[0];
    if (target == nullptr) return;
    const BlockTensor& error = arguments.output_error;
    const auto bytes = static_cast<std::size_t>(target->picture.pixel_bytes());
    const auto place_of = [&](const std::int8_t* from) {
      return places_.data() + (from - error.data);
    };
    if (back_.most() <= 1) {  // windows do not overlap
      target->exponent = error.exponent;
      for_each_pixel(*target, [&](std::int64_t group, std::int64_t pixel) {
        std::int8_t* to = target->at(group, pixel);
        if (back_.of(pixel).empty()) std::memset(to, 0, bytes);
        for (const Meeting& each : back_.of(pixel)) {
          const std::int8_t* from = error.at(group, each.source);
          integer_loops().give_back(from, place_of(from), static_cast<std::uint8_t>(each.tap), to,
                                    bytes);
        }
      });
      return;
    }
    const int shift = error_point_.round(arguments.pass.rule, *target, [&](const RoundingJob& job) {
      return round_pixels<std::int32_t>(
          job, *target, arguments.pass.first_image,
          [&](std::int64_t group, std::int64_t pixel, std::int32_t* sums) {
            for (const Meeting& each : back_.of(pixel)) {
              const std::int8_t* from = error.at(group, each.source);
              integer_loops().give_back_add(from, place_of(from),
                                            static_cast<std::uint8_t>(each.tap), sums, bytes);
            }
          });
    });
    target->exponent = error.exponent + shift;
  }

  std::vector<RoundingPoint*> error_points() override { return {&error_point_}; }

 private:
  Meetings ahead_;
  Meetings back_;
  RoundingPoint error_point_;
  std::vector<std::uint8_t> places_;  // the tap that passed
};

}  // namespace

std::unique_ptr<IntegerLayer> make_integer_max_pool(const IntegerLayerSettings& settings) {
  const auto& pool = std::get<MaxPool>(settings.node.op);
  const SlidingWindow window{pool.kernel, pool.stride, pool.padding, {1, 1}};
  if (window.taps() > 255)
    refuse_layer(settings.node, "a larger window", "one of at most 255 taps");
  return std::make_unique<MaxPoolLayer>(settings, window);
}

}  // namespace nibble
