// SPDX-License-Identifier: Apache-2.0
// What was found to be fast on a machine: how layers of a shape are cut. It changes speed alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace nibble {

// How a convolution or linear layer is cut; 0: as usual.
struct ProductCut {
  std::int64_t pixels = 0;   // of a block, whose rows are looked up once
  std::int64_t outputs = 0;  // of a panel: 16, 32, 48 or 64
  bool operator==(const ProductCut&) const = default;
};

// By shape, as StepInfo::shape has it.
struct Tuning {
  std::string machine;  // whose measurements these are
  std::map<std::string, ProductCut> cuts;
  bool operator==(const Tuning&) const = default;
};

// The processor, its path of instructions and the number of threads.
std::string machine_name(int threads);

// NIBBLE_TUNING, else tuning-MACHINE.txt in ~/.cache/nibble, with the name's odd letters as '-'.
std::filesystem::path tuning_path(const std::string& machine);

// A text of one line a shape. A file that is absent, of another machine or damaged is as none.
Tuning read_tuning(const std::filesystem::path& path, const std::string& machine);
void write_tuning(const std::filesystem::path& path, const Tuning& tuning);

}  // namespace nibble
