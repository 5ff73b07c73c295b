// SPDX-License-Identifier: Apache-2.0
// What tests of integer networks share: a tape beside a network of plain loops.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/backend_test_support.h"
#include "integer_step/tape.h"
#include "integer_step/test_reference_network.h"
#include "nibble/graph/network_text.h"

namespace nibble::inline integer_step {

inline Network network_of(std::string_view toml) {
  return parse_network(toml, "test");
}

inline InputBatch input_of_block(const reference::Block& block) {
  return {.images = block.images, .mantissas = block.data, .exponent = block.exponent};
}

inline reference::Block block_of(const IntegerTape& tape, const Values& answer) {
  IntegerBackend& backend = tape.answer_backend();
  reference::Block block{answer.picture, answer.images, backend.read_slots().exponent(answer), {}};
  block.data.resize(block.size());
  backend.store(answer, block.data);
  return block;
}

// A tape and the reference with the same random weights.
class Twins {
 public:
  explicit Twins(const Network& network, std::uint64_t seed = 1)
      : tape(network, {}, Placement(make_backend("cpu"))),
        reference_(network, random_weights(seed)) {}

  // One step on both; errors come back from a random error of the answer.
  void step(std::int64_t images, std::uint64_t seed, const reference::Step& step = {},
            int input_exponent = -7) {
    Draws draws(seed);
    const auto batch = random_block(tape.input_picture(), images, input_exponent, draws);
    const reference::Block wanted = reference_.forward(batch, step);
    const StepContext context{.rule = ShiftRule::exact,
                              .random = step.random,
                              .is_training = step.is_training,
                              .update = ShiftUpdate{.mu = step.mu, .bias_mu = step.bias_mu},
                              .all_images = images};
    const Values answer = tape.forward(context, input_of_block(batch));
    expect_same(block_of(tape, answer), wanted, "answers");
    if (!step.is_training) return;
    reference::Block error = random_block(answer.picture, images, -7, draws);
    tape.backward(context, [&](const Values& target) {
      tape.answer_backend().load(error.data, error.exponent, target);
    });
    error.picture = wanted.picture;
    reference_.backward(error, step);
    for (const TrainedTensor* each : tape.parameters()) {
      EXPECT_EQ(each->mantissas(), reference_.weights.at(each->name()).mantissas)
          << each->name() << " after the update";
    }
  }

  IntegerTape tape;

 private:
  std::map<std::string, reference::Weight> random_weights(std::uint64_t seed) {
    Draws draws(seed);
    std::map<std::string, reference::Weight> weights;
    for (TrainedTensor* each : tape.parameters()) {
      const auto values = random_mantissas(each->size(), draws);
      each->write_mantissas(values, each->exponent());
      weights[each->name()] = {values, each->exponent()};
    }
    return weights;
  }

  reference::ReferenceNetwork reference_;
};

// Steps of a network on every path, beside the reference.
inline void expect_as_defined(std::string_view toml, std::initializer_list<std::int64_t> batches,
                              const reference::Step& step = {}) {
  const Network network = network_of(toml);
  on_every_path([&] {
    Twins twins(network);
    std::uint64_t seed = 7;
    for (const std::int64_t images : batches) {
      SCOPED_TRACE(std::to_string(images) + " images");
      reference::Step own = step;
      own.random = {5, 0, static_cast<std::uint32_t>(seed)};
      twins.step(images, seed++, own);
    }
  });
}

}  // namespace nibble::inline integer_step
