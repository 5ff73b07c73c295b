// SPDX-License-Identifier: Apache-2.0
// Reads the files of a run: settings.json and summary.json, and its tables.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "report/run_record.h"

namespace nibble::inline report {

// Both throw one line that names the file, and the line or the field.
void read_settings(const std::filesystem::path& path, std::string_view text, RunRecord& run);
SummaryRecord read_summary(const std::filesystem::path& path, std::string_view text);

// All throw one line that names the file, the line and the column.
std::vector<EpochRecord> read_epochs(const std::filesystem::path& path, std::string_view text);
std::vector<RoundingRecord> read_layers(const std::filesystem::path& path, std::string_view text);
std::vector<IntegerRecord> read_integers(const std::filesystem::path& path, std::string_view text);
std::vector<HistogramRecord> read_histograms(const std::filesystem::path& path,
                                             std::string_view text);

}  // namespace nibble::inline report
