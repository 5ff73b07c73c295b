// SPDX-License-Identifier: Apache-2.0
// Learning rates of the rule "sgd".
#include "integer_training/rate_course.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "laws/half_cosine.h"
#include "laws/integer_division.h"
#include "laws/sgd_step.h"
#include "nibble/core/error.h"

namespace nibble::inline integer_training {
namespace {

constexpr int kEpochBits = 16;

// The nearest integer to x·2^bits, halves away from zero.
std::int64_t fixed(double x, int bits) {
  return std::llround(std::ldexp(x, bits));
}

std::int64_t share_from(double x) {
  return fixed(x, kShareBits);
}

// Where a step stands, in units of 2^-16 epochs.
struct CourseTime {
  std::int64_t now;
  std::int64_t whole;  // epochs done
  std::int64_t end;
  std::int64_t warm_up;
};

std::int64_t product_of_shares(std::int64_t a, std::int64_t b) {
  return a * b >> kShareBits;
}

// From `low`, where `share` is 0, to 1.
std::int64_t rise(std::int64_t low, std::int64_t share) {
  return low + product_of_shares(kWholeShare - low, share);
}

std::int64_t passed(std::int64_t part, std::int64_t whole) {
  return share_of(std::clamp<std::int64_t>(part, 0, whole), whole, kShareBits);
}

ScaledInteger of_share(const ScaledInteger& base, std::int64_t share) {
  return product_of(base, rounded_to({share, -kShareBits}, kScaledBits));
}

ScaledInteger rate_of(const ConstantRate&, const ScaledInteger& base, const CourseTime&) {
  return base;
}

ScaledInteger rate_of(const StepRate& s, ScaledInteger base, const CourseTime& time) {
  for (const double milestone : s.milestones) {
    if (fixed(milestone, kEpochBits) <= time.now) base = product_of(base, scaled_of(s.factor));
  }
  return base;
}

ScaledInteger rate_of(const ListedRate& s, ScaledInteger base, const CourseTime& time) {
  for (const auto& [epoch, rate] : s.values) {
    if (fixed(epoch, kEpochBits) <= time.now) base = scaled_of(rate);
  }
  return base;
}

ScaledInteger rate_of(const CosineRate& s, const ScaledInteger& base, const CourseTime& time) {
  if (time.end <= time.warm_up) return base;
  const std::int64_t t =
      passed((s.is_by_epoch ? time.whole : time.now) - time.warm_up, time.end - time.warm_up);
  return of_share(base, rise(share_from(s.floor), half_cosine(t)));
}

ScaledInteger rate_of(const LinearRate& s, const ScaledInteger& base, const CourseTime& time) {
  const std::int64_t length =
      s.over > 0 ? std::max<std::int64_t>(fixed(s.over, kEpochBits), 1) : time.end;
  const std::int64_t t = passed(s.is_by_epoch ? time.whole : time.now, length);
  const std::int64_t start = share_from(s.start);
  const std::int64_t end = std::max(share_from(s.end), start + 1);
  return of_share(base, rise(share_from(s.floor), kWholeShare - passed(t - start, end - start)));
}

ScaledInteger rate_of(const OneCycleRate& s, const ScaledInteger& base, const CourseTime& time) {
  const std::int64_t t = passed(time.now, time.end);
  const std::int64_t peak = share_from(s.peak);
  if (t < peak)
    return of_share(base, rise(share_from(s.start), kWholeShare - half_cosine(passed(t, peak))));
  if (peak == kWholeShare) return base;
  return of_share(base,
                  rise(share_from(s.floor), half_cosine(passed(t - peak, kWholeShare - peak))));
}

ScaledInteger rate_of(const PlateauRate&, const ScaledInteger& base, const CourseTime&) {
  return base;  // check_course refuses it
}

}  // namespace

ScaledInteger scaled_of(double x) {
  constexpr int kDigits = std::numeric_limits<double>::digits;
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  return rounded_to({fixed(fraction, kDigits), exponent - kDigits}, kScaledBits);
}

ScaledInteger rate_of_step(const Schedule& schedule, double base_rate,
                           const RunPosition& position) {
  constexpr std::int64_t kEpoch = std::int64_t{1} << kEpochBits;
  const std::int64_t steps = position.steps_per_epoch;
  const std::int64_t whole = position.step / steps * kEpoch;
  const WarmUp& w = schedule.warm_up;
  const CourseTime time{
      .now = whole + position.step % steps * kEpoch / steps,
      .whole = whole,
      .end = position.epochs * kEpoch,
      .warm_up = fixed(w.length, kEpochBits) / (w.is_in_steps ? steps : 1),
  };
  const ScaledInteger base = scaled_of(base_rate);
  const ScaledInteger rate =
      std::visit([&](const auto& kind) { return rate_of(kind, base, time); }, schedule.rate);
  if (time.now >= time.warm_up) return rate;
  return of_share(rate, rise(share_from(w.start), passed(time.now, time.warm_up)));
}

UpdateRule update_of_step(const IntegerRecipe& recipe, const RunPosition& position,
                          std::int64_t epoch, std::int64_t images) {
  UpdateRule rule = recipe.options.update;
  if (auto* shift = std::get_if<ShiftUpdate>(&rule)) {
    shift->mu = recipe.mu.at(epoch);
    shift->bias_mu = recipe.bias_mu.at(epoch);
    return rule;
  }
  auto& sgd = std::get<SgdUpdate>(rule);
  const ScaledInteger rate = rate_of_step(recipe.schedule, recipe.rate, position);
  sgd.rate = rounded_to(divided(rate, images), kRateBits);
  sgd.decay = rounded_to(product_of(rate, scaled_of(recipe.weight_decay)), kRateBits);
  return rule;
}

double told_rate(const IntegerRecipe& recipe, const RunPosition& position, std::int64_t epoch) {
  if (std::holds_alternative<ShiftUpdate>(recipe.options.update)) return recipe.mu.at(epoch);
  const ScaledInteger rate = rate_of_step(recipe.schedule, recipe.rate, position);
  return std::ldexp(static_cast<double>(rate.mantissa), rate.exponent);
}

void check_course(const IntegerRecipe& recipe) {
  const auto* sgd = std::get_if<SgdUpdate>(&recipe.options.update);
  if (sgd == nullptr) return;
  const auto check = [](std::string_view what, double got, double least, double most) {
    if (got >= least && got <= most) return;
    throw Error("train", what, fmt::format("{}", got), fmt::format("{} to {}", least, most));
  };
  constexpr double kLeast = 1e-9;
  constexpr double kMost = 1e3;
  check("learning rate", recipe.rate, kLeast, kMost);
  check("weight decay", recipe.weight_decay, 0, 1);
  if (sgd->momentum < 0 || sgd->momentum > 255) {
    throw Error("train", "momentum", fmt::format("{}/256", sgd->momentum), "0 to 255/256");
  }
  check("fraction bits of the rule sgd", sgd->fraction_bits, 1, 16);
  if (std::holds_alternative<PlateauRate>(recipe.schedule.rate)) {
    throw Error("train", "schedule of the rule sgd", to_string(recipe.schedule),
                "constant, step, values, cosine, linear or onecycle: a plateau is seen in floats");
  }
}

}  // namespace nibble::inline integer_training
