// SPDX-License-Identifier: Apache-2.0
// The parts of nibble formats: words about a format, what formats do to a tensor, their picture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nibble/numerics/format.h"

namespace nibble {

// Special values and scales, in words.
std::vector<std::string> specials_of(const ElementInfo& info);
std::string specials_text(const ElementInfo& info);  // "inf, nan", or "none"
std::string scaling_text(const Scaling& scaling);

// nibble formats --on: what formats do to one tensor.
struct FormatsOnOptions {
  std::vector<std::string> formats;  // empty: a choice of them
  std::string source;                // a file, "normal" or "uniform"
  std::string rounding = "nearest-even";
  std::uint64_t seed = 0;  // of made numbers and of stochastic rounding
  bool is_json = false;
};

void print_formats_on(const FormatsOnOptions& options);

// nibble formats --plot: the numbers of formats, and how close they come to others, as a picture.
// No formats: a choice of them. "-" is standard output.
void plot_formats(const std::vector<std::string>& formats, const std::string& path);

}  // namespace nibble
