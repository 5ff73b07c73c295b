// SPDX-License-Identifier: Apache-2.0
// For tests: integer networks with their numbers, made node by node.
#pragma once

#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "graph/defined_network.h"
#include "nibble/graph/network.h"

namespace nibble::inline graph {

// Numbers that are the same on every machine.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : draw_(seed) {}
  std::int64_t from(std::int64_t least, std::int64_t most) {
    return least +
           static_cast<std::int64_t>(draw_() % static_cast<std::uint64_t>(most - least + 1));
  }
  bool is_one_of(std::int64_t many) { return from(1, many) == 1; }
  template <class T>
  T any(std::initializer_list<T> list) {
    return list.begin()[from(0, static_cast<std::int64_t>(list.size()) - 1)];
  }
  Integers many(std::int64_t count, std::int64_t least, std::int64_t most) {
    Integers result;
    for (std::int64_t i = 0; i < count; ++i) result.push_back(from(least, most));
    return result;
  }

 private:
  std::mt19937_64 draw_;
};

template <class T>
Tensor tensor_of(const Shape& shape, const Integers& numbers) {
  Tensor tensor(DTypeOf<T>::value, shape);
  for (std::size_t i = 0; i < numbers.size(); ++i) tensor.as<T>()[i] = static_cast<T>(numbers[i]);
  return tensor;
}

inline Precision integers_format(const char* name, int zero = 0) {
  Precision precision{.format = parse_format(name)};
  if (zero != 0) {
    precision.format.scaling.kind = ScaleKind::given;
    precision.format.scaling.zero = zero;
  }
  return precision;
}

// Nodes with their numbers, one after another.
class NetworkMaker {
 public:
  NetworkMaker(const Shape& input, const Precision& format) {
    model_.network.name = "made";
    model_.network.nodes.push_back({.name = "input",
                                    .op = Input{.shape = input, .mean = {}, .deviation = {}},
                                    .value = format});
  }

  std::size_t add(Op op, std::vector<std::size_t> inputs) {
    const std::size_t index = model_.network.nodes.size();
    std::string name = "n";
    name += std::to_string(index);
    model_.network.nodes.push_back(
        {.name = std::move(name), .op = std::move(op), .inputs = std::move(inputs)});
    return index;
  }
  std::size_t add(Op op) { return add(std::move(op), {model_.network.nodes.size() - 1}); }

  // The tensor that belongs to the node just added.
  NetworkMaker& with(Tensor tensor) {
    model_.parameters.push_back(std::move(tensor));
    return *this;
  }
  void set_weight_format(const char* name) {
    model_.network.nodes.back().weight = integers_format(name);
  }

  std::size_t rescale(std::size_t input, const Integers& multipliers, std::int64_t shift,
                      std::int64_t low, std::int64_t high) {
    const bool is_per_channel = multipliers.size() > 1;
    const std::size_t node =
        add(Rescale{.shift = shift, .low = low, .high = high, .is_per_channel = is_per_channel},
            {input});
    with(tensor_of<std::int32_t>({static_cast<std::int64_t>(multipliers.size())}, multipliers));
    return node;
  }

  std::size_t last() const { return model_.network.nodes.size() - 1; }
  const Network& network() const { return model_.network; }

  Model model() const { return copy_of(model_); }

 private:
  Model model_;
};

// The integers that an input may hold.
struct InputForm {
  const char* format;
  int zero;
  std::int64_t low, high;
};

inline NetworkMaker network_on(const Shape& input, const InputForm& form) {
  return {input, integers_format(form.format, form.zero)};
}

}  // namespace nibble::inline graph
