// SPDX-License-Identifier: Apache-2.0
// The options that round and encode share, and the arrays that the verbs read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nibble/core/tensor.h"
#include "nibble/kernels/quantize.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace nibble {

struct RoundingFlags {
  std::string format;
  std::string rounding = "nearest-even";
  std::string overflow = "native";
  std::string compat = "none";
  std::string scales;
  std::string zeros;
  RandomKey random;
  std::vector<const CLI::Option*> random_options;  // that make it
};

CLI::Option* add_seed(CLI::App& verb, std::uint64_t& seed);
void add_rounding_flags(CLI::App& verb, RoundingFlags& flags);

// Reads the names and the files; refuses a combination without a meaning.
QuantizeOptions options_of(const RoundingFlags& flags, const Format& format);

// An array of fp32, fp16 or bfloat16 as fp32; "-" is standard input.
Tensor read_floats(const std::string& path);

// An array of 32-bit integers, or of 64-bit ones that fit, as 32-bit integers.
Tensor read_integers(const std::string& path);

}  // namespace nibble
