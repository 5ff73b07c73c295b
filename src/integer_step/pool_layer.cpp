// SPDX-License-Identifier: Apache-2.0
// Pools: the largest of a window, or its mean.
#include <algorithm>
#include <optional>

#include "integer_step/layer.h"
#include "laws/integer_laws.h"

namespace nibble::inline integer_step {
namespace {

constexpr std::int64_t kMostFactors = std::int64_t{1} << 24;  // 127 times it fits 32 bits
constexpr std::int64_t kMostTaps = 255;                       // a mark is a byte

PoolCase pool_of(const IntegerLayerSettings& settings) {
  PoolCase pool{.input = settings.inputs[0], .output = settings.output};
  if (const auto* largest = std::get_if<MaxPool>(&settings.node.op)) {
    pool.window = {largest->kernel, largest->stride, largest->padding, {1, 1}};
    pool.is_rectified = settings.is_rectified;
    return pool;
  }
  pool.kind = PoolCase::Kind::mean;
  pool.window = {.kernel = {pool.input.height, pool.input.width}};
  if (const auto* mean = std::get_if<AveragePool>(&settings.node.op)) {
    pool.window = {mean->kernel, mean->stride, mean->padding, {1, 1}};
    pool.counts_padding = mean->counts_padding;
  }
  return pool;
}

// Calls body(place of the input) for what window (oy, ox) covers.
template <class Body>
void for_each_covered(const PoolCase& pool, std::int64_t oy, std::int64_t ox, const Body& body) {
  const SlidingWindow& window = pool.window;
  const std::int64_t top = oy * window.stride.y - window.padding.y;
  const std::int64_t left = ox * window.stride.x - window.padding.x;
  for (std::int64_t y = std::max<std::int64_t>(top, 0);
       y < std::min(top + window.kernel.y, pool.input.height); ++y) {
    for (std::int64_t x = std::max<std::int64_t>(left, 0);
         x < std::min(left + window.kernel.x, pool.input.width); ++x)
      body(static_cast<std::size_t>(y * pool.input.width + x));
  }
}

// The largest sum of factors that meet in one place on the way back.
std::int64_t most_factors(const PoolCase& pool) {
  std::vector<std::int64_t> sums(static_cast<std::size_t>(pool.input.pixels()));
  for (std::int64_t oy = 0; oy < pool.output.height; ++oy) {
    for (std::int64_t ox = 0; ox < pool.output.width; ++ox) {
      std::int64_t there = 0;
      for_each_covered(pool, oy, ox, [&](std::size_t) { ++there; });
      const std::int64_t factor =
          mean_factor(pool.counts_padding ? pool.window.taps() : std::max<std::int64_t>(there, 1));
      for_each_covered(pool, oy, ox, [&](std::size_t place) { sums[place] += factor; });
    }
  }
  return *std::ranges::max_element(sums);
}

class PoolLayer final : public IntegerLayer {
 public:
  PoolLayer(const IntegerLayerSettings& settings, const PoolCase& pool)
      : name_(settings.node.name),
        case_(pool),
        place_(settings.place),
        error_point_(settings.error_point()) {
    ahead_ = place_.forward->pool(pool);
    if (place_.input_error != place_.forward) back_ = place_.input_error->pool(pool);
    if (pool.kind == PoolCase::Kind::mean) value_points_ = {settings.value_point()};
  }

  void forward(const StepContext& step, std::span<const Values> inputs,
               const Values& output) override {
    if (case_.keeps_marks()) marks_ = marks_on(*place_.forward, output.images);
    ahead_->forward(inputs[0], value_points_.empty() ? ShiftPoint{} : value_points_[0].point,
                    marks_, output);
    if (!step.is_training) marks_.memory.release();
    if (step.is_training && back_ != nullptr && case_.keeps_marks()) {
      flight_ = place_.wire->depart(name_ + ".marks", *place_.forward, marks_, *place_.input_error);
      marks_.memory.release();
    }
  }

  void backward(const IntegerBackward& arguments) override {
    if (arguments.input_errors[0].memory.is_empty()) return;
    if (flight_) {
      marks_ = marks_on(*place_.input_error, marks_.images);
      place_.wire->arrive(*flight_, *place_.input_error, marks_);
      flight_.reset();
    }
    (back_ != nullptr ? *back_ : *ahead_)
        .input_error(arguments.error, marks_, error_point_.point, arguments.input_errors[0]);
    marks_.memory.release();
  }

  int sum_exponent(std::span<const int> inputs) const override {
    return case_.kind == PoolCase::Kind::mean ? inputs[0] - kMeanBits : inputs[0];
  }
  std::vector<PlacedPoint> value_points() const override { return value_points_; }
  std::vector<PlacedPoint> error_points() const override { return {error_point_}; }

 private:
  Values marks_on(IntegerBackend& backend, std::int64_t images) const {
    return {.picture = case_.output,
            .images = images,
            .memory = backend.take(case_.output, images, ValueStorage::u8),
            .storage = ValueStorage::u8};
  }

  std::string name_;
  PoolCase case_;
  LayerPlace place_;
  PlacedPoint error_point_;
  std::unique_ptr<PoolOp> ahead_;
  std::unique_ptr<PoolOp> back_;  // null: the same one
  std::vector<PlacedPoint> value_points_;
  Values marks_;
  std::optional<Flight> flight_;  // of the marks, where errors go back elsewhere
};

}  // namespace

std::unique_ptr<IntegerLayer> make_integer_pool(const IntegerLayerSettings& settings) {
  const PoolCase pool = pool_of(settings);
  if (pool.kind == PoolCase::Kind::largest && pool.window.taps() > kMostTaps)
    refuse_layer(settings.node, "a larger window", "one of at most 255 taps");
  if (pool.kind == PoolCase::Kind::mean && most_factors(pool) > kMostFactors)
    refuse_layer(settings.node, "windows that nearly all overlap", "fewer over one pixel");
  return std::make_unique<PoolLayer>(settings, pool);
}

}  // namespace nibble::inline integer_step
