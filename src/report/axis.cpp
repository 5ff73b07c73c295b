// SPDX-License-Identifier: Apache-2.0
// Axes with round ticks.
#include "report/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace nibble::inline report {
namespace {

constexpr double kMost = std::numeric_limits<double>::max();

// 1, 2 or 5 times a power of ten, at least `least`.
double round_step(double least) {
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

}  // namespace

std::string short_number(double value) {
  if (value == 0) return "0";  // also -0
  std::string text = fmt::format("{:.6g}", value);
  const std::size_t exponent = text.find('e');
  if (exponent == std::string::npos) return text;
  return fmt::format("{}e{}", text.substr(0, exponent), std::stoi(text.substr(exponent + 1)));
}

Axis::Axis(double low, double high, const AxisOptions& options)
    : low_(low), high_(high), is_log_(options.is_log) {
  // Room for a single value; a range too small for its own digits counts as one.
  const double size = std::max(std::abs(low), std::abs(high));
  if (is_log_) {
    if (!(high_ > low_ * 1.0001)) {
      low_ /= 2;
      high_ *= 2;
    }
    add_decades(options);
    return;
  }
  if (!(high_ - low_ > size * 1e-9)) {
    const double least = options.is_whole || size == 0 ? 1 : std::numeric_limits<double>::min();
    const double room = options.is_whole ? size * 1e-6 : size * 0.05;
    low_ -= std::max(room, least);
    high_ += std::max(room, least);
  }
  low_ = std::max(low_, -kMost);
  high_ = std::min(high_, kMost);
  add_linear_ticks(options);
}

void Axis::add_linear_ticks(const AxisOptions& options) {
  // Divided first: the difference of the ends may be too large for a double.
  double step = round_step(high_ / options.most_ticks - low_ / options.most_ticks);
  if (options.is_whole) step = std::max(step, 1.0);
  if (!(step > 0)) return;
  const double first = std::ceil(low_ / step - 1e-9);
  const double last = std::floor(high_ / step + 1e-9);
  for (int i = 0; i <= 2 * options.most_ticks && first + i <= last; ++i) {
    const double value = (first + i) * step;
    ticks_.push_back({.value = value, .label = short_number(value)});
  }
}

void Axis::add_decades(const AxisOptions& options) {
  const double low = std::log10(low_);
  const double high = std::log10(high_);
  const bool is_long = high - low > 2;  // a shorter one has ticks inside its decades
  const double first = is_long ? std::ceil(low - 1e-9) : std::floor(low);
  const double every = is_long ? std::ceil((std::floor(high) - first + 1) / options.most_ticks) : 1;
  for (double exponent = first; exponent <= high; exponent += std::max(every, 1.0)) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor > 1 && is_long) continue;
      const double value = factor * std::pow(10.0, exponent);
      if (value < low_ * (1 - 1e-9) || value > high_ * (1 + 1e-9)) continue;
      ticks_.push_back({.value = value, .label = short_number(value)});
    }
  }
}

double Axis::share(double value) const {
  if (is_log_) {  // of logarithms, because a quotient of the ends could overflow
    return (std::log(value) - std::log(low_)) / (std::log(high_) - std::log(low_));
  }
  return (value / 2 - low_ / 2) / (high_ / 2 - low_ / 2);
}

}  // namespace nibble::inline report
