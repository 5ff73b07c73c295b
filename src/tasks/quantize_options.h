// SPDX-License-Identifier: Apache-2.0
// The choices of quantization, by the names that the command's options and Python's keywords have.
#pragma once

#include <cstdint>
#include <string>

#include "nibble/quantization/settings.h"
#include "tasks/mixed_precision.h"

namespace CLI {
class App;
}

namespace nibble::inline tasks {

// The options of nibble quantize that say what is to be made.
struct QuantizeChoices {
  std::string model;
  std::string recipe;
  std::string calib;
  std::string data;
  std::int64_t samples = 1024;
  std::int64_t image_size = 0;  // of picture folders, see LoadOptions
  bool skips_broken = false;    // see LoadOptions
  std::string weights = "int8";
  std::string activations = "uint8";
  std::string method = "percentile:99.999";
  int edge_bits = 0;
  bool is_per_tensor = false;
  bool keeps_scales = false;
  bool keeps_biases = false;
  bool learns_rounding = false;
  bool has_integer_features = false;
  std::string form = "usual";  // of the integers: usual or nvidia
  bool recollects = false;     // ranges before each epoch of fine-tuning
  MixedPrecision mixed = {};
  int threads = 0;
  std::string device = "cpu";
  std::int64_t fine_tuning = 0;  // epochs
  double rate = 0.001;
  std::int32_t crop = 0;
  bool flips = false;
  std::uint64_t seed = 1;
};

void add_quantize_options(CLI::App& verb, QuantizeChoices& choices);

// After parsing: takes the options of the recipe that were not given, and refuses given ones that
// do nothing beside the others.
void finish_quantize_options(CLI::App& verb, QuantizeChoices& choices);

QuantizeSettings settings_of(const QuantizeChoices& choices);

}  // namespace nibble::inline tasks
