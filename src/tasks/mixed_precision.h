// SPDX-License-Identifier: Apache-2.0
// Options of nibble quantize that give each layer bits of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nibble/data/dataset.h"
#include "nibble/quantization/float_batches.h"
#include "nibble/quantization/settings.h"
#include "quantization/bit_plan.h"
#include "quantization/sensitivity.h"

namespace CLI {
class App;
}

namespace nibble::inline tasks {

struct MixedPrecision {
  std::string per_layer;
  std::int64_t target_size = 0;  // of parameters in emitted C; 0: none
  std::int64_t target_file = 0;  // of parameters in the file; 0: none
  std::optional<double> max_loss;
  std::string plan;
  bool scans = false;
  std::string scan_plot;
  bool is_reported = false;  // the scan is part of a report
};

void add_mixed_flags(CLI::App& verb, MixedPrecision& flags);

struct Calibration {
  const Dataset& data;
  const FloatBatches& batches;
  std::int64_t samples = 0;
};

// Puts the layers into the settings; gives the scan, empty where nobody asked for one. What is
// tried on the way is printed unless it is to be silent.
std::vector<LayerSensitivity> choose_layers(const MixedPrecision& flags, const Model& model,
                                            const Calibration& calibration, bool is_silent,
                                            QuantizeSettings& settings);

// Throws where the parameters of the integers are larger than was promised.
void check_size(const MixedPrecision& flags, const Model& integers);

}  // namespace nibble::inline tasks
