// SPDX-License-Identifier: Apache-2.0
// The error of the answers, in integers alone.
#include "backend/cpu/losses.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "backend/cpu/round_pixels.h"
#include "laws/round_shift.h"
#include "nibble/core/parallel.h"

namespace nibble::inline backend {

std::span<const std::int8_t> answers_of(const BlockTensor& answers, std::int64_t image) {
  return {answers.at(image / kGroup, 0) + image % kGroup * answers.picture.stride(),
          static_cast<std::size_t>(answers.picture.channels)};
}

void cross_entropy_error(const BlockTensor& answers, std::span<const std::int32_t> labels,
                         const CrossEntropyRule& rule, const RandomKey& random,
                         std::int64_t first_image, const BlockTensor& error) {
  const std::int64_t classes = answers.picture.channels;
  constexpr std::size_t kGrain = 16;
  parallel_for(
      static_cast<std::size_t>(answers.images), kGrain, [&](std::size_t begin, std::size_t end) {
        std::vector<std::int64_t> differences(static_cast<std::size_t>(classes));
        for (std::size_t i = begin; i < end; ++i) {
          const auto image = static_cast<std::int64_t>(i);
          cross_entropy_differences(answers_of(answers, image), answers.exponent, labels[i], rule,
                                    differences);
          std::int8_t* to = error.at(image / kGroup, 0) + image % kGroup * error.picture.stride();
          for (std::int64_t c = 0; c < classes; ++c) {
            const auto element = static_cast<std::uint64_t>((first_image + image) * classes + c);
            to[c] = clamp127(shift_stochastic(differences[static_cast<std::size_t>(c)],
                                              kCrossEntropyShift, draw32(random, element)));
          }
        }
      });
}

SumsOutcome squared_error(const BlockTensor& answers, std::span<const std::int32_t> targets,
                          const SquaredScale& scale, const RoundingJob& job,
                          std::int64_t first_image, const BlockTensor& error) {
  const std::int64_t classes = answers.picture.channels;
  return round_pixels<std::int64_t>(
      job, error, first_image, [&](std::int64_t group, std::int64_t, std::int64_t* sums) {
        for (std::int64_t r = 0; r < answers.images_in(group); ++r) {
          const std::int64_t image = group * kGroup + r;
          const auto row = answers_of(answers, image);
          for (std::int64_t c = 0; c < classes; ++c) {
            const std::int64_t target = targets[static_cast<std::size_t>(image * classes + c)];
            sums[r * error.picture.stride() + c] =
                row[static_cast<std::size_t>(c)] * (std::int64_t{1} << scale.answer_lift) -
                target * (std::int64_t{1} << scale.target_lift);
          }
        }
      });
}

}  // namespace nibble::inline backend
