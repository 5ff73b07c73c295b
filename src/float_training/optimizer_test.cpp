// SPDX-License-Identifier: Apache-2.0
// The optimizers against PyTorch's formulas in double, and the places where their numbers are
// rounded.
#include "float_training/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "float_training/tape.h"
#include "nibble/graph/network_text.h"

namespace nibble::inline float_training {
namespace {

constexpr const char* kNetwork = R"(
input = [6]
layers = [{op="linear", features=4, bias=true}, {op="softmax_cross_entropy"}])";

// One weight (4, 6) and one bias (4) under an optimizer.
class Fixture {
 public:
  explicit Fixture(const OptimizerSettings& settings, const PrecisionPolicy& policy = {})
      : network_(parse_network(kNetwork, "test")),
        policy_(policy),
        rounder_(network_, 5),
        tape_(network_, policy_, rounder_),
        optimizer_(settings, network_, policy_, rounder_, tape_.parameters()) {
    std::vector<Tensor> values;
    for (LayerParameter* each : tape_.parameters()) {
      Tensor tensor(DType::f32, each->value.shape());
      for (std::size_t i = 0; i < tensor.as<float>().size(); ++i)
        tensor.as<float>()[i] = 0.1F * static_cast<float>(i % 5) - 0.2F;
      values.push_back(std::move(tensor));
    }
    optimizer_.set_masters(values);
    optimizer_.refresh_weights();
  }

  void set_gradients(int step, float factor = 1.0F) {
    for (LayerParameter* each : tape_.parameters()) {
      const auto gradient = each->gradient.as<float>();
      for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = factor * gradient_at(step, i);
    }
  }
  static float gradient_at(int step, std::size_t i) {
    return 0.01F * static_cast<float>((i * 7 + static_cast<std::size_t>(step) * 3) % 11) - 0.05F;
  }

  std::span<float> weight() { return tape_.parameters()[0]->value.as<float>(); }
  Optimizer& optimizer() { return optimizer_; }

 private:
  Network network_;
  PrecisionPolicy policy_;
  Rounder rounder_;
  Tape tape_;
  Optimizer optimizer_;
};

template <class Step>
void compare(const OptimizerSettings& settings, const Step& reference) {
  Fixture fixture(settings);
  std::vector<double> w(fixture.weight().begin(), fixture.weight().end());
  std::vector<double> a(w.size());
  std::vector<double> b(w.size());
  for (int t = 1; t <= 5; ++t) {
    fixture.set_gradients(t);
    fixture.optimizer().step(0.1, 1.0, false);
    for (std::size_t i = 0; i < w.size(); ++i)
      reference(t, static_cast<double>(Fixture::gradient_at(t, i)), w[i], a[i], b[i]);
  }
  for (std::size_t i = 0; i < w.size(); ++i) EXPECT_NEAR(fixture.weight()[i], w[i], 2e-6) << i;
}

TEST(Optimizer, SgdWithMomentumAndDecayIsPyTorchs) {
  compare({.kind = OptimizerKind::sgd, .momentum = 0.9, .weight_decay = 0.01},
          [](int, double g, double& w, double& v, double&) {
            v = 0.9 * v + g + 0.01 * w;
            w -= 0.1 * v;
          });
}

TEST(Optimizer, NesterovLooksAhead) {
  compare({.kind = OptimizerKind::sgd, .momentum = 0.9, .has_nesterov = true},
          [](int, double g, double& w, double& v, double&) {
            v = 0.9 * v + g;
            w -= 0.1 * (g + 0.9 * v);
          });
}

TEST(Optimizer, AdamIsPyTorchs) {
  compare({.kind = OptimizerKind::adam, .weight_decay = 0.01}, [](int t, double g, double& w,
                                                                  double& m, double& v) {
    g += 0.01 * w;
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    w -= 0.1 * (m / (1 - std::pow(0.9, t))) / (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-8);
  });
}

TEST(Optimizer, AdamWDecaysTheWeightItself) {
  compare({.kind = OptimizerKind::adamw, .weight_decay = 0.01}, [](int t, double g, double& w,
                                                                   double& m, double& v) {
    w *= 1 - 0.1 * 0.01;
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    w -= 0.1 * (m / (1 - std::pow(0.9, t))) / (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-8);
  });
}

TEST(Optimizer, TheMasterKeepsWhatTheWeightCannotHold) {
  PrecisionPolicy policy;
  PolicyRule rule;
  rule.roles = {Role::weight};
  rule.rounding.precision.format = parse_format("fixed(8,2)");  // steps of a quarter
  policy.rules.push_back(rule);
  Fixture fixture({.kind = OptimizerKind::sgd, .momentum = 0}, policy);
  const float before = fixture.weight()[1];
  EXPECT_EQ(before, std::nearbyint(before * 4) / 4);
  for (int t = 1; t <= 40; ++t) {
    fixture.set_gradients(0);  // the same small step each time
    fixture.optimizer().step(0.2, 1.0, false);
  }
  const double expected = -0.1 - 40 * 0.2 * static_cast<double>(Fixture::gradient_at(0, 1));
  EXPECT_EQ(fixture.weight()[1], static_cast<float>(std::nearbyint(expected * 4) / 4));
  EXPECT_NE(fixture.weight()[1], before);
}

TEST(Optimizer, ALossScaleIsDividedOutAndOverflowSkipsTheStep) {
  Fixture plain({.kind = OptimizerKind::sgd});
  Fixture scaled({.kind = OptimizerKind::sgd});
  plain.set_gradients(1);
  scaled.set_gradients(1, 256.0F);
  EXPECT_TRUE(plain.optimizer().step(0.1, 1.0, false));
  EXPECT_TRUE(scaled.optimizer().step(0.1, 256.0, true));
  EXPECT_TRUE(std::ranges::equal(plain.weight(), scaled.weight()));

  const std::vector<float> before(scaled.weight().begin(), scaled.weight().end());
  scaled.set_gradients(2, std::numeric_limits<float>::infinity());
  EXPECT_FALSE(scaled.optimizer().step(0.1, 256.0, true));
  EXPECT_TRUE(std::ranges::equal(before, scaled.weight()));
}

}  // namespace
}  // namespace nibble::inline float_training
