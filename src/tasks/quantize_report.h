// SPDX-License-Identifier: Apache-2.0
// A quantization as one HTML page: what was lost, layer by layer.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "quantization/error_table.h"
#include "quantization/sensitivity.h"
#include "report/chart_theme.h"
#include "tasks/quantize_outcome.h"

namespace nibble::inline tasks {

struct QuantizeReport {
  std::string model;
  std::vector<std::vector<std::string>> settings;  // name and value
  Outcome floats;
  Outcome integers;
  std::span<const NodeError> errors;
  std::span<const LayerSensitivity> scan;  // may be empty
};

std::string quantize_report_html(const QuantizeReport& report);

// The SQNR of the answer for each layer and number of bits, as bars.
std::string sensitivity_plot(std::span<const LayerSensitivity> layers, const ChartTheme& theme);

}  // namespace nibble::inline tasks
