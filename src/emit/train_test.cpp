// SPDX-License-Identifier: Apache-2.0
// Emitted training ends with the trainer's weights, whatever the network and the compiler.
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "core/hash.h"
#include "core/test_support.h"
#include "emit/test_train_program.h"
#include "emit/train_code.h"
#include "integer_step/test_random_train_network.h"
#include "integer_training/integer_run_test_support.h"
#include "nibble/core/parallel.h"
#include "nibble/graph/model_file.h"
#include "nibble/integer_training/train_integers.h"

namespace nibble::inline emit {
namespace {

// The text is the same under sanitizers of this program: there one compiler is enough.
const std::vector<std::string>& compilers() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> list;
    constexpr const char* kSanitized =
        " -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all";
    for (const std::string name : {"gcc", "clang"}) {
      if (!has_program(name)) continue;
      for (const char* flags : {" -O0", " -O2", " -O3", kSanitized})
        list.push_back(name + flags + " -I.");
    }
    if (kIsSanitized && !list.empty()) list.resize(1);
    return list;
  }();
  return all;
}

const std::string& compiler(std::size_t number) {
  return compilers()[number % compilers().size()];
}

// Networks this small gain nothing from threads that wait for each other.
class TrainingInC : public ::testing::Test {
 protected:
  TrainingInC() { set_thread_count(1); }
  ~TrainingInC() override { set_thread_count(0); }
};

struct Beginning {
  explicit Beginning(const Network& network) : data(made_up_data(input_of(network).shape, 24, 5)) {
    recipe.network = network;
    recipe.data = "made up";
    static_cast<RunSettings&>(recipe) = complete(recipe, data);
  }
  Model model() const { return IntegerLearner(recipe, data, nullptr).snapshot(); }

  TrainingData data;
  IntegerRecipe recipe;
};

EmittedTraining emitted(const std::string& toml, const TrainEmitSettings& settings) {
  const Beginning beginning(parse_network(toml, "test"));
  return emit_training(beginning.model(), beginning.data.train, settings);
}

TrainingStart digits(std::string_view network) {
  IntegerRecipe recipe;
  recipe.network = load_network(network);
  recipe.data = "digits";
  return training_start(recipe);
}

constexpr const char* kResidual = R"(
name = "residual"
input = [7, 6, 2]
layers = [
  { op = "conv2d", name = "stem", channels = 6, kernel = 3, padding = 1, bias = true },
  { op = "relu", name = "r0" },
  { op = "conv2d", name = "a", channels = 6, kernel = 3, padding = 1 },
  { op = "relu6", name = "b" },
  { op = "conv2d", name = "c", channels = 6, kernel = 1 },
  { op = "bias", name = "d" },
  { op = "add", name = "s", from = ["d", "r0", "b"] },
  { op = "relu", name = "r1" },
  { op = "dropout", name = "u" },
  { op = "conv2d", name = "e", channels = 70, kernel = 3, stride = 2, padding = 1 },
  { op = "slice", name = "v", from = "r1", step = [2, 2, 1] },
  { op = "pad", name = "f", before = [0, 0, 60], after = [0, 0, 4] },
  { op = "add", name = "t", from = ["e", "f"] },
  { op = "max_pool", name = "p", kernel = 3, stride = 1, padding = 1 },
  { op = "average_pool", name = "q", kernel = 2, counts_padding = false, padding = 1 },
  { op = "flatten", name = "g" },
  { op = "relu", name = "h" },
  { op = "linear", name = "fc", features = 5, bias = true },
  { op = "softmax_cross_entropy" },
]
)";

TEST_F(TrainingInC, OfTheDigitsMlpGivesTheTrainersWeights) {
  const TrainingStart start = digits("mlp-64-32-10");
  const EmittedTraining training =
      emit_training(start.model, start.examples, {.batch = 8, .check_steps = 200});
  EXPECT_EQ(training.figures.weights, 2410);
  for (const std::string& compiler : compilers())
    EXPECT_EQ(training_program(training).failure(compiler), "");
}

// FNV-1a over all weights, as the emitted code counts it.
std::uint64_t hash_of_weights(const Model& model) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const Tensor& each : model.parameters) {
    for (const std::int8_t weight : each.as<std::int8_t>())
      hash = (hash ^ static_cast<std::uint8_t>(weight)) * 0x100000001B3u;
  }
  return hash;
}

