// SPDX-License-Identifier: Apache-2.0
// Dense search, both ends at once and then an end at a time.
#include "quantize/range_search.h"

#include <algorithm>
#include <cmath>

namespace nibble {
namespace {

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

}  // namespace nibble
