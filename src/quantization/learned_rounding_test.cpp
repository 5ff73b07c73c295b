// SPDX-License-Identifier: Apache-2.0
#include "quantization/passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nibble/core/parallel.h"
#include "quantization/error_table.h"
#include "quantization/fake_quantized.h"
#include "quantization/nearest_plane.h"
#include "quantization/quantize_test_support.h"
#include "quantization/sampled_rows.h"

namespace nibble::inline quantization {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A residual block, a stride, groups, a depthwise layer and a linear one.
Network mixed_network() {
  Network network = chain({8, 8, 3}, {Conv2d{.channels = 8, .padding = {1, 1}, .has_bias = true},
                                      Relu{}, Conv2d{.channels = 8, .padding = {1, 1}}});
  network.nodes.push_back({.name = "add", .op = Add{}, .inputs = {2, 3}});
  network.nodes.push_back(
      {.name = "depthwise",
       .op = Conv2d{.channels = 8, .stride = {2, 2}, .padding = {1, 1}, .groups = 8},
       .inputs = {4}});
  network.nodes.push_back({.name = "relu", .op = Relu{}, .inputs = {5}});
  network.nodes.push_back(
      {.name = "grouped", .op = Conv2d{.channels = 6, .groups = 2}, .inputs = {6}});
  network.nodes.push_back({.name = "flat", .op = Flatten{}, .inputs = {7}});
  network.nodes.push_back(
      {.name = "fc", .op = Linear{.features = 5, .has_bias = true}, .inputs = {8}});
  return network;
}

const std::vector<std::string> kProducts = {"n1", "n3", "depthwise", "grouped", "fc"};

std::vector<Tensor> batches_for(const Network& network) {
  std::vector<Tensor> batches;
  for (const std::int64_t examples : {24, 7, 16})
    batches.push_back(random_batch(network, examples));
  return batches;
}

Model fake_of(const Model& model, const std::vector<Tensor>& batches, int bits) {
  QuantizeSettings settings;
  settings.bits.weights = bits;
  return fake_quantized(model, observe(model, batches), settings);
}

double sqnr_of(const std::vector<NodeError>& errors, const std::string& name) {
  for (const NodeError& each : errors) {
    if (each.name == name) return each.sqnr;
  }
  throw Error("test", "no node " + name);
}

TEST(LearnedRounding, LayersAreNearerToTheirFloatSums) {
  const Model model = random_model(mixed_network());
  const std::vector<Tensor> batches = batches_for(model.network);
  const Model nearest = fake_of(model, batches, 4);
  const Model learned = with_learned_rounding(model, copy_of(nearest), batches);
  const auto before = node_errors(model, nearest, batches);
  const auto after = node_errors(model, learned, batches);
  // What enters the first is white noise: there no weight can make up for another.
  for (const std::string& name : std::span(kProducts).subspan(1)) {
    EXPECT_GT(sqnr_of(after, name), sqnr_of(before, name) + 1.5) << name;
  }
}

TEST(LearnedRounding, WithoutBiasesToMoveWeightsAloneDoIt) {
  const Model model = random_model(mixed_network());
  const std::vector<Tensor> batches = batches_for(model.network);
  const Model nearest = fake_of(model, batches, 4);
  Model learned = with_learned_rounding(model, copy_of(nearest), batches, {.moves_biases = false});
  EXPECT_EQ(learned.network, nearest.network);
  Model floats = copy_of(model);
  for (const char* name : {"n1.bias", "fc.bias"}) {
    EXPECT_TRUE(std::ranges::equal(parameter(learned, name), parameter(floats, name))) << name;
  }
  EXPECT_GT(sqnr_of(node_errors(model, learned, batches), "fc"),
            sqnr_of(node_errors(model, nearest, batches), "fc") + 1);
}

TEST(LearnedRounding, WeightsAreIntegersOfTheGridInUnitsOfTheSteps) {
  Model model = random_model(mixed_network());
  const std::vector<Tensor> batches = batches_for(model.network);
  for (const int bits : {2, 3, 4}) {
    Model learned = with_learned_rounding(model, fake_of(model, batches, bits), batches);
    const IntegerGrid grid{-(1 << (bits - 1)), (1 << (bits - 1)) - 1};
    std::size_t moved = 0;
    for (const std::string& name : kProducts) {
      const auto steps = parameter(learned, name + ".step");
      const auto weights = parameter(learned, name + ".weight");
      const auto reals = parameter(model, name + ".weight");
      const std::size_t run = weights.size() / steps.size();
      for (std::size_t i = 0; i < weights.size(); ++i) {
        ASSERT_EQ(fake_quantized(weights[i], steps[i / run], grid), weights[i]) << name << i;
        moved += fake_quantized(reals[i], steps[i / run], grid) != weights[i] ? 1 : 0;
      }
    }
    EXPECT_GT(moved, 100U) << bits;
  }
}

TEST(LearnedRounding, IsTheSameOnAnyNumberOfThreads) {
  const Model model = random_model(mixed_network());
  const std::vector<Tensor> batches = batches_for(model.network);
  std::vector<std::uint64_t> hashes;
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    hashes.push_back(weights_hash(
        with_learned_rounding(model, fake_of(model, batches, 4), batches, {.rows = 300})));
  }
  set_thread_count(0);
  EXPECT_THAT(hashes, ElementsAre(hashes[0], hashes[0], hashes[0]));
}

