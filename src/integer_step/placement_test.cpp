// SPDX-License-Identifier: Apache-2.0
// Passes of layers on backends of their own: the weights do not depend on who computes what.
#include "integer_step/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "integer_step/integer_session_test_support.h"

namespace nibble::inline integer_step {
namespace {

constexpr std::string_view kPlacedNetwork = R"(
input = [6, 6, 3]
layers = [
  { op = "conv2d", name = "a", channels = 6, kernel = 3, padding = 1, bias = true },
  { op = "relu", name = "b" },
  { op = "conv2d", name = "c", channels = 6, kernel = 3, padding = 1 },
  { op = "add", name = "d", from = ["b", "c"] },
  { op = "relu6", name = "e" },
  { op = "max_pool", name = "f", kernel = 3, stride = 2, padding = 1 },
  { op = "dropout", name = "g" },
  { op = "global_average_pool", name = "h" },
  { op = "linear", name = "i", features = 7, bias = true },
  { op = "softmax_cross_entropy" },
])";

// Which of two a pass of a node runs on.
using Choice = bool (*)(std::size_t node, TrainPass pass);

std::vector<std::vector<std::int8_t>> weights_after(Choice is_second, std::string_view second) {
  const Network network = parse_network(kPlacedNetwork, "test");
  const std::shared_ptr<IntegerBackend> other = make_backend(second);
  Placement placement(make_backend("cpu"));
  for (std::size_t node = 0; node < network.nodes.size(); ++node) {
    for (const TrainPass pass : {TrainPass::forward, TrainPass::input_error,
                                 TrainPass::weight_gradient, TrainPass::update}) {
      if (is_second(node, pass)) placement.place(node, pass, other);
    }
  }
  IntegerOptions options;
  options.roundings.all.error = ShiftRounding::stochastic;
  options.update = ShiftUpdate{.fraction_bits = 4, .momentum = 8};
  IntegerSession session(network, options, nullptr, placement);
  run_steps(session, 4, 19);
  return weights_of(session);
}

TEST(Placement, DoesNotChangeAWeight) {
  const auto nothing = [](std::size_t, TrainPass) { return false; };
  const auto wanted = weights_after(nothing, "cpu");
  const Choice choices[] = {
      [](std::size_t, TrainPass) { return true; },
      [](std::size_t node, TrainPass) { return node % 2 == 1; },
      [](std::size_t node, TrainPass) { return node > 4; },
      [](std::size_t, TrainPass pass) { return pass == TrainPass::forward; },
      [](std::size_t, TrainPass pass) { return pass == TrainPass::input_error; },
      [](std::size_t, TrainPass pass) { return pass == TrainPass::weight_gradient; },
      [](std::size_t, TrainPass pass) { return pass != TrainPass::weight_gradient; },
      [](std::size_t, TrainPass pass) { return pass == TrainPass::update; },
      [](std::size_t, TrainPass pass) {
        return pass == TrainPass::forward || pass == TrainPass::input_error;
      },
      [](std::size_t node, TrainPass pass) {
        return node % 2 == 1 && pass != TrainPass::weight_gradient;
      },
      [](std::size_t node, TrainPass pass) {
        return (node + static_cast<std::size_t>(pass)) % 3 == 0;
      },
  };
  for (const std::string_view second : {"cpu", "reference", "pretend"}) {
    for (const Choice& each : choices) {
      SCOPED_TRACE(std::string(second) + ", choice " + std::to_string(&each - choices));
      EXPECT_EQ(weights_after(each, second), wanted);
    }
  }
}

// The copy takes a tenth of a second in which the host has the other branch to compute.
TEST(Placement, TheHostGoesOnWhileACopyIsOnItsWay) {
  const Network network = parse_network(R"(
input = [4, 4, 2]
layers = [
  { op = "conv2d", name = "a", channels = 4, kernel = 3, padding = 1 },
  { op = "conv2d", name = "b", from = "input", channels = 4, kernel = 3, padding = 1 },
  { op = "add", name = "both", from = ["a", "b"] },
  { op = "flatten" }, { op = "linear", features = 3 }, { op = "softmax_cross_entropy" },
])",
                                        "test");
  setenv("NIBBLE_PRETEND", "copy_us=100000", 1);
  IntegerOptions options;
  options.place = "a.forward=pretend";
  IntegerSession session(network, options);
  unsetenv("NIBBLE_PRETEND");
  StepTrace trace;
  session.tape().set_trace(&trace);
  run_steps(session, 1, 2);
  session.tape().set_trace(nullptr);
  const auto span_of = [&](std::string_view track, std::string_view name) {
    const auto found = std::ranges::find_if(trace.spans(), [&](const TraceSpan& each) {
      return each.track == track && each.name == name;
    });
    EXPECT_NE(found, trace.spans().end()) << name;
    return found == trace.spans().end() ? TraceSpan{} : *found;
  };
  const TraceSpan copy = span_of("pretend copies down", "send a.value");
  EXPECT_GE(copy.end - copy.begin, 100'000'000);
  EXPECT_LT(span_of(StepTrace::kHost, "b forward").begin, copy.end);
  EXPECT_LT(span_of(StepTrace::kHost, "b forward").end, copy.end);
  EXPECT_GE(span_of(StepTrace::kHost, "wait for a.value").end, copy.end);
}

