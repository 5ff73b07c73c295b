// SPDX-License-Identifier: Apache-2.0
// What a range costs, from bins: squared error and divergence. And the cheapest one by dense
// search, both ends at once and then an end at a time.
#include "quantization/range.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace nibble::inline quantization {
namespace {

// The integer of x, in doubles.
double integer_of(double x, const QuantizationRange& range) {
  return std::clamp(std::round(x / static_cast<double>(range.step)),
                    static_cast<double>(range.grid.low), static_cast<double>(range.grid.high));
}

// ∫ from 0 to x of (t - step·m(t))² dt = m·step³ / 12 + r³ / 3 with m the integer of x and r = x -
// step·m: whole steps give step³ / 12 each, and past the ends m stays and r grows.
double error_integral(double x, const QuantizationRange& range) {
  const auto step = static_cast<double>(range.step);
  const double m = integer_of(x, range);
  const double r = x - step * m;
  return m * step * step * step / 12 + r * r * r / 3;
}

// The share of a stretch that lies above 0 times ln(1 + its middle there): nats to say how far.
double cut_cost(double low, double high) {
  if (high <= 0) return 0;
  const double inside = std::max(low, 0.0);
  const double share = high > low ? (high - inside) / (high - low) : 1;
  return share * std::log1p((inside + high) / 2);
}

// Spreads a bin over the cells of the integers: [k - 1/2, k + 1/2), of the first and the last
// integer the half inside.
void add_inside(std::vector<double>& mass, double count, double from, double to) {
  const auto last = static_cast<double>(mass.size() - 1);
  const double begin = std::max(from, 0.0);
  const double end = std::min(to, last);
  if (begin > end) return;
  const auto cell_of = [](double x) { return static_cast<std::size_t>(std::floor(x + 0.5)); };
  if (to == from) {
    mass[cell_of(begin)] += count;
    return;
  }
  for (std::size_t k = cell_of(begin); k < mass.size(); ++k) {
    const double low = std::max(begin, static_cast<double>(k) - 0.5);
    const double high = std::min(end, static_cast<double>(k) + 0.5);
    if (low >= end) return;
    mass[k] += count * (high - low) / (to - from);
  }
}

// Σ mass·β² / 24, the divergence of a density 1 + β·x, x in ±1/2, from an even one; β is the slope
// between the neighbours, and 2 at most, where the density reaches 0.
double flattened(const std::vector<double>& mass) {
  const std::size_t last = mass.size() - 1;
  const auto density = [&](std::size_t k) { return mass[k] * (k == 0 || k == last ? 2 : 1); };
  double sum = 0;
  for (std::size_t k = 0; k <= last; ++k) {
    if (mass[k] == 0) continue;
    const double rise = density(std::min(k + 1, last)) - density(k == 0 ? 0 : k - 1);
    const double slope = std::min(std::abs(rise) / (2 * density(k)), 2.0);
    sum += mass[k] * slope * slope / 24;
  }
  return sum;
}

constexpr int kCoarse = 128;     // candidates, 16 an octave
constexpr int kFine = 32;        // between the neighbours of the best
constexpr int kAffineTurns = 3;  // of both ends

// The share of the whole, 2^(-place / 16), that costs least.
double cheapest_share(const std::function<double(double share)>& cost) {
  double best_place = 0;
  double least = cost(1.0);
  const auto look_at = [&](double place) {
    const double each = cost(std::exp2(-place / 16));
    if (each < least) {
      least = each;
      best_place = place;
    }
  };
  for (int i = 1; i < kCoarse; ++i) look_at(i);
  const double around = best_place;
  for (int i = 0; i <= kFine; ++i) look_at(std::max(around - 1 + 2.0 * i / kFine, 0.0));
  return std::exp2(-best_place / 16);
}

}  // namespace

double squared_error(std::span<const ValueBin> bins, const QuantizationRange& range) {
  double sum = 0;
  for (const ValueBin& bin : bins) {
    const double width = bin.high - bin.low;
    double mean = 0;
    if (width > 0) {
      mean = (error_integral(bin.high, range) - error_integral(bin.low, range)) / width;
    } else {
      const double r = bin.low - static_cast<double>(range.step) * integer_of(bin.low, range);
      mean = r * r;
    }
    sum += static_cast<double>(bin.count) * mean;
  }
  return sum;
}

double divergence(std::span<const ValueBin> bins, const QuantizationRange& range) {
  const auto cells = static_cast<std::size_t>(range.grid.high - range.grid.low) + 1;
  const auto last = static_cast<double>(cells - 1);
  std::vector<double> mass(cells);
  double total = 0;
  double cut = 0;
  for (const ValueBin& bin : bins) {
    if (bin.low == 0 && bin.high == 0) continue;
    const auto count = static_cast<double>(bin.count);
    total += count;
    // In steps above the lowest integer.
    const double from =
        bin.low / static_cast<double>(range.step) - static_cast<double>(range.grid.low);
    const double to =
        bin.high / static_cast<double>(range.step) - static_cast<double>(range.grid.low);
    cut += count * (cut_cost(-to, -from) + cut_cost(from - last, to - last));
    add_inside(mass, count, from, to);
  }
  return total == 0 ? 0 : (cut + flattened(mass)) / total;
}

RealRange cheapest_range(const RealRange& whole, const GridChoice& choice, const RangeCost& cost) {
  const auto cost_of = [&](const RealRange& range) { return cost(to_step(range, choice)); };
  const double most = std::max(-whole.low, whole.high);
  const auto cut_at = [&](double share) -> RealRange {
    return {std::max(whole.low, -share * most), std::min(whole.high, share * most)};
  };
  RealRange range = cut_at(cheapest_share([&](double share) { return cost_of(cut_at(share)); }));
  if (choice.kind != GridKind::affine) return range;
  for (int turn = 0; turn < kAffineTurns; ++turn) {
    const RealRange before = range;
    if (whole.high > 0) {
      range.high = whole.high * cheapest_share([&](double share) {
                     return cost_of({range.low, share * whole.high});
                   });
    }
    if (whole.low < 0) {
      range.low = whole.low * cheapest_share([&](double share) {
                    return cost_of({share * whole.low, range.high});
                  });
    }
    if (range == before) break;
  }
  return range;
}

}  // namespace nibble::inline quantization