TEST(LearnedRounding, InputsOfZerosLeaveTheNearestIntegers) {
  const Model model = random_model(chain({4}, {Linear{.features = 3}}));
  std::vector<Tensor> batches = batches_for(model.network);
  const Model nearest = fake_of(model, batches, 4);
  for (Tensor& batch : batches) std::ranges::fill(batch.as<float>(), 0.0F);
  Model learned = with_learned_rounding(model, copy_of(nearest), batches);
  Model expected = copy_of(nearest);
  const auto weights = parameter(learned, "n1.weight");
  const auto steps = parameter(learned, "n1.step");
  for (std::size_t i = 0; i < weights.size(); ++i) {
    EXPECT_EQ(weights[i],
              graph::fake_quantized(parameter(expected, "n1.weight")[i], steps[i / 4], {-8, 7}));
  }
}

TEST(LearnedRounding, ANetworkWithoutStepsIsRefused) {
  const Model model = random_model(chain({4}, {Linear{.features = 3}}));
  const std::vector<Tensor> batches = batches_for(model.network);
  EXPECT_THAT(error_of([&] { (void)with_learned_rounding(model, copy_of(model), batches); }),
              HasSubstr("n1: got a weight without steps"));
}

// H of vectors that are far from orthogonal.
std::vector<double> skewed_form(std::size_t order) {
  std::vector<double> form(order * order);
  for (std::size_t r = 0; r < 3 * order; ++r) {
    for (std::size_t i = 0; i < order; ++i) {
      for (std::size_t j = 0; j < order; ++j) {
        const double x = double{random_value(r, i)} + 1.5;
        form[i * order + j] += x * (double{random_value(r, j)} + 1.5);
      }
    }
  }
  return form;
}

double form_of(std::span<const double> form, std::span<const double> e) {
  double sum = 0;
  for (std::size_t i = 0; i < e.size(); ++i) {
    for (std::size_t j = 0; j < e.size(); ++j) sum += e[i] * form[i * e.size() + j] * e[j];
  }
  return sum;
}

TEST(NearestPlane, SolvesTheForm) {
  constexpr std::size_t kOrder = 150;  // more than two panels
  const std::vector<double> form = skewed_form(kOrder);
  std::vector<double> x(kOrder);
  std::vector<double> y(kOrder);
  for (std::size_t i = 0; i < kOrder; ++i) x[i] = double{random_value(5, i)};
  for (std::size_t i = 0; i < kOrder; ++i) {
    for (std::size_t j = 0; j < kOrder; ++j) y[i] += form[i * kOrder + j] * x[j];
  }
  const std::vector<double> found = NearestPlane(form, kOrder).solved(y);
  for (std::size_t i = 0; i < kOrder; ++i) EXPECT_NEAR(found[i], x[i], 1e-9);
}

