// SPDX-License-Identifier: Apache-2.0
// Reads rules of placement.
#include "backend/place_rules.h"

#include <algorithm>
#include <array>

#include "core/device_name.h"
#include "core/name.h"
#include "nibble/core/error.h"

namespace nibble::inline backend {
namespace {

constexpr std::string_view kOp = "place";
constexpr std::string_view kAuto = "auto";
constexpr std::size_t kMostNamesShown = 400;
constexpr std::array<std::string_view, 4> kPassWords = {"forward", "input_error", "weight_gradient",
                                                        "update"};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1);
}

// At commas outside of parentheses, which belong to names of devices.
std::vector<std::string_view> items_of(std::string_view text) {
  std::vector<std::string_view> items;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')') --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    items.push_back(trimmed(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  return items;
}

PlaceRule rule_of(std::string_view item) {
  const std::size_t equals = item.rfind('=');
  PlaceRule rule{.nodes = "*", .pass = std::nullopt, .device = {}};
  if (equals != std::string_view::npos) {
    std::string_view where = trimmed(item.substr(0, equals));
    const std::size_t dot = where.rfind('.');
    if (dot != std::string_view::npos) {
      const auto word = std::ranges::find(kPassWords, where.substr(dot + 1));
      if (word != kPassWords.end()) {
        rule.pass = kTrainPasses[static_cast<std::size_t>(word - kPassWords.begin())];
        where = where.substr(0, dot);
      }
    }
    rule.nodes = where;
    item = trimmed(item.substr(equals + 1));
  }
  if (rule.nodes.empty() || item.empty())
    throw Error(kOp, "rule", in_quotes(item), "DEVICE or LAYER[.PASS]=DEVICE");
  if (is_auto(item))
    throw Error(kOp, "rule", in_quotes(item), "auto alone, or rules that name devices");
  rule.device = parse_device(item).to_string();
  return rule;
}

std::string names_of(const Network& network) {
  std::string names;
  for (const Node& node : network.nodes) names += (names.empty() ? "" : ", ") + node.name;
  return shortened(names, kMostNamesShown);
}

}  // namespace

bool PlaceRule::fits(std::string_view node, TrainPass asked) const {
  return (!pass || *pass == asked) && matches(nodes, node);
}

std::string_view word_of(TrainPass pass) {
  return kPassWords[static_cast<std::size_t>(pass)];
}

bool is_auto(std::string_view place) {
  const std::string_view devices = place.substr(0, place.find(" within "));
  return devices == kAuto || (devices.starts_with("auto(") && devices.ends_with(')'));
}

std::vector<PlaceRule> parse_place(std::string_view text) {
  std::vector<PlaceRule> rules;
  for (const std::string_view item : items_of(text)) rules.push_back(rule_of(item));
  return rules;
}

std::string to_string(const std::vector<PlaceRule>& rules) {
  std::string text;
  for (const PlaceRule& rule : rules) {
    if (!text.empty()) text += ", ";
    if (!rule.is_for_all()) {
      text += rule.nodes;
      if (rule.pass) text.append(".").append(word_of(*rule.pass));
      text += "=";
    }
    text += rule.device;
  }
  return text;
}

void check_place(const Network& network, const std::vector<PlaceRule>& rules) {
  for (const PlaceRule& rule : rules) {
    const bool fits = std::ranges::any_of(
        network.nodes, [&](const Node& node) { return matches(rule.nodes, node.name); });
    if (fits) continue;
    throw Error(kOp, "rule", in_quotes(to_string({rule})),
                "a layer or pattern of " + names_of(network) +
                    ", and after a dot a pass: forward, input_error, weight_gradient, update");
  }
}

}  // namespace nibble::inline backend
