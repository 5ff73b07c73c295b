// SPDX-License-Identifier: Apache-2.0
// What the answers in LoadGen's accuracy log are worth.
#pragma once

#include <cstdint>
#include <filesystem>
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

// Labels of a data set, or of a folder with val_map.txt, whose files need not be there. No picture
// is decoded.
std::vector<std::int32_t> labels_of(const std::string& data, const std::string& split);

// Those that a run keeps in its folder where samples may have been left out, so that others have
// taken their indices; nothing where it has all of its data.
inline constexpr const char* kRunLabels = "labels.txt";  // a label a line, by the sample's index
std::optional<std::vector<std::int32_t>> labels_of_run(const std::filesystem::path& folder);

// How many samples that both logs answer have the same class; `compared` counts them.
struct LogAgreement {
  std::int64_t compared = 0;
  std::int64_t agreed = 0;
};
LogAgreement agreement_of(const LoggedClasses& log, const LoggedAnswers& other);

}  // namespace nibble::inline loadgen
