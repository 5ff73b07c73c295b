// SPDX-License-Identifier: Apache-2.0
// The law of the losses for one image.
#include "backend/loss_laws.h"

#include "laws/integer_laws.h"

namespace nibble::inline backend {

void cross_entropy_differences(std::span<const std::int8_t> answers, int exponent,
                               std::int32_t label, CrossEntropyForm form,
                               std::span<std::int64_t> differences) {
  const CrossEntropyLaw law{form, CrossEntropyLaw::held(exponent), power_table().data()};
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
  differences[static_cast<std::size_t>(label)] -= total;
}

}  // namespace nibble::inline backend
