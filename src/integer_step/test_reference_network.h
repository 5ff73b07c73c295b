// SPDX-License-Identifier: Apache-2.0
// A whole network by the definitions of test_reference_layers.h: values forward, errors back.
#pragma once

#include <map>
#include <string>

#include "backend/test_reference_layers.h"
#include "integer_step/layer.h"
#include "nibble/graph/network.h"

namespace nibble::inline integer_step::reference {

using namespace backend::reference;
using backend::reference::Sums;

struct Step {
  bool is_training = true;
  RandomKey random = {};
  int mu = 5;
  int bias_mu = 1;
};

class ReferenceNetwork {
 public:
  // Weights by name: NODE.weight, NODE.bias.
  ReferenceNetwork(const Network& network, std::map<std::string, Weight> initial)
      : weights(std::move(initial)), network_(network), values_(network.nodes.size()) {
    for (const Node& node : network.nodes) {
      bool wants = has(node, "weight") || has(node, "bias");
      for (const std::size_t input : node.inputs) wants = wants || wants_error_[input];
      wants_error_.push_back(wants);
    }
  }

  Block forward(const Block& input, const Step& step) {
    values_[0] = input;
    const std::size_t answer = output_of(network_);
    for (std::size_t i = 1; i <= answer; ++i) values_[i] = value_of(i, step);
    return values_[answer];
  }

  // Of the last forward; the weights move. Returns the errors of all values that have one.
  std::map<std::size_t, Block> backward(const Block& answer_error, const Step& step) {
    std::map<std::size_t, Block> errors;
    std::size_t i = output_of(network_);
    errors[i] = answer_error;
    for (; i > 0; --i) {
      if (!wants_error_[i] || !errors.contains(i)) continue;
      const std::vector<Block> given = errors_of_inputs(i, errors[i], step);
      const std::vector<std::size_t>& inputs = network_.nodes[i].inputs;
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        if (!wants_error_[inputs[k]]) continue;
        const auto [place, is_first] = errors.emplace(inputs[k], given[k]);
        if (!is_first) place->second = added({&place->second, &given[k]});
      }
    }
    return errors;
  }

  const Block& value(std::size_t node) const { return values_[node]; }

  std::map<std::string, Weight> weights;

 private:
  bool has(const Node& node, const std::string& kind) const {
    return weights.contains(node.name + "." + kind);
  }
  Weight& weight(const Node& node) { return weights.at(node.name + ".weight"); }
  Weight* bias(const Node& node) {
    return has(node, "bias") ? &weights.at(node.name + ".bias") : nullptr;
  }

  static Block flattened(Block block) {
    block.picture = {1, 1, block.picture.elements()};
    return block;
  }

  // The share of the features that stay is 2^-k.
  static int halvings(const Dropout& dropout) {
    int k = 0;
    for (double kept = 1 - static_cast<double>(dropout.share); kept < 1; kept *= 2) ++k;
    return k;
  }

  static bool stays(const Step& step, std::size_t node, std::int64_t feature, int k) {
    RandomKey key = step.random;
    key.stream = kIntegerDropoutStreams + static_cast<std::uint32_t>(node);
    return draw32(key, static_cast<std::uint64_t>(feature)) < std::uint64_t{1} << (32 - k);
  }

  Block dropped(std::size_t node, Block block, const Step& step) const {
    const int k = halvings(std::get<Dropout>(network_.nodes[node].op));
    if (!step.is_training || k == 0) return block;
    const std::int64_t features = block.picture.elements();
    for (std::size_t i = 0; i < block.data.size(); ++i) {
      if (!stays(step, node, static_cast<std::int64_t>(i) % features, k)) block.data[i] = 0;
    }
    block.exponent += k;
    return block;
  }

  // What a relu6 cuts: the integer part of 6 / 2^exponent.
  static int cut(const Op& op, int exponent) {
    if (!is<Relu6>(op)) return 128;
    return exponent < 0 ? std::min(6 << std::min(-exponent, 10), 128) : 6 >> std::min(exponent, 8);
  }

  // body(place in the large one, place in the small one)
  template <class Body>
  static void for_each_place(const Op& op, const Block& large, const Block& small,
                             const Body& body) {
    std::vector<std::int64_t> begin;
    std::vector<std::int64_t> step = {1, 1, 1};
    if (const auto* slice = std::get_if<Slice>(&op)) {
      begin = slice->begin;
      step = slice->step;
    } else {
      begin = std::get<Pad>(op).before;
    }
    while (begin.size() < 3) begin.insert(begin.begin(), 0);
    while (step.size() < 3) step.insert(step.begin(), 1);
    const Picture& p = small.picture;
    for (std::int64_t n = 0; n < small.images; ++n) {
      for (std::int64_t y = 0; y < p.height; ++y) {
        for (std::int64_t x = 0; x < p.width; ++x) {
          for (std::int64_t c = 0; c < p.channels; ++c) {
            body(
                large.at(n, begin[0] + y * step[0], begin[1] + x * step[1], begin[2] + c * step[2]),
                small.at(n, y, x, c));
          }
        }
      }
    }
  }

