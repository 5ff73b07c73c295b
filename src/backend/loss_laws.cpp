// SPDX-License-Identifier: Apache-2.0
// The law of the losses for one image.
#include "backend/loss_laws.h"

#include "laws/integer_laws.h"

namespace nibble::inline backend {

std::vector<std::int64_t> cross_entropy_differences(std::span<const std::int8_t> answers,
                                                    int exponent, std::int32_t label,
                                                    CrossEntropyForm form) {
  const CrossEntropyLaw law{form, CrossEntropyLaw::held(exponent), power_table().data()};
  std::int64_t top = law.place(answers[0]);
  for (const std::int8_t each : answers) top = std::max(top, law.place(each));
  std::vector<std::int64_t> shares;
  std::int64_t sum = 0;
  for (const std::int8_t each : answers) {
    shares.push_back(law.number(each, top));
    sum += shares.back();
  }
  std::int64_t total = 0;
  for (std::int64_t& each : shares) {
    each = share_of(each, sum, kProbabilityBits);
    total += each;
  }
  shares[static_cast<std::size_t>(label)] -= total;
  return shares;
}

}  // namespace nibble::inline backend
