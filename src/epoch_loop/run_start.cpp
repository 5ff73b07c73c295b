// SPDX-License-Identifier: Apache-2.0
// A run that begins with the parameters of a model.
#include "epoch_loop/run_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "graph/model_parts.h"
#include "nibble/core/error.h"

namespace nibble::inline epoch_loop {
namespace {

std::string text_at(const std::vector<Parameter>& parameters, std::size_t i) {
  if (i >= parameters.size()) return "no more parameters";
  return parameters[i].name + " " + parameters[i].shape.to_string();
}

}  // namespace

void take_network(RunSettings& settings, const Network& start) {
  if (!settings.network.nodes.empty()) return;
  settings.network = with_loss(start, SoftmaxCrossEntropy{});
  if (settings.name.empty()) settings.name = settings.network.name;
}

void check_same_parameters(const Network& network, const Network& start) {
  const std::vector<Parameter> wanted = parameters_of(network);
  const std::vector<Parameter> got = parameters_of(start);
  for (std::size_t i = 0; i < std::max(wanted.size(), got.size()); ++i) {
    if (text_at(got, i) == text_at(wanted, i)) continue;
    throw Error("train", kStart, fmt::format("{} in {}", text_at(got, i), start.name),
                fmt::format("{}, as {} has it", text_at(wanted, i), network.name),
                ErrorKind::input);
  }
}

}  // namespace nibble::inline epoch_loop
