// SPDX-License-Identifier: Apache-2.0
// The accuracy log of MLPerf's LoadGen: which class a system gave for every picture.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace nibble::inline inference {

// Classes by the index of the example in the data set.
using LoggedAnswers = std::map<std::int64_t, std::int32_t>;

// Several classes an example, the best first.
using LoggedClasses = std::map<std::int64_t, std::vector<std::int32_t>>;

// mlperf_log_accuracy.json: a list of {"seq_id", "qsl_idx", "data"}, where `data` is the hex text
// of a little-endian integer of 32 or 64 bits, or of three or more of 32 bits. Of several answers
// for one example the first counts.
LoggedClasses parse_logged_classes(std::string_view text, const std::string& name);
LoggedClasses read_logged_classes(const std::filesystem::path& path);

// The first class of each.
LoggedAnswers parse_accuracy_log(std::string_view text, const std::string& name);
LoggedAnswers read_accuracy_log(const std::filesystem::path& path);

}  // namespace nibble::inline inference
