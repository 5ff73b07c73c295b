// SPDX-License-Identifier: Apache-2.0
// How far a quantized tensor is from the original.
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/quantize/group_scales.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"
#include "nibble/kernels/quantize.h"

namespace nibble::inline kernels {
namespace {

constexpr std::size_t kErrorsAtOnce = std::size_t{1} << 14;

struct Sums {
  double signal = 0;
  double noise = 0;
  double absolute = 0;
  double bias = 0;
  double largest = 0;
  std::int64_t non_finite = 0;
  std::int64_t saturated = 0;
  std::int64_t flushed = 0;

  void add(float x, float q, double low_end, double high_end) {
    if (!std::isfinite(x)) {
      ++non_finite;
      return;
    }
    const double error = static_cast<double>(q) - static_cast<double>(x);
    signal += static_cast<double>(x) * static_cast<double>(x);
    noise += error * error;
    absolute += std::fabs(error);
    bias += error;
    largest = std::max(largest, std::fabs(error));
    // Infinite results are beyond the ends too.
    saturated += (x > q && q == high_end) || (x < q && q == low_end) || std::isinf(q) ? 1 : 0;
    flushed += x != 0 && q == 0 ? 1 : 0;
  }

  void add(const Sums& other) {
    signal += other.signal;
    noise += other.noise;
    absolute += other.absolute;
    bias += other.bias;
    largest = std::max(largest, other.largest);
    non_finite += other.non_finite;
    saturated += other.saturated;
    flushed += other.flushed;
  }
};

}  // namespace

ErrorStatistics error_statistics(ConstTensorView input, ConstTensorView quantized,
                                 const Format& format, const QuantizeOptions& options) {
  if (input.shape() != quantized.shape()) {
    throw Error("statistics", "shape of the quantized tensor", quantized.shape().to_string(),
                input.shape().to_string());
  }
  const std::span<const float> x = input.as<float>();
  const std::span<const float> q = quantized.as<float>();
  const Grouping grouping = grouping_of(input.shape(), format.scaling);
  const GroupScales scales = group_scales(x, format, grouping, options);
  const ElementInfo info = describe(format.element);
  const auto* grid = std::get_if<GridElement>(&format.element);
  const auto end_of = [&](double element_end, const GroupScale& group) {
    const double moved = grid == nullptr ? element_end : element_end - group.zero * grid->step();
    return static_cast<double>(static_cast<float>(moved * static_cast<double>(group.scale)));
  };

  std::vector<Sums> chunks((x.size() + kErrorsAtOnce - 1) / kErrorsAtOnce);
  parallel_for(x.size(), kErrorsAtOnce, [&](std::size_t begin, std::size_t end) {
    Sums& sums = chunks[begin / kErrorsAtOnce];
    for (std::size_t i = begin; i < end; ++i) {
      const GroupScale& group =
          scales.groups[static_cast<std::size_t>(grouping.group_of(static_cast<std::int64_t>(i)))];
      sums.add(x[i], q[i], end_of(info.lowest, group), end_of(info.max, group));
    }
  });
  Sums total;
  for (const Sums& sums : chunks) total.add(sums);

  const auto count =
      static_cast<double>(std::max<std::int64_t>(input.elements() - total.non_finite, 1));
  ErrorStatistics result;
  result.elements = input.elements();
  result.non_finite = total.non_finite;
  result.sqnr_db = total.noise == 0 ? std::numeric_limits<double>::infinity()
                                    : 10 * std::log10(total.signal / total.noise);
  result.max_abs_error = total.largest;
  result.mean_abs_error = total.absolute / count;
  result.mean_error = total.bias / count;
  result.share_saturated = static_cast<double>(total.saturated) / count;
  result.share_flushed = static_cast<double>(total.flushed) / count;
  return result;
}

}  // namespace nibble::inline kernels
