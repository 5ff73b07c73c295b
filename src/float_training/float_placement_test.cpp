// SPDX-License-Identifier: Apache-2.0
// Float training with products on a device: the same numbers where nothing is rounded on the way,
// nearly as good ones where something is, and what is refused.
#include "float_training/float_placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core/test_support.h"
#include "core/warning.h"
#include "float_training/test_networks.h"
#include "nibble/core/parallel.h"
#include "nibble/float_training/train.h"
#include "nibble/graph/network_text.h"

namespace nibble::inline float_training {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kPlacedNetwork = R"(
input = [6, 6, 2]
layers = [
  { op = "conv2d", name = "conv1", channels = 4, kernel = 3, padding = 1, bias = true },
  { op = "relu", name = "relu1" },
  { op = "flatten", name = "flat" },
  { op = "linear", name = "fc", features = 5, bias = true },
  { op = "softmax_cross_entropy" },
])";

Recipe placed(std::string_view place, WireFormat wire = WireFormat::fp32) {
  Recipe recipe;
  recipe.network = parse_network(kPlacedNetwork, "test");
  recipe.place = place;
  recipe.wire = wire;
  return recipe;
}

Recipe digits(std::string_view place, WireFormat wire = WireFormat::fp32) {
  Recipe recipe = placed(place, wire);
  recipe.network = load_network("convnet-8x8");
  recipe.data = "digits";
  recipe.epochs = 1;
  recipe.batch = 48;
  recipe.optimizer = {.kind = OptimizerKind::adam, .rate = 0.003};
  return recipe;
}

// One thread a side: the weights do not depend on it.
class PlacedTraining : public testing::Test {
 protected:
  PlacedTraining() { set_thread_count(1); }
  ~PlacedTraining() override { set_thread_count(0); }

