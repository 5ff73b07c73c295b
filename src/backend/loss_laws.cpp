// SPDX-License-Identifier: Apache-2.0
// The law of the losses for one image.
#include "backend/loss_laws.h"

#include "laws/integer_laws.h"
#include "laws/wide_division.h"

namespace nibble::inline backend {

std::int64_t smoothing_of(std::uint32_t bits, std::int64_t classes) {
  constexpr int kFraction = 23;
  constexpr int kMostHalvings = 48;  // beyond nothing is left: s·2^11 < 2^-12
  const auto exponent = static_cast<int>(bits >> kFraction & 0xFF);
  const int halvings = 127 + kFraction - kProbabilityBits - exponent;
  if (exponent == 0 || halvings > kMostHalvings) return 0;
  const std::int64_t mantissa = (bits & ((1u << kFraction) - 1)) | 1u << kFraction;
  return quotient_to_nearest(Int128{mantissa}, static_cast<std::uint64_t>(classes) << halvings);
}

void cross_entropy_differences(std::span<const std::int8_t> answers, int exponent,
                               std::int32_t label, const CrossEntropyRule& rule,
                               std::span<std::int64_t> differences) {
  const CrossEntropyLaw law{rule.form, CrossEntropyLaw::held(exponent), power_table().data()};
  std::int64_t top = law.place(answers[0]);
  for (const std::int8_t each : answers) top = std::max(top, law.place(each));
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    differences[i] = law.number(answers[i], top);
    sum += differences[i];
  }
  std::int64_t total = 0;
  for (std::int64_t& each : differences) {
    each = share_of(each, sum, kProbabilityBits);
    total += each;
  }
  const auto classes = static_cast<std::int64_t>(answers.size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    differences[i] = cross_entropy_difference(differences[i], total, classes,
                                              i == static_cast<std::size_t>(label), rule.smoothing);
  }
}

}  // namespace nibble::inline backend
