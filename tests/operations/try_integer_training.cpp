// SPDX-License-Identifier: Apache-2.0
// A step of integer training is that of the reference, weight for weight; a loss moves weights
// along the gradient of its definition.
#include <gtest/gtest.h>

#include <cmath>

#include "integer_step/integer_session_test_support.h"
#include "integer_step/integer_test_support.h"
#include "integer_step/session.h"
#include "integer_training/integer_run_test_support.h"
#include "tests/operations/definitions.h"
#include "tests/operations/trials.h"

namespace nibble {
namespace {

constexpr std::int64_t kIntegerImages = 20;

double cosine(const Reals& a, const Reals& b) {
  double product = 0, of_a = 0, of_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    product += a[i] * b[i];
    of_a += a[i] * a[i];
    of_b += b[i] * b[i];
  }
  return product / std::sqrt(of_a * of_b);
}

// The first weight of a model of integer training: mantissa·2^exponent.
Reals first_weight(const Model& model) {
  const Node& node = model.network.nodes[parameters_of(model.network)[0].node];
  const int exponent = exponent_of(node.weight).value();
  Reals weights;
  for (const std::int8_t each : model.parameters[0].as<std::int8_t>())
    weights.push_back(std::ldexp(static_cast<double>(each), exponent));
  return weights;
}

// Of pictures of one channel.
double entered(const Input& input, std::uint8_t byte) {
  const double mean = input.mean.empty() ? 0 : static_cast<double>(input.mean[0]);
  const double deviation = input.deviation.empty() ? 1 : static_cast<double>(input.deviation[0]);
  return (byte / 255.0 - mean) / deviation;
}

double loss_of_weights(const Network& network, const Reals& weights, const Dataset& data) {
  Model model{.network = network, .parameters = {}};
  model.parameters.emplace_back(DType::f32, parameters_of(network)[0].shape);
  std::ranges::transform(weights, model.parameters[0].as<float>().begin(),
                         [](double each) { return static_cast<float>(each); });
  const Definitions definitions(model);
  const std::int64_t elements = definitions.input_shape().elements();
  double sum = 0;
  for (std::int64_t n = 0; n < kIntegerImages; ++n) {
    Reals example;
    for (std::int64_t i = 0; i < elements; ++i)
      example.push_back(
          entered(input_of(network),
                  data.images.as<std::uint8_t>()[static_cast<std::size_t>(n * elements + i)]));
    const auto label =
        static_cast<std::size_t>(data.labels.as<std::int32_t>()[static_cast<std::size_t>(n)]);
    sum += Definitions::loss_of(network.nodes.back().op, definitions.answer(example), label);
  }
  return sum;
}

Reals gradient_of_weights(const Network& network, const Reals& weights, const Dataset& data) {
  constexpr double kStep = 1.0 / 1024;
  Reals gradient;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    Reals up = weights;
    Reals down = weights;
    up[i] += kStep;
    down[i] -= kStep;
    gradient.push_back(loss_of_weights(network, up, data) - loss_of_weights(network, down, data));
  }
  return gradient;
}

void expect_along_the_gradient(const Network& network) {
  const TrainingData data =
      made_up_data(input_of(network).shape, kIntegerImages, static_cast<std::int32_t>(kClasses));
  IntegerRecipe recipe;
  recipe.network = network;
  recipe.data = "made up";
  static_cast<RunSettings&>(recipe) = complete(recipe, data);
  IntegerLearner learner(recipe, data, nullptr);
  const Reals before = first_weight(learner.snapshot());
  take_steps(learner, data, kIntegerImages, 1, 10);
  Reals moved = first_weight(learner.snapshot());
  for (std::size_t i = 0; i < moved.size(); ++i) moved[i] = before[i] - moved[i];
  EXPECT_GT(cosine(moved, gradient_of_weights(recipe.network, before, data.train)), 0.97);
}

}  // namespace

void try_integer_training(const OperationCase& each) {
  const Network network = trained_network(each);
  if (is<BatchNorm>(each.op)) {  // by the rule that it needs, on both at once
    return expect_agreement({"batch_norm", network}, {}, 2, kIntegerImages);
  }
  const IntegerSession session(network, {});  // refuses
  Twins twins(network);
  for (std::uint64_t seed = 1; seed <= 2; ++seed)
    twins.step(kIntegerImages, seed, {.random = {5, 0, static_cast<std::uint32_t>(seed)}});
  if (is_loss(each.op)) expect_along_the_gradient(network);
}

}  // namespace nibble
