// SPDX-License-Identifier: Apache-2.0
// Answers and losses of a float network are those of the definitions; gradients follow the loss.
#include <gtest/gtest.h>

#include <cmath>

#include "float_training/test_networks.h"
#include "tests/operations/definitions.h"
#include "tests/operations/trials.h"

namespace nibble {
namespace {

constexpr std::int64_t kTrainedImages = 5;

// What TapeUnderTest lets enter.
Reals tape_example(std::int64_t image, std::int64_t elements) {
  Reals example;
  for (std::int64_t i = 0; i < elements; ++i)
    example.push_back(
        static_cast<double>(2.0F * test_value(1, static_cast<std::size_t>(image * elements + i))));
  return example;
}

Model model_of(TapeUnderTest& tape, const Network& network) {
  Model model{.network = network, .parameters = {}};
  for (std::size_t p = 0; p < parameters_of(network).size(); ++p)
    model.parameters.push_back(copy_of(tape.parameter(p).value.view()));
  return model;
}

void expect_answers(TapeUnderTest& tape, const Network& network) {
  const Definitions definitions(model_of(tape, network));
  const ConstTensorView answers = tape.run_forward(false);
  std::size_t at = 0;
  for (std::int64_t image = 0; image < kTrainedImages; ++image) {
    for (const double wanted :
         definitions.answer(tape_example(image, definitions.input_shape().elements())))
      EXPECT_NEAR(static_cast<double>(answers.as<float>()[at++]), wanted,
                  1e-4 * (1 + std::abs(wanted)));
  }
}

// Without chance and without the moments of a batch.
bool is_the_same_in_training(const Op& op) {
  return !is<Dropout>(op) && !is<BatchNorm>(op);
}

void expect_loss(TapeUnderTest& tape, const Network& network) {
  const Definitions definitions(model_of(tape, network));
  double wanted = 0;
  for (std::int64_t image = 0; image < kTrainedImages; ++image) {
    const Reals answer =
        definitions.answer(tape_example(image, definitions.input_shape().elements()));
    wanted +=
        Definitions::loss_of(network.nodes.back().op, answer, static_cast<std::size_t>(image % 3));
  }
  EXPECT_NEAR(tape.loss(), wanted / kTrainedImages, 1e-4 * (1 + wanted));
}

}  // namespace

void try_float_training(const OperationCase& each) {
  OperationCase own = each;
  // Steps so small that a slope can be seen through them.
  for (Node& node : own.nodes) {
    if (auto* rounding = std::get_if<FakeQuantize>(&node.op))
      *rounding = {.low = -1'000'000, .high = 1'000'000};
  }
  const Network network = trained_network(own);
  TapeUnderTest tape(network, kTrainedImages);
  expect_answers(tape, network);
  if (is_the_same_in_training(each.op)) expect_loss(tape, network);
  expect_gradients_of_the_loss(tape, network);
}

}  // namespace nibble
