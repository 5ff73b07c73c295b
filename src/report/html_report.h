// SPDX-License-Identifier: Apache-2.0
// Runs as one HTML page that needs nothing else: no script, no other file, no network.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/run_record.h"

namespace nibble::inline report {

std::string report_html(const std::vector<RunRecord>& runs);

// Test top-1 by epoch, all runs over each other, as SVG.
std::string top1_svg(const std::vector<RunRecord>& runs);

// The page, or where the name ends in .svg the picture. The file appears whole or not at all.
void write_report(const std::filesystem::path& path, const std::vector<RunRecord>& runs);

}  // namespace nibble::inline report
