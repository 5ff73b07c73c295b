// SPDX-License-Identifier: Apache-2.0
// Two models on the same pictures.
#pragma once

#include <cstdint>
#include <string>

namespace nibble {

struct ModelComparisonFlags {
  std::string first;
  std::string second;
  std::string data;
  std::string pictures;         // empty: none
  std::int64_t image_size = 0;  // of picture folders, see LoadOptions
  std::string device = "cpu";   // of models of integers
  bool is_json = false;
};

// Prints agreement, both accuracies and the pictures on which the answers differ. Models of floats
// and of integers, which the engine runs.
void compare_models(const ModelComparisonFlags& flags);

}  // namespace nibble
