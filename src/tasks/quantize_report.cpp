// SPDX-License-Identifier: Apache-2.0
// Tables and bars of a quantization.
#include "tasks/quantize_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "core/text_file.h"
#include "report/bar_chart.h"
#include "report/html_page.h"

namespace nibble::inline tasks {
namespace {

std::string decibels(double sqnr) {
  if (std::isinf(sqnr)) return sqnr > 0 ? "exact" : "−∞";
  return fmt::format("{:.1f}", sqnr);
}

// Bars are labelled with the digits that their numbers have.
double tenths(double x) {
  return std::round(10 * x) / 10;
}

std::vector<std::string> row_of(const std::string& name, const Outcome& outcome) {
  return {name, score_text(outcome), fmt::format("{}", outcome.bytes), rate_text(outcome)};
}

std::vector<std::vector<std::string>> shown_settings(const QuantizeChoices& choices) {
  std::vector<std::vector<std::string>> rows = {{"model", choices.model},
                                                {"calibrated on", choices.calib},
                                                {"weights", choices.weights},
                                                {"activations", choices.activations},
                                                {"method", choices.method}};
  if (choices.edge_bits > 0) rows.push_back({"edges", fmt::format("{} bits", choices.edge_bits)});
  if (choices.learns_rounding) rows.push_back({"rounding of weights", "learned"});
  if (choices.fine_tuning > 0) {
    rows.push_back(
        {"fine-tuned", fmt::format("{} epochs, rate {}", choices.fine_tuning, choices.rate)});
  }
  return rows;
}

std::string errors_section(std::span<const NodeError> errors) {
  const BarChart chart{.title = "",
                       .x_label = "SQNR in dB, more is better",
                       .series = {"whole value", "its worst channel"},
                       .width = 720,
                       .theme = kPageTheme};
  std::vector<BarGroup> bars;
  std::vector<std::vector<std::string>> rows;
  for (const NodeError& each : errors) {
    bars.push_back({.name = each.name, .values = {tenths(each.sqnr), tenths(each.worst_sqnr)}});
    rows.push_back({each.name, each.op, decibels(each.sqnr), fmt::format("{}", each.worst_channel),
                    decibels(each.worst_sqnr), fmt::format("{:.3g}", each.most_error)});
  }
  return "<h2>Values of layers, float against quantized</h2>\n" + html_figure(draw(chart, bars)) +
         html_table({"layer", "op", "SQNR dB", "worst channel", "its SQNR dB", "max error"}, rows);
}

std::string scan_section(std::span<const LayerSensitivity> layers) {
  std::vector<std::string> head = {"layer"};
  for (const BitNoise& choice : layers[0].choices)
    head.push_back(fmt::format("int{}", choice.bits));
  std::vector<std::vector<std::string>> rows;
  for (const LayerSensitivity& layer : layers) {
    std::vector<std::string> row = {layer.name};
    for (const BitNoise& choice : layer.choices) row.push_back(decibels(choice.sqnr));
    rows.push_back(std::move(row));
  }
  return "<h2>Sensitivity: one layer's weight rounded, all else float</h2>\n" +
         html_figure(sensitivity_plot(layers, kPageTheme)) + html_table(head, rows);
}

}  // namespace

std::string sensitivity_plot(std::span<const LayerSensitivity> layers, const ChartTheme& theme) {
  std::set<int, std::greater<>> bits;
  for (const LayerSensitivity& layer : layers) {
    for (const BitNoise& choice : layer.choices) bits.insert(choice.bits);
  }
  BarChart chart{.title = "One layer's weights rounded",
                 .x_label = "SQNR of the answer in dB",
                 .series = {},
                 .width = 640,
                 .theme = theme};
  for (const int each : bits) chart.series.push_back(fmt::format("int{}", each));
  std::vector<BarGroup> groups;
  for (const LayerSensitivity& layer : layers) {
    BarGroup group{.name = layer.name, .values = {}};
    for (const int each : bits) {
      const auto found = std::ranges::find(layer.choices, each, &BitNoise::bits);
      group.values.push_back(found == layer.choices.end() ? std::nan("") : found->sqnr);
    }
    groups.push_back(std::move(group));
  }
  return draw(chart, groups);
}

void write_quantize_report(const std::filesystem::path& path, const QuantizeChoices& choices,
                           const QuantizedNetwork& made, const Outcome& floats,
                           const Outcome& integers) {
  std::string body =
      html_table({"network", floats.top1 ? "top-1" : "loss", "bytes of parameters", "images/s"},
                 {row_of("float", floats), row_of("integers", integers)});
  body += "<h2>Settings</h2>\n" + html_table({"setting", "value"}, shown_settings(choices));
  body += errors_section(made.errors);
  if (!made.scan.empty()) body += scan_section(made.scan);
  write_text_file(path,
                  html_page(made.integers.network.name + " in integers", body, "nibble quantize"));
}

}  // namespace nibble::inline tasks