  TrainResult run(const Recipe& recipe) {
    TrainOptions options;
    options.folder = folder();
    options.mode = RunFolderMode::overwrite;
    options.progress = ProgressStyle::silent;
    options.profile = profile();
    return train(recipe, options);
  }
  std::filesystem::path folder() const { return folder_.path() / "run"; }
  std::filesystem::path profile() const { return folder_.path() / "step.json"; }
  static std::string text_of(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(PlacedTraining, OverFp32TheWeightsAreThoseOfTheCpu) {
  const std::uint64_t wanted = run(digits("")).weights_hash;
  for (const char* place :
       {"pretend", "conv*=pretend", "*.weight_gradient=pretend", "pretend, *.forward=cpu",
        "conv1.forward=pretend, conv2.input_error=pretend, fc.weight_gradient=pretend"}) {
    EXPECT_EQ(run(digits(place)).weights_hash, wanted) << place;
  }
  EXPECT_NE(run(digits("pretend", WireFormat::int8)).weights_hash, wanted);
}

// The device that pretends, as somebody else's: under a name of its own.
class Abacus final : public FloatDevice {
 public:
  explicit Abacus(std::string_view name) : name_(name) {}
  std::string name() const override { return name_; }
  std::unique_ptr<DeviceProducts> products(const LayerSettings& settings,
                                           ProductType type) override {
    return inner_->products(settings, type);
  }
  void set_trace(StepTrace* trace) override { inner_->set_trace(trace); }

 private:
  std::string name_;
  std::unique_ptr<FloatDevice> inner_ = make_pretend_float_device();
};

TEST_F(PlacedTraining, ADeviceThatAProgramBringsAlongHasItsName) {
  register_float_device("abacus", [](std::string_view name) -> std::unique_ptr<FloatDevice> {
    return std::make_unique<Abacus>(name);
  });
  const FloatPlacement placement(placed("conv1=abacus:1"));
  EXPECT_EQ(placement.of(1)->device.name(), "abacus:1");
  const std::uint64_t wanted = run(digits("")).weights_hash;
  for (const char* place : {"abacus", "conv*=abacus:1", "fc.weight_gradient=abacus"})
    EXPECT_EQ(run(digits(place)).weights_hash, wanted) << place;
}

// Roundings of a policy are the host's: what crosses are the numbers that they gave.
TEST_F(PlacedTraining, SimulatedFormatsStayAsTheyAre) {
  Recipe recipe = digits("");
  recipe.policy = parse_policy(R"(
loss_scale = 64
[[round]]
role = ["weight", "activation", "error", "gradient"]
format = "e4m3"
rounding = "stochastic"
)",
                               "test");
  const std::uint64_t wanted = run(recipe).weights_hash;
  recipe.place = "pretend";
  EXPECT_EQ(run(recipe).weights_hash, wanted);
}

TEST_F(PlacedTraining, LearnsAsWellOverNarrowWires) {
  constexpr double kMargin = 0.015;  // of the test pictures: 5 of 360
  const auto accuracy = [&](std::string_view place, WireFormat wire) {
    Recipe recipe = digits(place, wire);
    recipe.epochs = 6;
    return run(recipe).test->classes->top1();
  };
  const double wanted = accuracy("", WireFormat::fp32);
  EXPECT_GT(wanted, 0.9);
  for (const WireFormat wire : {WireFormat::fp16, WireFormat::bf16, WireFormat::int8})
    EXPECT_GE(accuracy("pretend", wire), wanted - kMargin) << name_of(wire);
}

TEST_F(PlacedTraining, Fp16ScalesTheLoss) {
  const auto settings = [&](const Recipe& recipe) {
    run(recipe);
    return text_of(folder() / "settings.json");
  };
  EXPECT_THAT(settings(digits("pretend", WireFormat::fp16)),
              AllOf(HasSubstr(R"("wire": "fp16")"), HasSubstr(R"("loss_scale": 65536)"),
                    HasSubstr(R"("loss_scale_dynamic": true)")));
  Recipe computed = digits("pretend");
  computed.compute = ProductType::fp16;
  EXPECT_THAT(settings(computed),
              AllOf(HasSubstr(R"("compute": "fp16")"), HasSubstr(R"("loss_scale_dynamic": true)")));
  Recipe own = digits("pretend", WireFormat::fp16);
  own.policy.loss_scale.start = 128;
  EXPECT_THAT(settings(own), AllOf(HasSubstr(R"("loss_scale": 128)"),
                                   HasSubstr(R"("loss_scale_dynamic": false)")));
}

TEST_F(PlacedTraining, ATraceHasTheHostTheDeviceAndEveryCopy) {
  run(digits("conv*=pretend"));
  const std::string trace = text_of(profile());
  for (const char* name :
       {"batch", "conv1 forward", "fc backward", "loss", "update", "send conv2.input",
        "wait for conv2.value", "bring in conv2.value", "wait for conv1.gradients",
        "conv2 input error", "conv2 weight", "unpack conv2 input", "pretend", "pretend copies up",
        "pretend copies down"})
    EXPECT_THAT(trace, HasSubstr('"' + std::string(name) + '"')) << name;
  EXPECT_THAT(trace, HasSubstr(R"("memory":"pinned")"));
  EXPECT_THAT(trace, Not(HasSubstr("fc.value")));  // which the host computes
}

// At any product of a step, of the first one and of later ones; batch norms have moved their
// moments before the step fails.
TEST_F(PlacedTraining, ADeviceThatIsLostLeavesTheWeights) {
  Recipe recipe = digits("");
  recipe.network = parse_network(R"(
input = [8, 8, 1]
layers = [
  { op = "conv2d", name = "conv1", channels = 4, kernel = 3, padding = 1 },
  { op = "batch_norm", name = "norm1" },
  { op = "relu" },
  { op = "flatten" },
  { op = "linear", name = "fc", features = 10, bias = true },
  { op = "softmax_cross_entropy" },
])",
                                 "test");
  recipe.averaging = {.start = 1, .every = 7};
  const TrainResult wanted = run(recipe);
  ASSERT_GT(wanted.steps, 3);
  const std::string layers = text_of(folder() / "layers.csv");
  for (const auto& [place, products_a_step] :
       {std::pair{"pretend", 5}, std::pair{"fc=pretend, conv1.weight_gradient=pretend", 4}}) {
    const int all = products_a_step * static_cast<int>(wanted.steps);
    for (const int products : {1, 2, 3, 4, 5, 11, all - 2}) {  // the last step is observed
      SCOPED_TRACE(std::string(place) + " lost after " + std::to_string(products));
      setenv("NIBBLE_PRETEND", ("lost_after=" + std::to_string(products)).c_str(), 1);
      recipe.place = place;
      take_warnings();
      const TrainResult found = run(recipe);
      unsetenv("NIBBLE_PRETEND");
      EXPECT_EQ(found.weights_hash, wanted.weights_hash);
      EXPECT_EQ(text_of(folder() / "layers.csv"), layers);
      const std::vector<std::string> told = take_warnings();
      ASSERT_EQ(told.size(), 1U);
      EXPECT_THAT(told[0], AllOf(HasSubstr("went on on the CPU, from its snapshot of step " +
                                           std::to_string(products / products_a_step) + ":"),
                                 HasSubstr("none any more")));
    }
  }
}

