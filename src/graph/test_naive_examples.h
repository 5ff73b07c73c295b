// SPDX-License-Identifier: Apache-2.0
// For tests: examples by chance, and what the definitions make of them.
#pragma once

#include "graph/defined_network.h"
#include "graph/test_network_maker.h"

namespace nibble::inline graph {

// Examples one behind the other, and what the definitions make of them.
struct NaiveExamples {
  Integers input;
  std::vector<Integers> values;  // by node
  std::int64_t batch = 0;

  NaiveExamples(const Model& model, Dice& dice, std::int64_t low, std::int64_t high,
                std::int64_t examples)
      : values(model.network.nodes.size()), batch(examples) {
    const DefinedNetwork naive(model);
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

}  // namespace nibble::inline graph
