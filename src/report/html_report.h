// SPDX-License-Identifier: Apache-2.0
// Runs as one HTML page that needs nothing else: no script, no other file, no network.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/run_record.h"

namespace nibble::inline report {

std::string report_html(const std::vector<RunRecord>& runs);

// The file appears whole or not at all.
void write_report(const std::filesystem::path& path, const std::vector<RunRecord>& runs);

}  // namespace nibble::inline report