TEST_F(TrainingInC, EndsWhereARunOfTheTrainerEnds) {
  IntegerRecipe recipe;
  recipe.network = load_network("mlp-64-32-10");
  recipe.data = "digits";
  recipe.epochs = 1;
  set_usual_course(recipe);
  const TemporaryFolder folder;
  const TrainResult result =
      train_integers(recipe, {.folder = folder.path() / "run", .progress = ProgressStyle::silent});
  EXPECT_EQ(hex(result.weights_hash), "cf9c86c60dd4b0e1");  // of docs/integer-training.md
  const Model trained = read_model(folder.path() / "run" / "model.nib").model;

  const TrainingStart start = training_start(recipe);
  const EmittedTraining training = emit_training(
      start.model, start.examples,
      {.batch = recipe.batch, .check_steps = result.steps, .check_images = start.examples.size()});
  bool is_there = false;
  for (const EmittedFile& file : training.files)
    is_there = is_there || file.text.find(hex(hash_of_weights(trained))) != std::string::npos;
  EXPECT_TRUE(is_there);
  if (compilers().empty()) GTEST_SKIP() << "no compiler of C";
  EXPECT_EQ(training_program(training).failure(compiler(0)), "");
}

TEST_F(TrainingInC, OfTheDigitsConvNetGivesTheTrainersWeights) {
  const TrainingStart start = digits("convnet-8x8");
  const EmittedTraining training =
      emit_training(start.model, start.examples, {.batch = 10, .check_steps = 60});
  for (const std::string& compiler : compilers())
    EXPECT_EQ(training_program(training).failure(compiler), "");
}

TEST_F(TrainingInC, JoinsErrorsAndRoundsWhereWindowsOverlap) {
  const EmittedTraining training = emitted(kResidual, {.batch = 5, .check_steps = 40});
  for (std::size_t i = 0; i < compilers().size(); i += 3)
    EXPECT_EQ(training_program(training).failure(compilers()[i]), "");
}

TEST_F(TrainingInC, LearnsBySquaredErrors) {
  std::string toml = kResidual;
  toml.replace(toml.find("softmax_cross_entropy"), 21, "squared_error");
  const EmittedTraining training = emitted(toml, {.batch = 7, .check_steps = 30});
  if (compilers().empty()) GTEST_SKIP() << "no compiler of C";
  EXPECT_EQ(training_program(training).failure(compiler(1)), "");
}

TEST_F(TrainingInC, OfNetworksByChanceGivesTheTrainersWeights) {
  if (compilers().empty()) GTEST_SKIP() << "no compiler of C";
  const char* first = std::getenv("NIBBLE_SEED");  // by hand: others
  const char* count = std::getenv("NIBBLE_SEEDS");
  const std::uint64_t begin = first == nullptr ? 0 : std::strtoull(first, nullptr, 10);
  const std::uint64_t end = begin + (count == nullptr ? 16 : std::strtoull(count, nullptr, 10));
  for (std::uint64_t seed = begin; seed < end; ++seed) {
    const std::string toml = RandomTrainNetwork(seed).toml();
    SCOPED_TRACE(::testing::Message() << seed << "\n" << toml);
    TrainEmitSettings settings{.batch = 1 + static_cast<std::int64_t>(seed % 6), .check_steps = 12};
    settings.options.seed = seed << 31;
    settings.mu = static_cast<int>(seed % 16) - 8;
    settings.bias_mu = 7 - static_cast<int>(seed % 16);
    const EmittedProgram program = training_program(emitted(toml, settings));
    EXPECT_EQ(program.failure(compiler(seed)), "");
  }
}

TEST_F(TrainingInC, GoesOnFromTrainedWeights) {
  const Beginning beginning(parse_network(kResidual, "test"));
  IntegerLearner learner(beginning.recipe, beginning.data, nullptr);
  take_steps(learner, beginning.data, 6, 20, 20);
  const EmittedTraining training =
      emit_training(learner.snapshot(), beginning.data.train, {.batch = 3, .check_steps = 20});
  if (compilers().empty()) GTEST_SKIP() << "no compiler of C";
  EXPECT_EQ(training_program(training).failure(compiler(0)), "");
}

TEST_F(TrainingInC, HasThePrefixInAllNames) {
  const EmittedTraining training = emitted(kResidual, {.prefix = "my_Net2", .check_steps = 4});
  for (const EmittedFile& file : training.files) {
    EXPECT_TRUE(file.name.starts_with("my_Net2_train")) << file.name;
    EXPECT_EQ(file.text.find("net_train"), std::string::npos) << file.name;
    EXPECT_EQ(file.text.find("NET_"), std::string::npos) << file.name;
  }
  if (compilers().empty()) return;
  EXPECT_EQ(training_program(training, "my_Net2").failure(compiler(1)), "");
}

