// SPDX-License-Identifier: Apache-2.0
// A tape with numbers in it, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "float_training/losses.h"
#include "float_training/tape.h"
#include "nibble/core/philox.h"

namespace nibble::inline float_training {

// In [-1, 1), a function of its place.
inline float test_value(std::size_t stream, std::size_t i) {
  return static_cast<float>(
      std::ldexp(static_cast<double>(draw32({42, static_cast<std::uint32_t>(stream), 0}, i)), -31) -
      1.0);
}

class TapeUnderTest {
 public:
  TapeUnderTest(const Network& network, std::int64_t images, const PrecisionPolicy& policy = {},
                const FloatPlacement* placement = nullptr, bool trains_steps = true)
      : network_(network),
        policy_(policy),
        rounder_(network_, 9),
        tape_(network_, policy_, rounder_, placement, trains_steps),
        images_(images) {
    const Shape& shape = input_of(network_).shape;
    batch_ = Tensor(DType::f32, shape.rank() == 3 ? Shape{images, shape[0], shape[1], shape[2]}
                                                  : Shape{images, shape[0]});
    const auto values = batch_.as<float>();
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 2.0F * test_value(1, i);
    for (std::int64_t i = 0; i < images; ++i) labels_.push_back(static_cast<std::int32_t>(i % 3));
    const std::vector<Parameter> parameters = parameters_of(network_);
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      const auto weights = parameter(p).value.as<float>();
      for (std::size_t i = 0; i < weights.size(); ++i) {
        weights[i] = 0.5F * test_value(100 + p, i);
        if (parameters[p].kind == "variance" || parameters[p].kind == "scale") weights[i] += 1.0F;
        if (parameters[p].kind == "step") weights[i] = 2e-5F * (1.0F + weights[i] * weights[i]);
      }
      ++parameter(p).version;
    }
  }

  LayerParameter& parameter(std::size_t p) { return *tape_.parameters()[p]; }
  BufferPool& pool() { return pool_; }

  Pass pass(bool is_training) {
    return {.slices = cut_batch(images_, images_, false),
            .is_training = is_training,
            .random = {9, 0, 3},
            .pool = &pool_};
  }

  ConstTensorView run_forward(bool is_training) {
    return tape_.forward(pass(is_training), batch_.view());
  }

  double loss() {
    const ConstTensorView answers = run_forward(true);
    std::vector<double> losses(static_cast<std::size_t>(images_));
    image_losses(network_.nodes.back().op, answers, {labels_, {}}, losses);
    double sum = 0;
    for (const double each : losses) sum += each;
    return sum / static_cast<double>(images_);
  }

  void run() {
    const ConstTensorView answers = run_forward(true);
    Tensor error(DType::f32, answers.shape());
    loss_error(network_.nodes.back().op, answers, {labels_, {}}, 1.0, error.view());
    tape_.backward(pass(true), error.view());
  }

  // The slope of the loss when a parameter moves along a direction, from both sides.
  double difference(std::size_t p, std::span<const float> direction) {
    constexpr float kStep = 2e-3F;
    const auto values = parameter(p).value.as<float>();
    const std::vector<float> before(values.begin(), values.end());
    const auto loss_at = [&](float distance) {
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = before[i] + distance * direction[i];
      ++parameter(p).version;
      return loss();
    };
    const double slope = (loss_at(kStep) - loss_at(-kStep)) / (2 * static_cast<double>(kStep));
    std::ranges::copy(before, values.begin());
    ++parameter(p).version;
    return slope;
  }

  std::vector<std::vector<float>> gradients() {
    std::vector<std::vector<float>> all;
    for (LayerParameter* each : tape_.parameters()) {
      if (each->gradient.data() == nullptr) continue;
      const auto values = each->gradient.as<float>();
      all.emplace_back(values.begin(), values.end());
    }
    return all;
  }

 private:
  Network network_;
  PrecisionPolicy policy_;
  BufferPool pool_;
  Rounder rounder_;
  Tape tape_;
  std::int64_t images_;
  Tensor batch_;
  std::vector<std::int32_t> labels_;
};

// d(loss)/d(parameter) along a direction: Σ gradient·direction against (L(w+hd) - L(w-hd)) / 2h.
inline void expect_gradients_of_the_loss(TapeUnderTest& tape, const Network& network) {
  tape.run();
  const std::vector<Parameter> parameters = parameters_of(network);
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    // Steps have LSQ's gradient, which is not that of the loss.
    if (!parameters[p].is_trained || parameters[p].kind == "step") continue;
    const auto gradient = tape.parameter(p).gradient.as<float>();
    std::vector<float> direction(gradient.size());
    double expected = 0;
    double size = 0;
    for (std::size_t i = 0; i < direction.size(); ++i) {
      direction[i] = test_value(7 + p, i);
      expected += static_cast<double>(gradient[i]) * static_cast<double>(direction[i]);
      size += std::abs(static_cast<double>(gradient[i]) * static_cast<double>(direction[i]));
    }
    EXPECT_NEAR(tape.difference(p, direction), expected,
                0.02 * size / std::sqrt(static_cast<double>(direction.size())) +
                    0.06 * std::abs(expected) + 2e-4)
        << parameters[p].name;
    EXPECT_GT(size, 0) << parameters[p].name << " has no gradient at all";
  }
}

}  // namespace nibble::inline float_training