constexpr std::string_view kRowOfProducts = R"(
input = [6, 6, 4]
layers = [
  { op = "conv2d", name = "a", channels = 8, kernel = 3, padding = 1, bias = true },
  { op = "relu" },
  { op = "conv2d", name = "b", channels = 8, kernel = 3, padding = 1 },
  { op = "conv2d", name = "c", channels = 8, kernel = 3, padding = 1 },
  { op = "relu" },
  { op = "conv2d", name = "d", channels = 8, kernel = 3, padding = 1 },
  { op = "conv2d", name = "e", channels = 8, kernel = 3, padding = 1 },
  { op = "flatten" }, { op = "linear", name = "f", features = 3 },
  { op = "softmax_cross_entropy" },
])";

// By the names of what the host was in, one after the other.
std::vector<std::string> host_order(const std::string& place) {
  const Network network = parse_network(kRowOfProducts, "test");
  IntegerOptions options;
  options.place = place;
  IntegerSession session(network, options);
  StepTrace trace;
  session.tape().set_trace(&trace);
  run_steps(session, 1, 2);
  session.tape().set_trace(nullptr);
  std::vector<std::string> names;
  for (const TraceSpan& each : trace.spans()) {
    if (each.track == StepTrace::kHost) names.push_back(each.name);
  }
  return names;
}

auto first_of(const std::vector<std::string>& names, std::string_view word) {
  const auto found = std::ranges::find_if(
      names, [&](const std::string& each) { return each.find(word) != std::string::npos; });
  EXPECT_NE(found, names.end()) << word;
  return found - names.begin();
}

auto last_of(std::vector<std::string> names, std::string_view word) {
  std::ranges::reverse(names);
  return std::ssize(names) - 1 - first_of(names, word);
}

TEST(Placement, ADeviceIsAskedForAllErrorsBeforeTheHostMakesAGradient) {
  const auto names = host_order("pretend, *.weight_gradient=cpu, ?.update=cpu, d.update=pretend");
  EXPECT_LT(last_of(names, "input error"), first_of(names, "weight gradient"));
  // What has moved is on its way before the host makes the next gradient.
  for (const std::string layer : {"f", "e", "c", "b"}) {
    SCOPED_TRACE(layer);
    EXPECT_LT(first_of(names, layer + " weight gradient"),
              first_of(names, layer + ".weight update"));
    EXPECT_LT(first_of(names, layer + ".weight update"),
              first_of(names, "bring in " + layer + ".weight"));
    EXPECT_LT(first_of(names, "bring in " + layer + ".weight"),
              first_of(names, "a weight gradient"));
  }
}

// A device moves what it learned itself while the host makes its gradients.
TEST(Placement, GradientsOfTheHostWaitForWhatADeviceCanBeAskedFor) {
  const auto names = host_order("pretend, b=cpu, e=cpu, b.forward=pretend, e.forward=pretend");
  EXPECT_LT(last_of(names, "input error"), first_of(names, "e weight gradient"));
  EXPECT_LT(first_of(names, "e weight gradient"), first_of(names, "b weight gradient"));
  EXPECT_LT(first_of(names, "a.weight update"), first_of(names, "e weight gradient"));
  // The way back ends on the host: nobody is held up by its gradients.
  const auto below = host_order("cpu, d=pretend, e=pretend, f=pretend");
  EXPECT_LT(first_of(below, "c weight gradient"), first_of(below, "c input error"));
}

// Of an error that the host is still to learn from nothing stays on the device.
TEST(Resident, IsKeptForOneBackendOnceItIsThereOrOnItsWay) {
  const std::unique_ptr<IntegerBackend> host = make_backend("cpu");
  const std::unique_ptr<IntegerBackend> device = make_backend("pretend");
  const auto values_on = [](IntegerBackend& backend) {
    const Picture picture{2, 2, 3};
    return Values{.picture = picture,
                  .images = 1,
                  .memory = backend.take(picture, 1),
                  .exponent = backend.new_slot()};
  };
  Resident error;
  error.set(*device, values_on(*device));
  error.keep_for(*host);  // which has none yet
  EXPECT_NE(error.find(*device), nullptr);
  error.add(Flight{.crossing = {"error", device.get(), host.get(), 12}});
  error.keep_for(*host);
  EXPECT_EQ(error.find(*device), nullptr);
  EXPECT_TRUE(error.is_on_way(*host));
  error.set(*device, values_on(*device));
  error.add(*host, values_on(*host));
  error.keep_for(*host);
  EXPECT_EQ(error.find(*device), nullptr);
  EXPECT_NE(error.find(*host), nullptr);
}

}  // namespace
}  // namespace nibble::inline integer_step
