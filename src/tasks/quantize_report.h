// SPDX-License-Identifier: Apache-2.0
// A quantization as one HTML page: what was lost, layer by layer.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "quantization/sensitivity.h"
#include "report/chart_theme.h"
#include "tasks/quantize_network.h"
#include "tasks/quantize_outcome.h"

namespace nibble::inline tasks {

// The page of what was made, by these choices, and of what became of the network.
void write_quantize_report(const std::filesystem::path& path, const QuantizeChoices& choices,
                           const QuantizedNetwork& made, const Outcome& floats,
                           const Outcome& integers);

// The SQNR of the answer for each layer and number of bits, as bars.
std::string sensitivity_plot(std::span<const LayerSensitivity> layers, const ChartTheme& theme);

}  // namespace nibble::inline tasks
