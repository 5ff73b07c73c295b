// SPDX-License-Identifier: Apache-2.0
// For tests: examples for the engine, and its answers as integers.
#pragma once

#include <cstring>

#include "graph/integer_network.h"
#include "graph/naive_network.h"
#include "nibble/engine/engine.h"

namespace nibble {

inline std::vector<std::byte> as_bytes(const ValueInfo& info, const Integers& numbers) {
  std::vector<std::byte> bytes(numbers.size() * size_of(info.dtype));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto word = static_cast<std::int32_t>(numbers[i]);
    std::memcpy(&bytes[i * size_of(info.dtype)], &word, size_of(info.dtype));
  }
  return bytes;
}

inline Integers as_integers(const ValueInfo& info, std::span<const std::byte> bytes) {
  Integers result;
  for (std::size_t at = 0; at < bytes.size(); at += size_of(info.dtype)) {
    std::int32_t word = 0;
    std::memcpy(&word, &bytes[at], size_of(info.dtype));
    result.push_back(info.dtype == DType::i8 ? static_cast<std::int8_t>(word) : word);
  }
  return result;
}

inline Integers answers_of(const Engine& engine, const Integers& input, std::int64_t batch) {
  std::vector<std::byte> output(engine.output().bytes * static_cast<std::size_t>(batch));
  engine.run(as_bytes(engine.input(), input), batch, output);
  return as_integers(engine.output(), output);
}

// Examples one behind the other, and what the definitions make of them.
struct Examples {
  Integers input;
  std::vector<Integers> values;  // by node
  std::int64_t batch = 0;

  Examples(const Model& model, Dice& dice, std::int64_t low, std::int64_t high,
           std::int64_t examples)
      : values(model.network.nodes.size()), batch(examples) {
    const NaiveNetwork naive(model);
    for (std::int64_t e = 0; e < batch; ++e) {
      // Of some examples all numbers are extreme.
      Integers one = dice.many(naive.shapes()[0].elements(), low, high);
      if (e % 3 == 1) {
        for (std::int64_t& x : one) x = x % 2 != 0 ? low : high;
      }
      input.insert(input.end(), one.begin(), one.end());
      const std::vector<Integers> all = naive.values(one);
      for (std::size_t i = 0; i < all.size(); ++i)
        values[i].insert(values[i].end(), all[i].begin(), all[i].end());
    }
  }

  // Of the first examples.
  Integers first(const Integers& list, std::int64_t examples) const {
    const auto each = static_cast<std::ptrdiff_t>(list.size()) / batch;
    return {list.begin(), list.begin() + each * examples};
  }
};

}  // namespace nibble