  Block moved(const Op& op, const Block& from, const Picture& picture, bool to_small) const {
    Block to{picture, from.images, from.exponent, {}};
    to.data.resize(to.size());
    for_each_place(op, to_small ? from : to, to_small ? to : from,
                   [&](std::size_t large, std::size_t small) {
                     to.data[to_small ? small : large] = from.data[to_small ? large : small];
                   });
    return to;
  }

  Block concatenated(const std::vector<std::size_t>& inputs) const {
    int common = values_[inputs[0]].exponent;
    Picture picture = values_[inputs[0]].picture;
    picture.channels = 0;
    for (const std::size_t each : inputs) {
      common = std::min(common, values_[each].exponent);
      picture.channels += values_[each].picture.channels;
    }
    const Block shape{picture, values_[inputs[0]].images};
    Sums sums;
    for (std::int64_t pixel = 0; pixel < shape.images * picture.pixels(); ++pixel) {
      for (const std::size_t each : inputs) {
        const Block& from = values_[each];
        for (std::int64_t c = 0; c < from.picture.channels; ++c) {
          sums.push_back(from.data[static_cast<std::size_t>(pixel * from.picture.channels + c)] *
                         (std::int64_t{1} << (from.exponent - common)));
        }
      }
    }
    return rounded(sums, picture, shape.images, common);
  }

  Block value_of(std::size_t i, const Step& step) {
    const Node& node = network_.nodes[i];
    const Op& op = node.op;
    const Block& in = values_[node.inputs[0]];
    if (is<Conv2d>(op) || is<Linear>(op))
      return convolve(convolution_of(op, in.picture), in, weight(node), bias(node));
    if (is<Flatten>(op)) return flattened(in);
    if (is<MaxPool>(op)) return max_pooled(op, in);
    if (is<AveragePool>(op) || is<GlobalAveragePool>(op)) return averaged(op, in);
    if (is<Dropout>(op)) return dropped(i, in, step);
    if (is<Concat>(op)) return concatenated(node.inputs);
    if (is<Slice>(op) || is<Pad>(op))
      return moved(op, in, picture_of(infer_shapes(network_)[i]), is<Slice>(op));
    if (is<Add>(op)) {
      std::vector<const Block*> operands;
      for (const std::size_t each : node.inputs) operands.push_back(&values_[each]);
      return added(operands);
    }
    if (is<Bias>(op)) {
      Block spread{in.picture, in.images, bias(node)->exponent, {}};
      for (std::size_t k = 0; k < in.data.size(); ++k)
        spread.data.push_back(bias(node)->mantissas[k % bias(node)->mantissas.size()]);
      return added({&in, &spread});
    }
    Block out = in;  // relu, relu6
    for (std::int8_t& each : out.data)
      each =
          static_cast<std::int8_t>(std::clamp<int>(each, 0, std::min(cut(op, in.exponent), 127)));
    return out;
  }

  std::vector<Block> errors_of_inputs(std::size_t i, const Block& error, const Step& step) {
    const Node& node = network_.nodes[i];
    const Op& op = node.op;
    const Block& in = values_[node.inputs[0]];
    if (is<Conv2d>(op) || is<Linear>(op)) {
      const Conv2d conv = convolution_of(op, in.picture);
      const Block result = error_of_convolution(conv, in, weight(node), error);
      move(weight(node).mantissas, gradient_of_convolution(conv, in, error), step.mu);
      if (bias(node) != nullptr) move(bias(node)->mantissas, gradient_of_bias(error), step.bias_mu);
      return {result};
    }
    if (is<Bias>(op)) move(bias(node)->mantissas, gradient_of_bias(error), step.bias_mu);
    if (is<MaxPool>(op)) return {error_of_max_pool(op, in, error)};
    if (is<AveragePool>(op) || is<GlobalAveragePool>(op)) return {error_of_average(op, in, error)};
    if (is<Dropout>(op)) return {dropped(i, error, step)};
    if (is<Slice>(op) || is<Pad>(op)) return {moved(op, error, in.picture, !is<Slice>(op))};
    if (is<Concat>(op)) return parts_of(node.inputs, error);
    if (is<Relu>(op) || is<Relu6>(op)) {
      Block result = error;
      for (std::size_t k = 0; k < in.data.size(); ++k) {
        if (in.data[k] <= 0 || in.data[k] >= cut(op, in.exponent)) result.data[k] = 0;
      }
      return {result};
    }
    Block result = error;  // flatten, add, bias
    result.picture = in.picture;
    return std::vector<Block>(node.inputs.size(), result);
  }

  std::vector<Block> parts_of(const std::vector<std::size_t>& inputs, const Block& error) const {
    std::vector<Block> parts;
    std::int64_t first = 0;
    for (const std::size_t each : inputs) {
      Block part{values_[each].picture, error.images, error.exponent, {}};
      for (std::int64_t pixel = 0; pixel < part.images * part.picture.pixels(); ++pixel) {
        for (std::int64_t c = 0; c < part.picture.channels; ++c) {
          part.data.push_back(
              error.data[static_cast<std::size_t>(pixel * error.picture.channels + first + c)]);
        }
      }
      first += part.picture.channels;
      parts.push_back(std::move(part));
    }
    return parts;
  }

  const Network& network_;
  std::vector<Block> values_;
  std::vector<bool> wants_error_;
};

}  // namespace nibble::inline integer_step::reference
