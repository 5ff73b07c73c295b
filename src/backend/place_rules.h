// SPDX-License-Identifier: Apache-2.0
// Who computes which pass, as text: "conv*=cuda, fc.update=cpu, *.weight_gradient=cuda". The last
// rule that fits a pass decides, so that exceptions stand behind what they are exceptions of. A
// device alone stands for all passes of all layers.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "nibble/graph/network.h"

namespace nibble::inline backend {

inline constexpr std::array kTrainPasses = {TrainPass::forward, TrainPass::input_error,
                                            TrainPass::weight_gradient, TrainPass::update};

struct PlaceRule {
  std::string nodes;              // a pattern
  std::optional<TrainPass> pass;  // none: all
  std::string device;

  bool fits(std::string_view node, TrainPass asked) const;
  bool is_for_all() const { return nodes == "*" && !pass; }
};

// Throws, naming the part, where the text is no list of rules. Devices need not be there.
std::vector<PlaceRule> parse_place(std::string_view text);
std::string to_string(const std::vector<PlaceRule>& rules);

// "auto", "auto(cpu,cuda) within 2GB": whoever has measured the machine says the rules.
bool is_auto(std::string_view place);

// "forward", "input_error", …: what rules call it.
std::string_view word_of(TrainPass pass);

// Throws where a rule fits no layer, and names those that are there.
void check_place(const Network& network, const std::vector<PlaceRule>& rules);

}  // namespace nibble::inline backend
