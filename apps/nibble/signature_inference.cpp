// SPDX-License-Identifier: Apache-2.0
// A residual network of 4-bit integers whose weights and pictures come from counters.
#include "apps/nibble/verb_parts.h"

#include <fmt/format.h>

#include "core/hash.h"
#include "nibble/core/philox.h"
#include "nibble/engine/engine.h"

namespace nibble {
namespace {

constexpr std::int64_t kChannels = 64;
constexpr std::int64_t kPictures = 3;

class NetworkWriter {
 public:
  NetworkWriter() {
    Node input{.name = "input", .op = Input{.shape = {9, 7, 3}, .mean = {}, .deviation = {}}};
    input.value.format = parse_format("int8");
    model_.network.name = "signature";
    model_.network.nodes.push_back(std::move(input));
  }

  std::size_t conv(std::size_t from, const Conv2d& op, const char* format) {
    Node node{.name = name(), .op = op, .inputs = {from}};
    node.weight.format = parse_format(format);
    return add(std::move(node));
  }
  std::size_t linear(std::size_t from, std::int64_t features) {
    Node node{
        .name = name(), .op = Linear{.features = features, .has_bias = true}, .inputs = {from}};
    node.weight.format = parse_format("int8");
    return add(std::move(node));
  }
  std::size_t rescale(std::size_t from, int shift, std::int64_t low, std::int64_t high) {
    return add({.name = name(),
                .op = Rescale{.shift = shift, .low = low, .high = high, .is_per_channel = true},
                .inputs = {from}});
  }
  std::size_t add(Node node) {
    model_.network.nodes.push_back(std::move(node));
    return model_.network.nodes.size() - 1;
  }
  std::string name() const { return fmt::format("n{}", model_.network.nodes.size()); }

  // Weights of the width of their format, biases and multipliers of 15 bits.
  Model finish() {
    std::uint32_t stream = 0;
    for (const Parameter& parameter : parameters_of(model_.network)) {
      const bool is_weight = parameter.kind == "weight";
      Tensor tensor(is_weight ? DType::i8 : DType::i32, parameter.shape);
      const auto& format = model_.network.nodes[parameter.node].weight.format;
      const int bits = is_weight ? std::get<GridElement>(format.element).bits : 15;
      for (std::size_t i = 0; i < static_cast<std::size_t>(tensor.elements()); ++i) {
        const auto drawn = static_cast<std::int32_t>(draw32({7, stream, 0}, i) >> (32 - bits));
        if (is_weight) {
          tensor.as<std::int8_t>()[i] = static_cast<std::int8_t>(drawn - (1 << (bits - 1)));
        } else {
          tensor.as<std::int32_t>()[i] = drawn;
        }
      }
      ++stream;
      model_.parameters.push_back(std::move(tensor));
    }
    return std::move(model_);
  }

 private:
  Model model_;
};

// s8 into u4, a residual block with strides and an s8 shortcut, pools, a classifier.
Model residual_network() {
  const Conv2d thin{.channels = kChannels, .padding = {1, 1}, .has_bias = true};
  const Conv2d same{.channels = kChannels, .padding = {1, 1}, .has_bias = true};
  const Conv2d point{
      .channels = 2 * kChannels, .kernel = {1, 1}, .stride = {2, 2}, .has_bias = true};
  NetworkWriter writer;
  std::size_t value = writer.rescale(writer.conv(0, thin, "int8"), 24, 0, 15);
  value = writer.add({.name = writer.name(),
                      .op = MaxPool{.kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1}},
                      .inputs = {value}});
  const std::size_t inner = writer.rescale(writer.conv(value, same, "int4"), 25, 0, 15);
  const std::size_t branch = writer.conv(inner, point, "int4");
  const std::size_t shortcut = writer.rescale(writer.conv(value, point, "int4"), 21, -127, 127);
  const std::size_t lifted = writer.rescale(shortcut, 8, -kMaxInteger, kMaxInteger);
  const std::size_t sum =
      writer.add({.name = writer.name(), .op = Add{}, .inputs = {branch, lifted}});
  const std::size_t positive = writer.add({.name = writer.name(), .op = Relu{}, .inputs = {sum}});
  value = writer.rescale(positive, 22, 0, 127);
  value = writer.add({.name = writer.name(),
                      .op = SumPool{.kernel = {5, 4}, .stride = {1, 1}},
                      .inputs = {value}});
  value = writer.rescale(value, 19, 0, 127);
  value = writer.add({.name = writer.name(), .op = Flatten{}, .inputs = {value}});
  value = writer.linear(value, 10);
  writer.rescale(value, 3, -kMaxInteger, kMaxInteger);
  return writer.finish();
}

}  // namespace

std::vector<std::pair<std::string, std::uint64_t>> inference_hashes() {
  const Engine engine(residual_network(), {.max_batch = 2});
  std::vector<std::byte> pictures(engine.input().bytes * kPictures);
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    pictures[i] = static_cast<std::byte>(draw32({8, 0, 0}, i) >> 24);
  }
  std::vector<std::byte> answers(engine.output().bytes * kPictures);
  engine.run(pictures, kPictures, answers);
  Hasher hasher;
  hasher.add(std::span<const std::byte>(answers));
  return {{"inference of a residual network in 4 bits", hasher.value()}};
}

}  // namespace nibble
