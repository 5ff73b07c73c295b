// SPDX-License-Identifier: Apache-2.0
// A float network and the integers that quantization makes of it answer alike, within the steps of
// 8 bits.
#include <gtest/gtest.h>

#include <cmath>

#include "graph/test_network_maker.h"
#include "nibble/quantization/quantize_model.h"
#include "quantization/integer_parts.h"
#include "tests/operations/definitions.h"
#include "tests/operations/trials.h"

namespace nibble {
namespace {

constexpr std::int64_t kCalibrated = 8;

Tensor calibration_of(const Network& network) {
  std::vector<std::int64_t> extents{kCalibrated};
  for (const std::int64_t each : input_of(network).shape.extents()) extents.push_back(each);
  Tensor batch(DType::f32, Shape(extents));
  Dice dice(5);
  for (float& x : batch.as<float>()) x = static_cast<float>(dice.from(-1000, 1000)) / 500.0F;
  return batch;
}

Reals example_of(const Tensor& batch, std::int64_t image) {
  const std::int64_t elements = batch.elements() / kCalibrated;
  const auto all = batch.as<float>().subspan(static_cast<std::size_t>(image * elements),
                                             static_cast<std::size_t>(elements));
  return {all.begin(), all.end()};
}

}  // namespace

void try_quantize(const OperationCase& each) {
  const Model model = with_floats(network_behind_product(each));
  std::vector<Tensor> batches;
  batches.push_back(calibration_of(model.network));
  Model fake = quantize_model(model, batches, {}).fake;
  fake = with_rounded_addends(with_integer_biases(std::move(fake)));
  const Model integers = integer_network_of(fake);
  const double unit_in = unit_of(integers.network.nodes[0]);
  const Reals unit_out = units_of(fake)[output_of(fake.network)];
  const double step = is<FakeQuantize>(each.op) ? kFloatStep : 0;  // its own, of the sums
  const Definitions floats(model);
  const Definitions whole(integers, Numbers::integers);
  for (std::int64_t image = 0; image < kCalibrated; ++image) {
    Reals example = example_of(batches[0], image);
    const Reals wanted = floats.answer(example);
    for (double& x : example) x = std::clamp(std::round(x / unit_in), -127.0, 127.0);
    const Reals got = whole.answer(example);
    ASSERT_EQ(got.size(), wanted.size());
    double most = 0;
    for (const double y : wanted) most = std::max(most, std::abs(y));
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double unit = unit_out[unit_out.size() == 1 ? 0 : i % unit_out.size()];
      EXPECT_NEAR(got[i] * unit, wanted[i], 0.03 * most + step) << i;
    }
  }
}

}  // namespace nibble
