// SPDX-License-Identifier: Apache-2.0
// Whether a data set is one that a network can answer.
#include "epoch_loop/training_data.h"

#include <fmt/format.h>

#include <string>

#include "nibble/core/error.h"

namespace nibble::inline epoch_loop {
namespace {

void check_shape(const Network& network, const Dataset& data) {
  const Shape& pictures = data.images.shape();
  const Shape picture{pictures[1], pictures[2], pictures[3]};
  const Shape& wanted = input_of(network).shape;
  if (wanted == picture || (wanted.rank() == 1 && wanted.elements() == picture.elements())) return;
  throw Error("data " + data.name, "shape of an example", picture.to_string(),
              fmt::format("{}, the input of {}", wanted.to_string(), network.name),
              ErrorKind::input);
}

}  // namespace

void check_data(const Network& network, const Dataset& data) {
  if (data.size() == 0)
    throw Error("data " + data.name, "examples", "none", "one or more", ErrorKind::input);
  check_shape(network, data);
  const std::int64_t width = infer_shapes(network)[output_of(network)].elements();
  const Op& loss = network.nodes.back().op;
  if (data.has_targets()) {
    if (is_loss(loss) && !is<SquaredError>(loss)) {
      throw Error("data " + data.name, "loss for targets that are numbers",
                  std::string(name_of(loss)), "squared_error", ErrorKind::input);
    }
    const std::int64_t got = data.targets.shape()[1];
    if (got != width)
      throw Error("data " + data.name, "targets an example", std::to_string(got),
                  fmt::format("{}, the answers of {}", width, network.name), ErrorKind::input);
    return;
  }
  const auto classes = static_cast<std::int64_t>(data.class_names.size());
  if (classes > width) {
    throw Error("data " + data.name, "classes", std::to_string(classes),
                fmt::format("at most {}, the answers of {}", width, network.name),
                ErrorKind::input);
  }
}

void check_augment(const AugmentOptions& augment, const Dataset& data) {
  const bool is_on = augment.padding > 0 || augment.has_flip || augment.cutout > 0;
  const Shape& shape = data.images.shape();
  if (!is_on || shape[1] * shape[2] > 1) return;
  throw Error("data " + data.name, "examples for crop, flip or cutout", "features", "pictures",
              ErrorKind::input);
}

}  // namespace nibble::inline epoch_loop
