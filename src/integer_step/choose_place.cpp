// SPDX-License-Identifier: Apache-2.0
// Makes the placement that rules say.
#include "integer_step/choose_place.h"

#include <algorithm>
#include <map>

#include "core/device_name.h"

namespace nibble::inline integer_step {

void choose_place(std::string_view text, IntegerOptions& options) {
  options.device = "cpu";
  options.place = text;
  if (is_auto(text)) return;
  std::vector<PlaceRule> rules = parse_place(text);
  const auto is_for_all = [](const PlaceRule& rule) { return rule.is_for_all(); };
  const auto last = std::find_if(rules.rbegin(), rules.rend(), is_for_all);
  if (last != rules.rend()) {
    options.device = last->device;
    rules.erase(rules.begin(), last.base());  // what stands before it decides nothing
  }
  options.place = to_string(rules);
}

Placement placement_of(const Network& network, const IntegerOptions& options) {
  std::map<std::string, std::shared_ptr<IntegerBackend>> made;
  const auto backend_of = [&](const std::string& device) {
    std::shared_ptr<IntegerBackend>& backend = made[device];
    if (!backend) backend = make_backend(device);
    return backend;
  };
  Placement placement(backend_of(parse_device(options.device).to_string()));
  if (options.place.empty()) return placement;
  const std::vector<PlaceRule> rules = parse_place(options.place);
  check_place(network, rules);
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    for (const TrainPass pass : kTrainPasses) {
      for (const PlaceRule& rule : rules) {
        if (rule.fits(network.nodes[i].name, pass))
          placement.place(i, pass, backend_of(rule.device));
      }
    }
  }
  return placement;
}

}  // namespace nibble::inline integer_step
