// SPDX-License-Identifier: Apache-2.0
// nibble formats --on: what formats do to one tensor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nibble {

struct FormatsOnOptions {
  std::vector<std::string> formats;  // empty: a choice of them
  std::string source;                // a file, "normal" or "uniform"
  std::string rounding = "nearest-even";
  std::uint64_t seed = 0;  // of made numbers and of stochastic rounding
  bool is_json = false;
};

void print_formats_on(const FormatsOnOptions& options);

}  // namespace nibble
