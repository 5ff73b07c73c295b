// SPDX-License-Identifier: Apache-2.0
// Cholesky's factor, and the search along its rows.
#include "quantization/nearest_plane.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>

#include "nibble/core/error.h"
#include "nibble/core/parallel.h"

namespace nibble::inline quantization {
namespace {

constexpr std::size_t kPanel = 64;  // columns that all rows fill before the next
constexpr std::size_t kGrain = 16;

double dot(const double* a, const double* b, std::size_t count) {
  std::array<double, 8> lanes{};
  std::size_t i = 0;
  for (; i + lanes.size() <= count; i += lanes.size()) {
    for (std::size_t lane = 0; lane < lanes.size(); ++lane)
      lanes[lane] += a[i + lane] * b[i + lane];
  }
  double sum = std::accumulate(lanes.begin(), lanes.end(), 0.0);
  for (; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

// In place; each number is one sum in one order, whichever thread forms it.
void factorize(std::span<double> matrix, std::size_t order) {
  const auto fill = [&](std::size_t i, std::size_t first, std::size_t last) {
    double* row = &matrix[i * order];
    for (std::size_t j = first; j < std::min(last, i + 1); ++j) {
      const double* other = &matrix[j * order];
      const double rest = row[j] - dot(row, other, j);
      if (j == i && !(rest > 0)) {
        throw Error("quantize", "quadratic form", std::to_string(rest) + " as a pivot",
                    "a number above 0", ErrorKind::internal);
      }
      row[j] = j < i ? rest / other[j] : std::sqrt(rest);
    }
  };
  for (std::size_t first = 0; first < order; first += kPanel) {
    const std::size_t last = std::min(first + kPanel, order);
    for (std::size_t i = first; i < last; ++i) fill(i, first, last);
    parallel_for(order - last, kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) fill(last + i, first, last);
    });
  }
}

}  // namespace

NearestPlane::NearestPlane(std::span<const double> form, std::size_t order)
    : order_(order), places_(order), lower_(order * order) {
  std::iota(places_.begin(), places_.end(), std::size_t{0});
  std::ranges::stable_sort(places_, {}, [&](std::size_t i) { return form[i * order + i]; });
  for (std::size_t i = 0; i < order; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      const auto [low, high] = std::minmax(places_[i], places_[j]);
      lower_[i * order + j] = form[high * order + low];
    }
  }
  factorize(lower_, order);
}

std::vector<double> NearestPlane::solved(std::span<const double> y) const {
  std::vector<double> x(order_);
  for (std::size_t i = 0; i < order_; ++i) {
    const double* row = &lower_[i * order_];
    x[i] = (y[places_[i]] - dot(row, x.data(), i)) / row[i];
  }
  for (std::size_t i = order_; i-- > 0;) {
    const double* row = &lower_[i * order_];
    x[i] /= row[i];
    for (std::size_t j = 0; j < i; ++j) x[j] -= row[j] * x[i];
  }
  std::vector<double> result(order_);
  for (std::size_t i = 0; i < order_; ++i) result[places_[i]] = x[i];
  return result;
}

std::vector<float> NearestPlane::integers(std::span<const double> weights, float step,
                                          const IntegerGrid& grid) const {
  std::vector<float> chosen(order_);
  std::vector<double> behind(order_);  // of term i, what the errors after it add
  for (std::size_t i = order_; i-- > 0;) {
    const double* row = &lower_[i * order_];
    const double weight = weights[places_[i]];
    const double integer =
        std::clamp(std::round((weight + behind[i] / row[i]) / double{step}),
                   static_cast<double>(grid.low), static_cast<double>(grid.high));
    chosen[places_[i]] = static_cast<float>(integer);
    const double error = weight - double{step} * integer;
    for (std::size_t j = 0; j < i; ++j) behind[j] += row[j] * error;
  }
  return chosen;
}

}  // namespace nibble::inline quantization