TEST_F(TrainingInC, HasACheckThatFails) {
  if (compilers().empty()) GTEST_SKIP() << "no compiler of C";
  EmittedTraining training = emitted(kResidual, {.check_steps = 4});
  for (EmittedFile& file : training.files) {
    const std::size_t at = file.text.find("CHECK_MU 5");
    if (at != std::string::npos) file.text[at + 9] = '4';
  }
  EXPECT_TRUE(training_program(training).failure(compiler(0)).ends_with("part 1\n"));
}

std::string refusal(std::string_view toml, const TrainEmitSettings& settings = {}) {
  return error_of([&] { emitted(std::string(toml), settings); });
}

TEST_F(TrainingInC, NamesAllLayersThatItHasNot) {
  EXPECT_EQ(refusal(R"(
name = "refused"
input = [7, 6, 2]
layers = [
  { op = "conv2d", name = "a", channels = 2, kernel = 1 },
  { op = "concat", name = "p", from = ["a", "input"] },
  { op = "concat", name = "q", from = ["p", "a"] },
  { op = "flatten" },
  { op = "linear", features = 5 },
  { op = "softmax_cross_entropy" },
]
)"),
            "[emit] layers to train: got p (concat), q (concat), expected layers with emitted "
            "training");
  EXPECT_EQ(refusal(R"(
name = "smoothed"
input = [4, 4, 1]
layers = [
  { op = "flatten" },
  { op = "linear", features = 5 },
  { op = "softmax_cross_entropy", smoothing = 0.1 },
]
)"),
            "[emit] loss of smoothed: got smoothing, expected none");
}

// Past the check, too: no layer is written as nothing.
TEST_F(TrainingInC, ALayerThatItHasNotIsNoPass) {
  const Network network = parse_network(R"(
name = "refused"
input = [3]
layers = [
  { op = "relu", name = "a" },
  { op = "concat", name = "p", from = ["a", "input"] },
  { op = "softmax_cross_entropy" },
]
)",
                                        "test");
  EXPECT_EQ(error_of([&] { training_passes(network, plan_training(network, 4)); }),
            "[network] node 'p' (concat): operation: got concat, expected one with emitted "
            "training");
}

TEST_F(TrainingInC, RefusesSettingsInOneLine) {
  TrainEmitSettings settings;
  settings.options.update = ShiftUpdate{.fraction_bits = 2, .momentum = 8, .has_decay = true};
  settings.options.rule = ShiftRule::delayed;
  EXPECT_EQ(refusal(kResidual, settings),
            "[emit] settings of training: got shifts that are not exact, momentum, fraction bits, "
            "weight decay, expected the trainer's usual ones");
  settings.options = {.frozen = {"*"}};
  settings.options.form = CrossEntropyForm::whole_octaves;
  settings.options.roundings.all.error = ShiftRounding::stochastic;
  settings.options.update = SgdUpdate{};
  EXPECT_EQ(refusal(kResidual, settings),
            "[emit] settings of training: got a loss of whole octaves, other roundings, the update "
            "rule sgd, frozen layers, expected the trainer's usual ones");
  EXPECT_EQ(refusal(kResidual, {.prefix = "9lives"}),
            "[emit] prefix: got '9lives', expected a C identifier");
  EXPECT_EQ(refusal(kResidual, {.batch = 0}), "[emit] batch: got 0, expected 1 to 1024");
}

TEST_F(TrainingInC, RefusesSumsBeyond32Bits) {
  EXPECT_EQ(refusal(R"(
name = "wide"
input = [16, 16, 1]
layers = [
  { op = "conv2d", name = "c", channels = 1, kernel = 1 },
  { op = "flatten" },
  { op = "linear", features = 5 },
  { op = "softmax_cross_entropy" },
]
)",
                    {.batch = 521}),
            "[emit] terms of gradients of layer c: got 133376, expected at most 133144, which 32 "
            "bits hold: a smaller batch or layer");
}

TEST_F(TrainingInC, RefusesFloatWeights) {
  const Beginning beginning(parse_network(kResidual, "test"));
  Model model = beginning.model();
  model.parameters[0] = Tensor(DType::f32, model.parameters[0].shape());
  EXPECT_EQ(error_of([&] { emit_training(model, beginning.data.train, {}); }),
            "[emit] weights to train: got a model without int8 weights and exponents, expected one "
            "of nibble train --arith int8");
}

}  // namespace
}  // namespace nibble::inline emit
