// SPDX-License-Identifier: Apache-2.0
// The parts of the HTML report, in the order of the page; a part without content is empty.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/comparison.h"
#include "report/run_record.h"

namespace nibble::inline report {

struct ReportRuns {
  const std::vector<RunRecord>& runs;
  const Comparison& comparison;

  const std::string& name(std::size_t i) const { return comparison.runs[i]; }
};

std::string results_section(const ReportRuns& report);
std::string curves_section(const ReportRuns& report);
std::string top1_chart(const ReportRuns& report);  // of the test split, as a picture by itself
std::string settings_section(const ReportRuns& report);
std::string layers_section(const ReportRuns& report);
std::string integers_section(const ReportRuns& report);
std::string histograms_section(const ReportRuns& report);
std::string confusion_section(const ReportRuns& report);

// A square of a run's colour.
std::string swatch(std::size_t colour);

// Names in the order in which they are met; roles in the order of a training step.
std::vector<std::string> layer_order(const std::vector<std::string>& names);
std::vector<std::string> role_order(const std::vector<std::string>& names);

}  // namespace nibble::inline report
