// SPDX-License-Identifier: Apache-2.0
// Reads epochs.csv, layers.csv, integers.csv and histograms.csv of a run.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "report/run_record.h"

namespace nibble {

// All throw one line that names the file, the line and the column.
std::vector<EpochRecord> read_epochs(const std::filesystem::path& path, std::string_view text);
std::vector<RoundingRecord> read_layers(const std::filesystem::path& path, std::string_view text);
std::vector<IntegerRecord> read_integers(const std::filesystem::path& path, std::string_view text);
std::vector<HistogramRecord> read_histograms(const std::filesystem::path& path,
                                             std::string_view text);

}  // namespace nibble
