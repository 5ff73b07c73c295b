// SPDX-License-Identifier: Apache-2.0
// Answers of two models, side by side.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "nibble/data/dataset.h"
#include "nibble/graph/network.h"
#include "tasks/different_pictures.h"

namespace nibble::inline tasks {

struct ModelComparison {
  std::int64_t images = 0;
  std::array<double, 2> top1{};  // shares
  std::vector<DifferentPicture> different;

  std::int64_t agreed() const { return images - static_cast<std::int64_t>(different.size()); }
  double agreement() const { return static_cast<double>(agreed()) / static_cast<double>(images); }
};

// Models of floats, and of integers, which the engine runs on that device.
ModelComparison compare_models(Model first, Model second, const Dataset& data,
                               const std::string& device);

std::string to_json(const ModelComparison& found);

}  // namespace nibble::inline tasks
