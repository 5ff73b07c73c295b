// SPDX-License-Identifier: Apache-2.0
// Sensitivities as columns and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "quantization/sensitivity.h"

namespace nibble::inline quantization {
namespace {

std::string cell(const LayerSensitivity& layer, int bits) {
  const auto found = std::ranges::find(layer.choices, bits, &BitNoise::bits);
  if (found == layer.choices.end()) return "";
  return std::isinf(found->sqnr) ? "exact" : fmt::format("{:.1f}", found->sqnr);
}

}  // namespace

std::string sensitivity_text(std::span<const LayerSensitivity> layers) {
  std::set<int, std::greater<>> bits;
  std::size_t width = 5;
  for (const LayerSensitivity& layer : layers) {
    for (const BitNoise& each : layer.choices) bits.insert(each.bits);
    width = std::max(width, layer.name.size());
  }
  std::string text =
      fmt::format("SQNR of the answer in dB, one weight rounded\n{:<{}}", "layer", width);
  for (const int each : bits) text += fmt::format("  {:>6}", fmt::format("int{}", each));
  text += fmt::format("  {:>10}\n", "bytes");
  for (const LayerSensitivity& layer : layers) {
    text += fmt::format("{:<{}}", layer.name, width);
    for (const int each : bits) text += fmt::format("  {:>6}", cell(layer, each));
    text += fmt::format("  {:>10}\n", layer.choices.front().bytes);
  }
  return text;
}

std::string sensitivity_json(std::span<const LayerSensitivity> layers) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const LayerSensitivity& layer : layers) {
    nlohmann::ordered_json choices = nlohmann::ordered_json::array();
    for (const BitNoise& each : layer.choices) {
      nlohmann::ordered_json sqnr = "inf";
      if (!std::isinf(each.sqnr)) sqnr = each.sqnr;
      choices.push_back({{"bits", each.bits},
                         {"bytes", each.bytes},
                         {"noise", each.noise},
                         {"sqnr_db", std::move(sqnr)}});
    }
    list.push_back({{"name", layer.name}, {"choices", std::move(choices)}});
  }
  return list.dump();
}

}  // namespace nibble::inline quantization
