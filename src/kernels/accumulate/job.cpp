// SPDX-License-Identifier: Apache-2.0
// Decides which accumulators have a meaning and which of them the vector algorithm covers, and
// prepares its constants.
#include "kernels/accumulate/job.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "nibble/core/error.h"

namespace nibble::inline kernels::accumulation {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Rounding kNearest = {.mode = RoundingMode::nearest_even};

// Without a mantissa bit ties follow the parity of the exponent, which lanes do not look at.
bool is_covered(const FloatElement& f) {
  return f.is_signed && f.has_zero && f.mantissa_bits > 0;
}
// Unclamped, a value of 2^52 steps is kept as it is.
bool is_covered(const GridElement& g) {
  return g.clamps;
}
bool is_covered(const PositElement&) {
  return false;
}
bool is_covered(const CodebookElement&) {
  return false;
}

bool is_covered(const Element& element) {
  return std::visit([](const auto& e) { return is_covered(e); }, element);
}

int lowest_bit(const Element& element) {
  if (const auto* grid = std::get_if<GridElement>(&element)) return -grid->fraction_bits;
  const auto& f = std::get<FloatElement>(element);
  return 1 - f.bias - f.mantissa_bits;
}

int bits_above(const Element& element) {
  const ElementInfo info = describe(element);
  return std::ilogb(std::max(info.max, -info.lowest)) + 1;
}

LaneElement lane_element(const Element& element, const Rounding& rounding, Overflow overflow) {
  const ElementInfo info = describe(element);
  LaneElement lanes;
  if (const auto* f = std::get_if<FloatElement>(&element)) {
    lanes.mantissa_bits = f->mantissa_bits;
    lanes.least_scale = info.min_normal;
    lanes.most_scale = kInfinity;
    if (!f->has_subnormals) {
      lanes.flushes_below = info.min_normal;
      lanes.flushed_scale = std::ldexp(info.min_normal, f->mantissa_bits);
    }
  } else {
    lanes.least_scale = std::get<GridElement>(element).step();
    lanes.most_scale = lanes.least_scale;
  }
  lanes.highest = info.max;
  lanes.lowest = info.lowest;
  // The definition says what lies beyond; the mode matters (toward zero stops at the largest
  // value), the draw does not: 2^600 and its negative are beyond every element and exact.
  lanes.above = round_to(element, 0x1p600, rounding, overflow);
  lanes.below = round_to(element, -0x1p600, rounding, overflow);
  lanes.above_infinite = round_to(element, kInfinity, rounding, overflow);
  lanes.below_infinite = round_to(element, -kInfinity, rounding, overflow);
  lanes.zero = std::signbit(round_to(element, -0.0, kNearest, overflow)) ? -0.0 : 0.0;
  return lanes;
}

bool is_fast_float(const Element& element) {
  const auto* f = std::get_if<FloatElement>(&element);
  return f != nullptr && f->has_subnormals && describe(element).has_negative_zero;
}

std::optional<LaneRounding> lane_rounding(const Rounding& rounding, const Element& product,
                                          const Element& sum) {
  switch (rounding.mode) {
    case RoundingMode::nearest_even:
      return is_fast_float(product) && is_fast_float(sum) ? LaneRounding::nearest_float
                                                          : LaneRounding::nearest;
    case RoundingMode::toward_zero:
      return LaneRounding::toward_zero;
    case RoundingMode::stochastic:
      return LaneRounding::stochastic;
    default:
      return std::nullopt;
  }
}

// Whether the double nearest to the sum of two values of the elements rounds as the exact sum does.
bool plain_sums_suffice(const Element& product, const Element& sum, RoundingMode mode) {
  // Exact: all values are multiples of 2^low below 2^high, their sums below 2^(high + 1).
  const int low = std::min(lowest_bit(product), lowest_bit(sum));
  const int high = std::max(bits_above(product), bits_above(sum));
  if (high + 1 - low <= 53) return true;
  // To nearest, with products no longer than sums (Figueroa, 1995): an inexact sum in [2^e,
  // 2^(e+1)) has one operand below 2^(e-28), so a midpoint within 2^(e-53) of it could only be the
  // other operand itself, and that one is too short to be a midpoint.
  return mode == RoundingMode::nearest_even && std::holds_alternative<FloatElement>(product) &&
         std::holds_alternative<FloatElement>(sum) &&
         describe(product).precision_bits <= describe(sum).precision_bits;
}

void check_format(const Format& format, const Accumulator& accumulator) {
  check(format.element);
  if (format.scaling.kind != ScaleKind::none) {
    throw Error("matmul", "format of an accumulator", to_string(format), "one without scaling");
  }
  check_combination(format, accumulator.rounding, accumulator.overflow);
}

}  // namespace

void check_accumulator(const Accumulator& accumulator) {
  const SumMethod method = accumulator.method;
  check_format(accumulator.format, accumulator);
  if (method == SumMethod::separate || method == SumMethod::kahan) {
    check_format(accumulator.product_format, accumulator);
  }
  if (accumulator.chunk < 0) {
    throw Error("matmul", "chunk length", std::to_string(accumulator.chunk), "0 or more");
  }
  const bool is_serial = method == SumMethod::fused || method == SumMethod::kahan;
  if (accumulator.order == SumOrder::pairwise && is_serial) {
    throw Error("matmul", "order of a fused or compensated sum", "pairwise", "sequential");
  }
}

std::optional<Job> make_job(const Operands& operands, float* c, const Accumulator& accumulator) {
  if (accumulator.method == SumMethod::quire) return std::nullopt;
  const Element& sum = accumulator.format.element;
  const bool rounds_products = accumulator.method != SumMethod::fused;
  const Element& product = rounds_products ? accumulator.product_format.element : sum;
  if (!is_covered(product) || !is_covered(sum)) return std::nullopt;
  const std::optional<LaneRounding> rounding = lane_rounding(accumulator.rounding, product, sum);
  if (!rounding) return std::nullopt;
  return Job{.operands = operands,
             .c = c,
             .chunk = chunk_length(accumulator, operands.inner),
             .method = accumulator.method,
             .order = accumulator.order,
             .rounding = *rounding,
             .plain_sums = plain_sums_suffice(product, sum, accumulator.rounding.mode),
             .product = lane_element(product, accumulator.rounding, accumulator.overflow),
             .sum = lane_element(sum, accumulator.rounding, accumulator.overflow),
             .random = accumulator.random,
             .random_bits = accumulator.rounding.random_bits,
             .draws_per_output = draws_per_output(accumulator, operands.inner)};
}

}  // namespace nibble::inline kernels::accumulation
