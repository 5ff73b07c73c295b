// SPDX-License-Identifier: Apache-2.0
// From the values of a layer to the range that its integers should span.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "graph/fake_quantize.h"
#include "nibble/quantization/settings.h"
#include "quantization/histogram.h"

namespace nibble::inline quantization {

struct RealRange {
  double low = 0;
  double high = 0;
  bool operator==(const RealRange&) const = default;
};

// Which integers a layer's values become, less their zero point.
enum class GridKind : std::uint8_t {
  positive,   // 0 … 2^bits - 1: what is negative becomes 0
  symmetric,  // ±(2^(bits - 1) - 1)
  affine,     // 2^bits of them, 0 among them
};

struct GridChoice {
  GridKind kind = GridKind::positive;
  int bits = 8;
  bool operator==(const GridChoice&) const = default;
};

struct QuantizationRange {
  float step = 1;
  IntegerGrid grid;
  bool operator==(const QuantizationRange&) const = default;
};

// The grid that spans the range, which is widened to hold 0; 0.0 is always an integer of it, an
// affine end may move by half a step for that. A range without extent gives the step of a range
// that reaches 1: any step is right for a layer of zeros, this one keeps rescale factors moderate.
QuantizationRange to_step(const RealRange& range, const GridChoice& choice);

// Ranges of batches, averaged: the plain mean of the first ten, later ones count a tenth each. The
// one observer for which the order of batches matters.
class MovingRange {
 public:
  void add(const RealRange& batch);
  const RealRange& range() const { return range_; }

 private:
  RealRange range_;
  std::int64_t batches_ = 0;
};

// What calibration gathers of one layer.
struct ValueObserver {
  ValueHistogram histogram;
  MovingRange average;

  void add(std::span<const float> batch);
};

// max: all values fit. percentile: P % of them do (of their magnitudes for symmetric grids; each
// end by itself for affine ones), or all where that is no more than 0. entropy: the least
// divergence among ranges whose steps are no finer than the bins of the histogram: in finer ones no
// loss would be seen. mse: the least expected (x - fake_quantized(x))². Both try 160 values of an
// end. average: what MovingRange has. A layer of zeros alone has the range 0 to 0.
RealRange range_of(const ValueObserver& observer, const RangeMethod& method,
                   const GridChoice& choice);

// Σ (x - fake_quantized(x))² with the values spread evenly inside each bin.
double squared_error(std::span<const ValueBin> bins, const QuantizationRange& range);

// What the integers do not say of the values, in nats a value. Inside the range: the
// Kullback-Leibler divergence of a density that is linear in the cell of each integer from one that
// is even there. What lies outside by d steps costs ln(1 + d). A single value that holds much of
// the mass, as backgrounds of pictures give, costs nothing by itself: where in its cell it lies is
// no matter. Zeros are left out: every range has them exactly, and after a ReLU they would drown
// the rest.
double divergence(std::span<const ValueBin> bins, const QuantizationRange& range);

using RangeCost = std::function<double(const QuantizationRange& range)>;

// Cuts the range at magnitudes in steps of 1/16 octave down to 1/256 of the largest, then looks
// closer around the best; of equal costs the widest wins. After that the ends of an affine range
// take turns: alone they would not find the way where both are outliers.
RealRange cheapest_range(const RealRange& whole, const GridChoice& choice, const RangeCost& cost);

}  // namespace nibble::inline quantization
