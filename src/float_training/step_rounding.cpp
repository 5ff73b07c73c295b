// SPDX-License-Identifier: Apache-2.0
// Rounding to multiples of a step, in loops that compilers turn into vectors.
#include "float_training/step_rounding.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace nibble::inline float_training {
namespace {

// Below it x + 1.5·2^23 is rounded to an integer.
constexpr std::int64_t kMostQuick = std::int64_t{1} << 22;
constexpr float kShifter = 12582912.0F;

struct WideRound {
  float operator()(float x) const { return std::round(x); }
};

// std::round for |x| <= 2^22. To the nearest even first, exactly; then ties that went toward zero
// go away from it. Choices are between constants: an addition in a branch would keep vectors away.
struct QuickRound {
  float operator()(float x) const {
    const float even = (x + kShifter) - kShifter;
    const float more = x - even == std::copysign(0.5F, x) ? 1.0F : 0.0F;
    return std::copysign(even + std::copysign(more, x), x);  // -0.3 gives -0
  }
};

template <class Body>
auto with_round(const IntegerGrid& grid, const Body& body) {
  const bool is_quick = -grid.low < kMostQuick && grid.high < kMostQuick;
  return is_quick ? body(QuickRound{}) : body(WideRound{});
}

// NaN stays NaN.
float clamped(float x, float low, float high) {
  const float raised = x < low ? low : x;
  return raised > high ? high : raised;
}

template <class Round>
void forward(const float* x, std::size_t count, float step, float low, float high,
             const Round& round, float* y) {
#pragma omp simd  // y may be x
  for (std::size_t i = 0; i < count; ++i) {
    const float near = clamped(x[i] / step, low - 1.0F, high + 1.0F);
    y[i] = step * clamped(round(near), low, high);
  }
}

constexpr std::size_t kChunk = 1024;  // that float sums are good enough for

// The way back of one chunk, in loops of one thought each, which stay in the first cache.
struct Back {
  float step, low, high;

  template <class Round>
  float chunk(const float* x, const float* dy, std::size_t count, const Round& round,
              float* dx) const {
    std::array<float, kChunk> quotient;
    std::array<float, kChunk> slope;
    for (std::size_t i = 0; i < count; ++i) quotient[i] = x[i] / step;
    for (std::size_t i = 0; i < count; ++i) slope[i] = round(clamped(quotient[i], low, high));
    for (std::size_t i = 0; i < count; ++i) slope[i] -= where_inside(quotient[i], quotient[i]);
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t i = 0; i < count; ++i) sum += dy[i] * slope[i];
    if (dx == nullptr) return sum;
#pragma omp simd  // dx may be dy
    for (std::size_t i = 0; i < count; ++i) dx[i] = where_inside(quotient[i], dy[i]);
    return sum;
  }

  float where_inside(float quotient, float value) const {
    const float above = quotient >= low ? value : 0.0F;
    return quotient <= high ? above : 0.0F;
  }
};

}  // namespace

void round_to_steps(std::span<const float> x, float step, const IntegerGrid& grid, float* y) {
  with_round(grid, [&](auto round) {
    forward(x.data(), x.size(), step, static_cast<float>(grid.low), static_cast<float>(grid.high),
            round, y);
  });
}

double pass_back_steps(std::span<const float> x, const float* dy, float step,
                       const IntegerGrid& grid, float* dx) {
  const Back back{
      .step = step, .low = static_cast<float>(grid.low), .high = static_cast<float>(grid.high)};
  return with_round(grid, [&](auto round) {
    double sum = 0;
    for (std::size_t begin = 0; begin < x.size(); begin += kChunk) {
      const std::size_t count = std::min(kChunk, x.size() - begin);
      float* to = dx != nullptr ? dx + begin : nullptr;
      sum += static_cast<double>(back.chunk(x.data() + begin, dy + begin, count, round, to));
    }
    return sum;
  });
}

double step_gradient_factor(std::int64_t elements, const IntegerGrid& grid) {
  const std::int64_t most = grid.high > 0 ? grid.high : -grid.low;
  return 1 / std::sqrt(static_cast<double>(elements) * static_cast<double>(most));
}

}  // namespace nibble::inline float_training
