// SPDX-License-Identifier: Apache-2.0
// First values of parameters, a function of the seed.
#include "float_training/initialize.h"

#include <algorithm>
#include <cmath>

#include "float_training/streams.h"
#include "nibble/core/error.h"
#include "nibble/core/philox.h"

namespace nibble::inline float_training {
namespace {

constexpr double kWageLimit = 0.75;  // 1.5 steps of the 2-bit grid

struct Fans {
  double in;
  double out;
};

// Of a weight (out, …, in): taps are counted on both sides.
Fans fans_of(const Shape& weight) {
  const auto in = static_cast<double>(weight.elements() / weight[0]);
  const auto taps = weight.rank() == 4 ? static_cast<double>(weight[1] * weight[2]) : 1.0;
  return {in, static_cast<double>(weight[0]) * taps};
}

double bound_of(Initialization initialization, const Fans& fans) {
  switch (initialization) {
    case Initialization::he:
      return std::sqrt(6.0 / fans.in);
    case Initialization::fan_in:
      return std::sqrt(1.0 / fans.in);
    case Initialization::xavier:
      return std::sqrt(6.0 / (fans.in + fans.out));
    case Initialization::wage:
      return std::max(std::sqrt(6.0 / fans.in), kWageLimit);
  }
  return 0;
}

// (draw + ½) / 2^31 - 1 is symmetric about 0 and never ±1.
void fill_uniform(std::span<float> values, double bound, const RandomKey& key) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double unit = std::ldexp(static_cast<double>(draw32(key, i)) + 0.5, -31) - 1.0;
    values[i] = static_cast<float>(bound * unit);
  }
}

}  // namespace

float wage_scale(const Shape& weight) {
  const double exponent = std::round(std::log2(kWageLimit / std::sqrt(6.0 / fans_of(weight).in)));
  return static_cast<float>(std::max(1.0, std::exp2(exponent)));
}

std::vector<Tensor> initial_parameters(const Network& network, Initialization initialization,
                                       std::uint64_t seed) {
  const std::vector<Parameter> parameters = parameters_of(network);
  std::vector<Tensor> tensors;
  double last_in = 1;  // of the weight that a bias belongs to
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    Tensor tensor(DType::f32, parameter.shape);
    const auto values = tensor.as<float>();
    const RandomKey key{seed, stream_of(kInitialStreams, i), 0};
    if (parameter.kind == "weight") {
      const Fans fans = fans_of(parameter.shape);
      last_in = fans.in;
      fill_uniform(values, bound_of(initialization, fans), key);
    } else if (parameter.kind == "bias" && initialization == Initialization::fan_in) {
      fill_uniform(values, std::sqrt(1.0 / last_in), key);
    } else if (parameter.kind == "step") {
      throw Error("train", parameter.name, "nothing",
                  "a model to start from (--from), whose steps were chosen by its numbers");
    } else {
      const bool is_one = parameter.kind == "scale" || parameter.kind == "variance";
      std::ranges::fill(values, is_one ? 1.0F : 0.0F);
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace nibble::inline float_training
