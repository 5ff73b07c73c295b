// SPDX-License-Identifier: Apache-2.0
// What the answers in LoadGen's accuracy log are worth.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "inference/accuracy_log.h"

namespace nibble::inline loadgen {

struct Score {
  std::int64_t samples = 0;  // of the data
  std::int64_t answered = 0;
  std::int64_t top1 = 0;
  std::optional<std::int64_t> top5;  // where every answer has five classes

  double share() const {  // of what was answered
    return answered == 0 ? 0 : static_cast<double>(top1) / static_cast<double>(answered);
  }
};

// Labels by the index of the sample. An index beyond them is an error: the data is another.
Score score_of(const LoggedClasses& log, std::span<const std::int32_t> labels);

// Labels of a data set, or of a folder with val_map.txt, whose files need not be there.
std::vector<std::int32_t> labels_of(const std::string& data, const std::string& split);

// How many samples that both logs answer have the same class; `compared` counts them.
struct LogAgreement {
  std::int64_t compared = 0;
  std::int64_t agreed = 0;
};
LogAgreement agreement_of(const LoggedClasses& log, const LoggedAnswers& other);

}  // namespace nibble::inline loadgen