TEST(NearestPlane, BeatsRoundingEachByItself) {
  constexpr std::size_t kOrder = 40;
  const std::vector<double> form = skewed_form(kOrder);
  const NearestPlane plane(form, kOrder);
  double own_sum = 0;
  double nearest_sum = 0;
  for (std::size_t trial = 0; trial < 20; ++trial) {
    std::vector<double> weights(kOrder);
    for (std::size_t i = 0; i < kOrder; ++i) weights[i] = 3 * double{random_value(trial, i)};
    const std::vector<float> integers = plane.integers(weights, 0.5F, {-8, 7});
    std::vector<double> own(kOrder);
    std::vector<double> nearest(kOrder);
    for (std::size_t i = 0; i < kOrder; ++i) {
      own[i] = weights[i] - 0.5 * double{integers[i]};
      nearest[i] = weights[i] - 0.5 * std::round(weights[i] / 0.5);
    }
    own_sum += form_of(form, own);
    nearest_sum += form_of(form, nearest);
  }
  EXPECT_LT(own_sum, 0.3 * nearest_sum);
}

TEST(NearestPlane, ADiagonalFormRoundsToTheNearestOfTheGrid) {
  const NearestPlane plane(std::vector<double>{4, 0, 0, 1}, 2);
  EXPECT_THAT(plane.integers(std::vector<double>{1.4, -9.0}, 1.0F, {-8, 7}), ElementsAre(1, -8));
}

TEST(NearestPlane, AFormThatIsNotPositiveIsRefused) {
  EXPECT_THAT(error_of([] {
                (void)NearestPlane(std::vector<double>{1, 2, 2, 1}, 2);
              }),
              HasSubstr("quadratic form: got -3"));
}

TEST(SampledRows, PlacesAreAllOrOneOfEachStretch) {
  EXPECT_THAT(sampled_places(3, 8, {}), ElementsAre(0, 1, 2));
  const std::vector<std::int64_t> places = sampled_places(1000, 10, {.seed = 3});
  ASSERT_EQ(places.size(), 10U);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(places[i] / 100, static_cast<std::int64_t>(i));
  }
  EXPECT_NE(sampled_places(1000, 10, {.seed = 4}), places);
}

TEST(SampledRows, TimesWeightsAreTheSums) {
  const Model model = random_model(chain({7, 6, 4}, {Conv2d{.channels = 6,
                                                            .kernel = {3, 2},
                                                            .stride = {2, 1},
                                                            .padding = {1, 1},
                                                            .dilation = {1, 2},
                                                            .groups = 2}}));
  const Tensor batch = random_batch(model.network, 2);
  const Tensor sums = answers_of(model, batch.view());
  const std::vector<Shape> shapes = infer_shapes(model.network);
  const ProductRows rows(model.network.nodes[1].op, shapes[0], shapes[1]);
  ASSERT_EQ(rows.order(), 12);
  ASSERT_EQ(rows.area() * 2 * 6, sums.elements());
  std::vector<std::int64_t> places(static_cast<std::size_t>(rows.area() * 2));
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<std::int64_t>(i);
  const auto weights = model.parameters[0].as<float>();
  for (std::size_t output = 0; output < 6; ++output) {
    const auto windows = rows.of(batch.view(), places, static_cast<std::int64_t>(output) / 3);
    for (std::size_t i = 0; i < places.size(); ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < 12; ++j) {
        sum += double{windows[i * 12 + j]} * double{weights[output * 12 + j]};
      }
      EXPECT_NEAR(sums.as<float>()[i * 6 + output], sum, 1e-5) << i << " " << output;
    }
  }
}

}  // namespace
}  // namespace nibble::inline quantization
