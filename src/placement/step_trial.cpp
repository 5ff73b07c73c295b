// SPDX-License-Identifier: Apache-2.0
// Steps on made-up numbers.
#include "placement/step_trial.h"

#include <algorithm>

#include "nibble/core/philox.h"

namespace nibble::inline placement {
namespace {

constexpr std::uint64_t kSeed = 24;
constexpr int kInputExponent = -7;

}  // namespace

Placement placement_of_sides(const Network& network, const StepGraph& graph, const Sides& sides,
                             const Backends& backends) {
  Placement placement(backends[0]);
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    const LayerSides own = sides_of_layer(graph, sides, i);
    for (std::size_t pass = 0; pass < own.size(); ++pass)
      placement.place(i, static_cast<TrainPass>(pass), backends[own[pass]]);
  }
  return placement;
}

StepTrial::StepTrial(const Network& network, const IntegerOptions& options, std::int64_t images,
                     Placement placement)
    : session_(network, options, nullptr, std::move(placement)), images_(images) {
  const auto draw = [](std::uint32_t stream, std::size_t i) {
    return draw32({kSeed, stream, 0}, static_cast<std::uint64_t>(i));
  };
  const std::int64_t width = session_.tape().answer_picture().channels;
  mantissas_.resize(static_cast<std::size_t>(images * session_.tape().input_picture().elements()));
  for (std::size_t i = 0; i < mantissas_.size(); ++i)
    mantissas_[i] = static_cast<std::int8_t>(static_cast<int>(draw(0, i) % 255) - 127);
  labels_.resize(static_cast<std::size_t>(images));
  for (std::size_t i = 0; i < labels_.size(); ++i)
    labels_[i] = static_cast<std::int32_t>(draw(1, i) % static_cast<std::uint32_t>(width));
  targets_.resize(static_cast<std::size_t>(images * width));
}

Nanoseconds StepTrial::step() {
  const Nanoseconds begin = now();
  session_.step({.input = {.images = images_, .mantissas = mantissas_, .exponent = kInputExponent},
                 .labels = labels_,
                 .targets = targets_,
                 .all_images = images_});
  session_.tape().point_states();  // waits for every backend
  return now() - begin;
}

}  // namespace nibble::inline placement
