// SPDX-License-Identifier: Apache-2.0
// Reads settings.json and summary.json of a run.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "report/run_record.h"

namespace nibble {

// Both throw one line that names the file, and the line or the field.
void read_settings(const std::filesystem::path& path, std::string_view text, RunRecord& run);
SummaryRecord read_summary(const std::filesystem::path& path, std::string_view text);

}  // namespace nibble
