// SPDX-License-Identifier: Apache-2.0
// A format and a rounding lowered to the constants the vector kernels work with.
#include "kernels/quantize/plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace nibble::inline kernels {
namespace {

std::uint32_t bits_of(double x) {
  return std::bit_cast<std::uint32_t>(static_cast<float>(x));
}

std::uint32_t magnitude_bits_of(double x) {
  return bits_of(std::fabs(x)) & 0x7FFFFFFFU;
}

// Floats in numeric order as integers, so that a monotone function can be bisected.
float float_at(std::int64_t order) {
  return order >= 0 ? std::bit_cast<float>(static_cast<std::uint32_t>(order))
                    : -std::bit_cast<float>(static_cast<std::uint32_t>(-order));
}
std::int64_t order_of(float x) {
  const auto magnitude = static_cast<std::int64_t>(std::bit_cast<std::uint32_t>(std::fabs(x)));
  return std::signbit(x) ? -magnitude : magnitude;
}

}  // namespace

bool RoundProgram::lower(const FloatElement& f) {
  plan_.family = RoundPlan::Family::floating;
  const ElementInfo info = describe(element_);
  const int lowest_exponent = std::ilogb(info.min_normal);
  const int quantum_exponent = lowest_exponent - (f.has_subnormals ? f.mantissa_bits : 0);
  if (!info.quantizes_fp32 || lowest_exponent < -126 || quantum_exponent + 23 > 126) return false;
  FloatPlan& p = plan_.floating;
  p.dropped_bits = static_cast<std::uint32_t>(23 - f.mantissa_bits);
  p.keep_mask = ~((1U << p.dropped_bits) - 1);
  p.half_less_one = p.dropped_bits == 0 ? 0 : (1U << (p.dropped_bits - 1)) - 1;
  p.parity_mask = p.dropped_bits == 0 ? 0 : 1;
  p.has_mantissa = f.mantissa_bits > 0;
  p.parity_flip = !p.has_mantissa && ((f.bias - 127) & 1) != 0 ? 1 : 0;
  p.min_normal = bits_of(info.min_normal);
  p.small_dropped_bits = static_cast<std::uint32_t>(23 - (f.has_subnormals ? f.mantissa_bits : 0));
  p.small_quantum = std::ldexp(1.0F, quantum_exponent);
  p.small_magic = std::ldexp(1.0F, quantum_exponent + 23);
  const int random_bits = rounding_.random_bits;
  p.small_steps_per_one = quantum_exponent >= -126 ? std::ldexp(1.0F, -quantum_exponent) : 0;
  p.has_short_stochastic = p.dropped_bits > 0 && (f.has_subnormals || lowest_exponent > -126) &&
                           (quantum_exponent >= -126 || lowest_exponent == -126);
  p.draw_mask = random_bits == 32 ? ~0U : (1U << random_bits) - 1;
  p.draw_shift = random_bits - static_cast<int>(p.dropped_bits);
  p.smallest = f.has_zero ? 0 : p.min_normal;
  p.largest = bits_of(info.max);
  p.has_plain_sign = info.has_negative_zero;
  p.is_signed = f.is_signed;
  // The definition itself says what lies beyond the ends.
  const auto beyond = [&](double x, const Rounding& rounding) {
    return magnitude_bits_of(round_to(element_, x, rounding, overflow_, 0xFFFFFFFFU));
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  p.beyond = {beyond(4 * info.max, rounding_), beyond(-4 * info.max, rounding_)};
  p.infinite = {beyond(kInfinity, rounding_), beyond(-kInfinity, rounding_)};
  p.below_zero = f.is_signed ? 0 : beyond(-1, rounding_);
  return true;
}

bool RoundProgram::lower(const GridElement& g) {
  plan_.family = RoundPlan::Family::grid;
  const ElementInfo info = describe(element_);
  if (!info.quantizes_fp32 || g.fraction_bits > 126 || g.fraction_bits < -100) return false;
  GridPlan& p = plan_.grid;
  p.steps_per_one = std::ldexp(1.0F, g.fraction_bits);
  p.step = std::ldexp(1.0F, -g.fraction_bits);
  p.clamps = g.clamps;
  p.lowest = static_cast<float>(g.lowest_n() - zero_);
  p.highest = static_cast<float>(g.highest_n() - zero_);
  return true;
}

bool RoundProgram::lower(const PositElement& e) {
  plan_.family = RoundPlan::Family::posit;
  const ElementInfo info = describe(element_);
  if (!info.quantizes_fp32) return false;
  PositPlan& p = plan_.posit;
  p.binade_shift = static_cast<std::uint32_t>(23 + e.exponent_bits);
  p.base_cut = p.binade_shift - static_cast<std::uint32_t>(e.bits - 1);
  p.smallest = bits_of(info.min_positive);
  p.largest = bits_of(info.max);
  return true;
}

// Least fp32 value in (low, high] that the definition rounds to `high`: from the middle, where the
// threshold of a nearest rounding is, in doubling steps until it is enclosed, then by halves.
float RoundProgram::start_of(float low, float high) const {
  const auto reaches = [&](std::int64_t order) {
    return round_to(element_, static_cast<double>(float_at(order)), rounding_) ==
           static_cast<double>(high);
  };
  std::int64_t below = order_of(low);
  std::int64_t at = order_of(high);
  const auto middle =
      static_cast<float>((static_cast<double>(low) + static_cast<double>(high)) / 2);
  std::int64_t probe = order_of(middle);
  for (std::int64_t step = 1; probe > below && probe < at; step *= 2) {
    const bool is_past = reaches(probe);
    (is_past ? at : below) = probe;
    probe = is_past ? at - step : below + step;
  }
  while (at - below > 1) {
    probe = below + (at - below) / 2;
    (reaches(probe) ? at : below) = probe;
  }
  return float_at(at);
}

bool RoundProgram::lower(const CodebookElement& c) {
  plan_.family = RoundPlan::Family::table;
  TablePlan& p = plan_.table;
  const std::size_t entries = c.values.size();
  p.levels = std::max(4, static_cast<int>(std::bit_width(entries - 1)));
  const std::size_t padded = std::size_t{1} << p.levels;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  thresholds_.assign(padded, nan);
  toward_.assign(padded, c.values.back());
  away_.assign(padded, 0);
  inverse_width_.assign(padded, 0);
  p.thresholds = thresholds_.data();
  p.toward = toward_.data();
  p.away = away_.data();
  p.inverse_width = inverse_width_.data();
  p.first = c.values.front();
  p.last = c.values.back();
  std::copy(c.values.begin(), c.values.end(), toward_.begin());
  if (plan_.kind != RoundingKind::stochastic) {
    for (std::size_t i = 0; i + 1 < entries; ++i) {
      thresholds_[i] = start_of(c.values[i], c.values[i + 1]);
    }
    return true;
  }
  // Cell i lies between entries i and i+1; the last entry belongs to the last cell.
  for (std::size_t i = 0; i + 1 < entries; ++i) {
    const float low = c.values[i];
    const float high = c.values[i + 1];
    if (i + 2 < entries) thresholds_[i] = high;
    const bool low_is_toward = std::fabs(low) <= std::fabs(high);
    toward_[i] = low_is_toward ? low : high;
    away_[i] = low_is_toward ? high : low;
    inverse_width_[i] = 1.0F / (away_[i] - toward_[i]);
    if (!std::isnormal(inverse_width_[i])) return false;
  }
  return true;
}

std::unique_ptr<const RoundProgram> RoundProgram::make(const Format& format, int zero,
                                                       const Rounding& rounding,
                                                       Overflow overflow) {
  // Under a shared exponent an element far below the others may underflow before it is rounded;
  // that changes nothing while the smallest step is this large.
  const ElementInfo info = describe(format.element);
  if (format.scaling.kind == ScaleKind::power_of_two &&
      (info.min_positive < 0x1p-90 || info.max < 1)) {
    return nullptr;
  }
  std::unique_ptr<RoundProgram> program(new RoundProgram);
  program->element_ = format.element;
  program->zero_ = zero;
  program->rounding_ = rounding;
  program->overflow_ = overflow;
  RoundPlan& plan = program->plan_;
  plan.mode = rounding.mode;
  plan.random_bits = rounding.random_bits;
  plan.kind = rounding.is_stochastic()                      ? RoundingKind::stochastic
              : rounding.mode == RoundingMode::nearest_even ? RoundingKind::nearest_even
                                                            : RoundingKind::deterministic;
  plan.program = program.get();
  plan.nearest = &plan;
  if (plan.kind != RoundingKind::nearest_even) {
    program->nearest_ = make(format, zero, {}, overflow);
    if (program->nearest_ == nullptr) return nullptr;
    plan.nearest = &program->nearest_->plan();
  }
  const bool lowered =
      std::visit([&](const auto& element) { return program->lower(element); }, format.element);
  return lowered ? std::unique_ptr<const RoundProgram>(std::move(program)) : nullptr;
}

std::shared_ptr<const RoundProgram> RoundProgram::remembered(const Format& format, int zero,
                                                             const Rounding& rounding,
                                                             Overflow overflow) {
  struct Entry {
    Format format;
    int zero = 0;
    Rounding rounding;
    Overflow overflow = Overflow::native;
    std::shared_ptr<const RoundProgram> program;
  };
  constexpr std::size_t kEntries = 8;
  thread_local std::vector<Entry> entries;
  thread_local std::size_t next = 0;
  for (const Entry& e : entries) {
    if (e.zero == zero && e.rounding == rounding && e.overflow == overflow && e.format == format) {
      return e.program;
    }
  }
  Entry entry{format, zero, rounding, overflow, make(format, zero, rounding, overflow)};
  if (entries.size() < kEntries) {
    entries.push_back(std::move(entry));
    return entries.back().program;
  }
  entries[next] = std::move(entry);
  const auto program = entries[next].program;
  next = (next + 1) % kEntries;
  return program;
}

float RoundProgram::define(float y, std::uint32_t draw) const {
  return static_cast<float>(round_to(element_, static_cast<double>(y), rounding_, overflow_, draw));
}

std::optional<BlockPlan> make_block_plan(const Format& format) {
  const Scaling& s = format.scaling;
  if (s.kind == ScaleKind::none || s.kind == ScaleKind::given || s.kind == ScaleKind::minmax) {
    return std::nullopt;
  }
  const ElementInfo info = describe(format.element);
  static const auto kE4m3 = RoundProgram::make(parse_format("e4m3"), 0, {}, Overflow::native);
  BlockPlan plan;
  plan.block_scale = &kE4m3->plan();
  plan.kind = s.kind;
  plan.block = static_cast<std::size_t>(std::max(s.block, 1));
  plan.element_max = static_cast<float>(info.max);
  if (s.tensor_scale != 0) plan.tensor_scale = s.tensor_scale;
  if (s.kind == ScaleKind::power_of_two) {
    const int top = std::ilogb(info.max);
    plan.exponent_offset = 127 + top;
    switch (s.rule) {
      case ScaleRule::floor:
        break;
      case ScaleRule::ceil:
        plan.exponent_round = 0x7FFFFF;
        break;
      case ScaleRule::even: {
        // Half a unit of the element's precision: the carry decides, ties included, because the
        // value before a carry has an odd last bit.
        const auto* f = std::get_if<FloatElement>(&format.element);
        const int fraction = f != nullptr ? f->mantissa_bits : top - std::ilogb(info.min_positive);
        if (fraction < 23) plan.exponent_round = 1U << (22 - fraction);
        break;
      }
      case ScaleRule::rceil:
        plan.exponent_round = 0x7FFFFF - (bits_of(info.max) & 0x7FFFFF);
        break;
    }
  }
  return plan;
}

}  // namespace nibble::inline kernels