// Values of 3 images: 72 in, 144 and 5 out; weights 72 + 4 and 720 + 5.
TEST(FloatPlacement, EverythingCrossesOnceAVersion) {
  const Recipe recipe = placed("pretend, conv1.input_error=cpu");
  const FloatPlacement placement(recipe);
  TapeUnderTest tape(recipe.network, 3, {}, &placement);
  tape.run();
  const std::int64_t values = 3 * (72 + 144);
  const std::int64_t weights = 72 + 4 + 720 + 5;
  const std::int64_t errors = 3 * (144 + 5);
  const std::int64_t back = 3 * (144 + 5) + 3 * 144 + weights;
  EXPECT_EQ(placement.traffic().bytes_sent, 4 * (values + weights + errors));
  EXPECT_EQ(placement.traffic().bytes_fetched, 4 * back);
  EXPECT_EQ(placement.traffic().parcels, 2 + 4 + 2 + 2 + 1 + 2);
  tape.run();  // with the same weights
  EXPECT_EQ(placement.traffic().bytes_sent, 4 * (2 * values + weights + 2 * errors));
  ++tape.parameter(2).version;  // that of fc
  tape.run();
  EXPECT_EQ(placement.traffic().bytes_sent, 4 * (3 * values + weights + 720 + 3 * errors));
}

// An input that only a gradient needs crosses on the way back, in the wire's format.
TEST(FloatPlacement, GradientsAloneNeedNoWeights) {
  const Recipe recipe = placed("fc.weight_gradient=pretend", WireFormat::int8);
  const FloatPlacement placement(recipe);
  TapeUnderTest tape(recipe.network, 3, {}, &placement);
  tape.run_forward(true);
  EXPECT_EQ(placement.traffic().parcels, 0);
  tape.run();
  EXPECT_EQ(placement.traffic().bytes_sent, 3 * 144 + 4 + 3 * 5 + 4);
  EXPECT_EQ(placement.traffic().bytes_fetched, 4 * (720 + 5));
}

TEST(FloatPlacement, TheLastRuleThatFitsDecides) {
  const FloatPlacement placement(placed("pretend, fc=cpu, fc.forward=pretend"));
  EXPECT_EQ(placement.of(2), nullptr);  // a rectifier
  ASSERT_NE(placement.of(1), nullptr);
  EXPECT_TRUE(placement.of(1)->has_forward && placement.of(1)->has_input_error &&
              placement.of(1)->has_weight_gradient);
  ASSERT_NE(placement.of(4), nullptr);
  EXPECT_TRUE(placement.of(4)->has_forward);
  EXPECT_FALSE(placement.of(4)->has_input_error || placement.of(4)->has_weight_gradient);
  EXPECT_EQ(FloatPlacement(placed("*=cpu")).of(1), nullptr);
}

TEST(FloatPlacement, RefusesByNameWhatADeviceCannotDo) {
  const auto refusal = [](const Recipe& recipe) {
    return error_of([&] { FloatPlacement{recipe}; });
  };
  EXPECT_THAT(refusal(placed("relu1=pretend")),
              AllOf(HasSubstr("relu1=pretend"), HasSubstr("conv1, fc")));
  EXPECT_THAT(refusal(placed("fc.update=pretend")),
              AllOf(HasSubstr("fc.update=pretend"), HasSubstr("optimizer")));
  EXPECT_THAT(refusal(placed("fc=reference")), AllOf(HasSubstr("reference"), HasSubstr("pretend")));
  EXPECT_THAT(refusal(placed("nothing=pretend")), HasSubstr("nothing=pretend"));
  EXPECT_THAT(refusal(placed("auto")), HasSubstr("who plans a run"));
  EXPECT_EQ(refusal(placed("relu1=cpu, fc.update=cpu")), "no error");
  Recipe simulated = placed("fc=pretend");
  simulated.policy =
      parse_policy("[[round]]\nrole = \"accumulator\"\nformat = \"e5m10\"\n", "test");
  EXPECT_THAT(refusal(simulated), AllOf(HasSubstr("layer fc"), HasSubstr("accumulators")));
  simulated.place = "cpu";
  EXPECT_EQ(refusal(simulated), "no error");
}

TEST(FloatPlacement, RecipesSayIt) {
  const std::string toml = std::string(R"(
data = "digits"
place = "conv*=pretend"
wire = "int8"
compute = "bf16"
network = "convnet-8x8"
)");
  const Recipe recipe = parse_recipe(toml, "test");
  EXPECT_EQ(recipe.place, "conv*=pretend");
  EXPECT_EQ(recipe.wire, WireFormat::int8);
  EXPECT_EQ(recipe.compute, ProductType::bf16);
  const auto failure = [](const char* text) {
    return error_of([&] {
      parse_recipe(std::string("data = \"digits\"\nnetwork = \"convnet-8x8\"\n") + text, "test");
    });
  };
  EXPECT_THAT(failure("wire = \"int8\""), HasSubstr("place beside it"));
  EXPECT_THAT(failure("compute = \"tf32\""), HasSubstr("place beside it"));
  EXPECT_THAT(failure("place = \"pretend\"\nwire = \"int4\""), HasSubstr("fp32, fp16, bf16, int8"));
  EXPECT_THAT(failure("place = \"conv1=\""), HasSubstr("LAYER[.PASS]=DEVICE"));
}

}  // namespace
}  // namespace nibble::inline float_training
