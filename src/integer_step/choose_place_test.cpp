// SPDX-License-Identifier: Apache-2.0
// Rules of placement as text: which one counts, what is refused, and what crosses under them.
#include "integer_step/choose_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/test_support.h"
#include "integer_step/integer_session_test_support.h"

namespace nibble::inline integer_step {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::string_view kSmallNetwork = R"(
input = [6, 6, 2]
layers = [
  { op = "conv2d", name = "conv1", channels = 4, kernel = 3, padding = 1 },
  { op = "relu", name = "relu1" },
  { op = "flatten", name = "flat" },
  { op = "linear", name = "fc", features = 5 },
  { op = "softmax_cross_entropy" },
])";

IntegerOptions placed(std::string_view text) {
  IntegerOptions options;
  choose_place(text, options);
  return options;
}

std::string device_of(const Placement& placement, std::size_t node, TrainPass pass) {
  return placement.of(node, pass).name();
}

TEST(ChoosePlace, TheLastOneThatFitsDecides) {
  const Network network = parse_network(kSmallNetwork, "test");
  const Placement placement = placement_of(
      network, placed("conv*=reference, fc.update=reference, *.weight_gradient = cpu"));
  EXPECT_EQ(device_of(placement, 1, TrainPass::forward), "reference");
  EXPECT_EQ(device_of(placement, 1, TrainPass::weight_gradient), "cpu");
  EXPECT_EQ(device_of(placement, 2, TrainPass::forward), "cpu");
  EXPECT_EQ(device_of(placement, 4, TrainPass::update), "reference");
  EXPECT_EQ(device_of(placement, 4, TrainPass::input_error), "cpu");
  EXPECT_EQ(&placement.of(1, TrainPass::forward), &placement.of(4, TrainPass::update));
}

TEST(ChoosePlace, ADeviceAloneStandsForAll) {
  EXPECT_EQ(placed("reference").device, "reference");
  EXPECT_EQ(placed("reference").place, "");
  EXPECT_EQ(placed("check(cpu,reference)").device, "check(cpu,reference)");
  const IntegerOptions both = placed("fc=cpu, reference, conv1.update=cpu");
  EXPECT_EQ(both.device, "reference");
  EXPECT_EQ(both.place, "conv1.update=cpu");
  EXPECT_EQ(placed("auto").place, "auto");
}

TEST(ChoosePlace, ErrorsNameWhatIsThere) {
  const Network network = parse_network(kSmallNetwork, "test");
  const auto refusal = [&](std::string_view text) {
    return error_of([&] { placement_of(network, placed(text)); });
  };
  EXPECT_THAT(refusal("con=cpu"),
              AllOf(HasSubstr("'con=cpu'"), HasSubstr("conv1, relu1, flat, fc")));
  EXPECT_THAT(refusal("fc.backward=cpu"),
              HasSubstr("forward, input_error, weight_gradient, update"));
  EXPECT_THAT(refusal("fc=gpu"), HasSubstr("cpu, reference, cuda"));
  EXPECT_THAT(refusal("fc="), HasSubstr("LAYER[.PASS]=DEVICE"));
  EXPECT_THAT(refusal("fc=cpu,,"), HasSubstr("LAYER[.PASS]=DEVICE"));
  EXPECT_THAT(refusal("fc=auto"), HasSubstr("auto alone"));
}

std::map<std::string, std::int64_t> crossings(std::string_view text) {
  const Network network = parse_network(kSmallNetwork, "test");
  IntegerSession session(network, placed(text));
  std::map<std::string, std::int64_t> bytes;
  session.tape().placement().wire().set_observer([&](const Flight& flight, Wire::Moment moment) {
    if (moment == Wire::Moment::arrived) bytes[flight.crossing.tensor] += flight.crossing.bytes;
  });
  run_steps(session, 1, 10);
  return bytes;
}

TEST(ChoosePlace, ATensorCrossesOnceAVersionInBytes) {
  using Bytes = std::map<std::string, std::int64_t>;
  constexpr std::int64_t kValues = 10 * 6 * 6 * 4 + 4;
  EXPECT_EQ(crossings("reference"), Bytes{});
  // The value serves the pass forward and, later, the gradient; the error of the input goes back.
  EXPECT_EQ(crossings("fc=reference"), (Bytes{{"flat.value", kValues}, {"flat.error", kValues}}));
  EXPECT_EQ(crossings("fc.update=reference"), (Bytes{{"fc.weight.gradient", 6 * 6 * 4 * 5 * 4 + 4},
                                                     {"fc.weight", 6 * 6 * 4 * 5 + 4}}));
  // Nobody wants the error of the input.
  EXPECT_EQ(crossings("conv1.input_error=reference"), (Bytes{{"conv1.weight", 4 * 9 * 2 + 4}}));
}

}  // namespace
}  // namespace nibble::inline integer_step
