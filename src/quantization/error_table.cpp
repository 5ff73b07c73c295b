// SPDX-License-Identifier: Apache-2.0
// Signal and noise, node by node.
#include "quantization/error_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "nibble/core/error.h"
#include "nibble/float_training/forward.h"

namespace nibble::inline quantization {
namespace {

double decibels(double signal, double noise) {
  if (noise == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(signal / noise);
}

std::int64_t channels_of(const Shape& shape) {
  return shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
}

}  // namespace

ErrorMeter::ErrorMeter(std::int64_t channels)
    : signal_(static_cast<std::size_t>(channels)), noise_(static_cast<std::size_t>(channels)) {}

void ErrorMeter::add(ConstTensorView exact, ConstTensorView rounded) {
  if (exact.shape() != rounded.shape() ||
      channels_of(exact.shape()) != static_cast<std::int64_t>(signal_.size())) {
    throw Error("compare", "shape", rounded.shape().to_string(), exact.shape().to_string());
  }
  const auto x = exact.as<float>();
  const auto y = rounded.as<float>();
  const std::size_t channels = signal_.size();
  for (std::size_t begin = 0; begin < x.size(); begin += channels) {
    for (std::size_t c = 0; c < channels; ++c) {
      const auto value = static_cast<double>(x[begin + c]);
      const double difference = value - static_cast<double>(y[begin + c]);
      signal_[c] += value * value;
      noise_[c] += difference * difference;
      most_error_ = std::max(most_error_, std::abs(difference));
    }
  }
}

NodeError ErrorMeter::error_of(const Node& node) const {
  NodeError error{.name = node.name, .op = std::string(name_of(node.op))};
  error.sqnr = decibels(std::accumulate(signal_.begin(), signal_.end(), 0.0),
                        std::accumulate(noise_.begin(), noise_.end(), 0.0));
  error.worst_sqnr = std::numeric_limits<double>::infinity();
  for (std::size_t c = 0; c < signal_.size(); ++c) {
    if (signal_[c] == 0) continue;
    const double each = decibels(signal_[c], noise_[c]);
    if (each < error.worst_sqnr) {
      error.worst_sqnr = each;
      error.worst_channel = static_cast<std::int64_t>(c);
    }
  }
  error.most_error = most_error_;
  return error;
}

std::vector<NodeError> node_errors(const Model& exact, const Model& rounded,
                                   const FloatBatches& batches) {
  const std::vector<Shape> shapes = infer_shapes(exact.network);
  std::map<std::string, std::size_t> place;  // in the exact network
  std::vector<std::optional<ErrorMeter>> meters(shapes.size());
  for (std::size_t i = 1; i < shapes.size(); ++i) place[exact.network.nodes[i].name] = i;
  std::vector<std::size_t> twin(rounded.network.nodes.size());  // 0: none
  for (std::size_t i = 1; i < twin.size(); ++i) {
    const auto found = place.find(rounded.network.nodes[i].name);
    if (found == place.end() || is_loss(rounded.network.nodes[i].op)) continue;
    twin[i] = found->second;
    meters[twin[i]].emplace(channels_of(shapes[twin[i]]));
  }
  batches.for_each([&](ConstTensorView batch) {
    std::vector<Tensor> values(shapes.size());
    (void)answers_of(exact, batch, [&](std::size_t node, ConstTensorView value) {
      if (meters[node]) values[node] = copy_of(value);
    });
    (void)answers_of(rounded, batch, [&](std::size_t node, ConstTensorView value) {
      if (twin[node] == 0) return;
      const Tensor kept = std::exchange(values[twin[node]], {});
      meters[twin[node]]->add(kept.view(), value);
    });
  });
  std::vector<NodeError> errors;
  for (std::size_t i = 0; i < meters.size(); ++i) {
    if (meters[i]) errors.push_back(meters[i]->error_of(exact.network.nodes[i]));
  }
  return errors;
}

}  // namespace nibble::inline quantization
