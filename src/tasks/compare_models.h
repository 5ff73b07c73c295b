// SPDX-License-Identifier: Apache-2.0
// Answers of two models side by side, their pictures, and what differs between runs as JSON.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "nibble/data/dataset.h"
#include "nibble/graph/network.h"
#include "report/comparison.h"

namespace nibble::inline tasks {

// A picture that two models answer differently.
struct DifferentPicture {
  std::int64_t index = 0;
  std::int32_t label = 0;
  std::int32_t first = 0;  // the answers
  std::int32_t second = 0;
};

std::string class_name(const Dataset& data, std::int32_t label);

// The first 24 as SVG, or as an HTML page with it; sides above 64 pixels are thinned out. The data
// must be pictures of one or three channels.
std::string draw_pictures(const Dataset& data, std::span<const DifferentPicture> list,
                          bool is_html);

// The same into a file: a page where its name ends in .html, SVG otherwise.
void write_pictures(const std::filesystem::path& path, const Dataset& data,
                    std::span<const DifferentPicture> list);

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

// What differs between runs, and what came of it. Every list has one entry a run, null where a run
// has none.
std::string comparison_json(const std::vector<RunRecord>& runs);

}  // namespace nibble::inline tasks
