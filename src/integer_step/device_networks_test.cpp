// SPDX-License-Identifier: Apache-2.0
// Networks trained on a GPU: every operation is that of the CPU, and so are the weights after
// recorded steps.
#include <gtest/gtest.h>

#include "backend/cuda/register.h"
#include "integer_step/integer_session_test_support.h"
#include "integer_step/test_random_train_network.h"

namespace nibble::inline integer_step {
namespace {

constexpr std::string_view kCpuAndCuda = "check(cpu,cuda)";

const bool is_known = [] {
  register_cuda_backend();
  more_backends().emplace_back("cuda");
  return true;
}();

IntegerOptions with_everything(ShiftRule rule) {
  IntegerOptions options{.rule = rule, .form = CrossEntropyForm::whole_octaves};
  options.update = ShiftUpdate{.fraction_bits = 6, .momentum = 13, .has_decay = true};
  options.roundings.all = {ShiftRounding::stochastic, ShiftRounding::pseudo_stochastic,
                           ShiftRounding::stochastic};
  return options;
}

// Several batch sizes: steps are recorded anew, and replayed.
std::vector<std::vector<std::int8_t>> trained(const Network& network, IntegerOptions options,
                                              std::string_view device, int steps,
                                              std::initializer_list<std::int64_t> batches) {
  options.device = device;
  IntegerSession session(network, options);
  for (const std::int64_t images : batches) run_steps(session, steps, images);
  return weights_of(session);
}

void expect_same_weights(const Network& network, const IntegerOptions& options, int steps,
                         std::initializer_list<std::int64_t> batches) {
  EXPECT_TRUE(trained(network, options, "cuda", steps, batches) ==
              trained(network, options, "cpu", steps, batches));
}

TEST(DeviceNetworks, AgreeInEveryOperation) {
  ASSERT_TRUE(is_known);
  for (const NamedCase& each : networks(false)) expect_agreement(each, {}, 2, 3, kCpuAndCuda);
}

// Both lay their windows out, and each its own.
TEST(DeviceNetworks, LayersWithOtherWindowsReadOnePicture) {
  const Network network = network_of(R"(
input = [8, 8, 3]
layers = [
  { op = "conv2d", name = "a", channels = 64, kernel = 3, padding = 1 },
  { op = "conv2d", name = "b", from = "input", channels = 64, kernel = 5, padding = 2 },
  { op = "add", from = ["a", "b"] }, { op = "relu" }, { op = "max_pool", kernel = 2 },
  { op = "global_average_pool" }, { op = "linear", features = 10 },
  { op = "softmax_cross_entropy" },
])");
  expect_same_weights(network, {}, 4, {64, 17});
}

TEST(DeviceNetworks, AgreeUnderEveryRule) {
  for (const ShiftRule rule : {ShiftRule::exact, ShiftRule::delayed}) {
    for (const NamedCase& each : networks(false))
      expect_agreement(each, with_everything(rule), 3, 17, kCpuAndCuda);
  }
}

// Decay, momentum, and rates so large that exponents of weights move.
TEST(DeviceNetworks, AgreeUnderTheRuleSgd) {
  for (const int rate_exponent : {-18, -13}) {
    for (const ShiftRounding rounding : {ShiftRounding::nearest, ShiftRounding::stochastic}) {
      IntegerOptions options{.update = SgdUpdate{.rate = {20000, rate_exponent},
                                                 .decay = {20000, -24},
                                                 .fraction_bits = rate_exponent == -13 ? 5 : 16}};
      options.roundings.all.gradient = rounding;
      for (const NamedCase& each : networks(false))
        expect_agreement(each, options, 3, 5, kCpuAndCuda);
    }
  }
}

TEST(DeviceNetworks, NormalizedOnesAgree) {
  const NamedCase normed{"normed", network_of(kNormedNetwork)};
  for (const ShiftRule rule : {ShiftRule::exact, ShiftRule::delayed}) {
    for (const ShiftRounding rounding :
         {ShiftRounding::nearest, ShiftRounding::stochastic, ShiftRounding::pseudo_stochastic}) {
      IntegerOptions options{.rule = rule};
      options.roundings.all = {rounding, rounding, rounding};
      for (const std::int64_t images : {1, 19, 64})
        expect_agreement(normed, options, 3, images, kCpuAndCuda);
    }
  }
}

TEST(DeviceNetworks, LargeOnesAgree) {
  for (const NamedCase& each : networks(true)) {
    if (each.name == "vgg-small-7" || each.name == "resnet20-nobn" || each.name == "resnet20")
      expect_agreement(each, {}, 1, 19, kCpuAndCuda);
  }
}

constexpr ShiftRounding kRoundings[] = {ShiftRounding::nearest, ShiftRounding::stochastic,
                                        ShiftRounding::pseudo_stochastic};

// Options and an odd batch by chance.
void expect_random_agreement(NamedCase one, std::uint64_t seed) {
  if (auto* loss = std::get_if<SoftmaxCrossEntropy>(&one.network.nodes.back().op))
    loss->smoothing = seed % 5 == 0 ? 0.1F : 0;
  Draws draws(seed);
  IntegerOptions options{
      .rule = seed % 2 == 0 ? ShiftRule::exact : ShiftRule::delayed,
      .form = seed % 3 == 0 ? CrossEntropyForm::whole_octaves : CrossEntropyForm::fractional};
  options.update = ShiftUpdate{.fraction_bits = draws.in(0, 1) * 8,
                               .momentum = draws.in(0, 1) * 12,
                               .has_decay = draws.in(0, 1) == 1};
  options.roundings.all = {kRoundings[draws.in(0, 2)], kRoundings[draws.in(0, 2)],
                           kRoundings[draws.in(0, 2)]};
  expect_agreement(one, options, 2, draws.in(1, 37), kCpuAndCuda);
}

TEST(DeviceNetworks, RandomOnesAgree) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    NamedCase one{"seed " + std::to_string(seed), network_of(RandomTrainNetwork(seed).toml())};
    if (has_form(one.network)) expect_random_agreement(std::move(one), seed);
  }
}

TEST(DeviceNetworks, RandomOnesWithConcatenationsAgree) {
  int agreed = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    NamedCase one{"concat seed " + std::to_string(seed),
                  network_of(RandomTrainNetwork(seed, {.has_concats = true}).toml())};
    if (!has_form(one.network) || !has_concat(one.network)) continue;
    ++agreed;
    expect_random_agreement(std::move(one), seed);
  }
  EXPECT_GE(agreed, 15);
}

TEST(DeviceNetworks, RandomNormalizedOnesAgree) {
  int agreed = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    NamedCase one{"normed seed " + std::to_string(seed),
                  network_of(RandomTrainNetwork(seed, {.has_norms = true}).toml())};
    if (!has_form(one.network)) continue;
    ++agreed;
    Draws draws(seed);
    IntegerOptions options{.rule = seed % 2 == 0 ? ShiftRule::exact : ShiftRule::delayed};
    options.update = SgdUpdate{.rate = {20000, draws.in(-22, -14)},
                               .decay = {draws.in(0, 1) * 30000, -26},
                               .momentum = draws.in(0, 255),
                               .fraction_bits = draws.in(1, 16),
                               .has_norm_decay = seed % 3 == 0,
                               .looks_ahead = seed % 4 == 1};
    options.roundings.all = {kRoundings[draws.in(0, 2)], kRoundings[draws.in(0, 2)],
                             kRoundings[draws.in(0, 2)]};
    expect_agreement(one, options, 3, draws.in(1, 37), kCpuAndCuda);
  }
  EXPECT_GE(agreed, 20);
}

// Crop, flip and cutout, of pictures and of pictures that are flattened.
TEST(DeviceNetworks, ImagesOfADataSetAreThoseOfTheCpu) {
  constexpr std::int64_t kImages = 23;
  Draws draws(3);
  Tensor images(DType::u8, {kImages, 9, 7, 3});
  for (std::uint8_t& each : images.as<std::uint8_t>())
    each = static_cast<std::uint8_t>(draws.in(0, 255));
  std::vector<std::int8_t> tables = random_mantissas(3 * 256, draws);
  const std::int32_t indices[] = {22, 0, 5, 5, 13, 1, 2, 3, 4, 21, 20};
  const AugmentOptions kinds[] = {{},
                                  {.padding = 2, .has_flip = true, .cutout = 0, .fill = 9},
                                  {.padding = 4, .has_flip = true, .cutout = 4, .fill = 200},
                                  {.padding = 0, .has_flip = false, .cutout = 3, .fill = 1}};
  for (const Picture& picture : {Picture{9, 7, 3}, Picture{1, 9, 21}}) {
    for (const AugmentOptions& augment : kinds) {
      Workplace place(kCpuAndCuda);
      place.backend->begin({.all_images = 11});
      const Values to = place.empty(picture, 11);
      EXPECT_NO_THROW(
          place.backend->load_images({images.view(), indices, augment, {7, 3}}, tables, -7, to));
    }
  }
}

TEST(DeviceNetworks, RecordedStepsGiveTheWeightsOfTheCpu) {
  const Network lenet = load_network("lenet");
  expect_same_weights(lenet, {}, 8, {64, 13, 64});
  expect_same_weights(lenet, with_everything(ShiftRule::delayed), 6, {33, 64});
  expect_same_weights(load_network("convnet-8x8"), {}, 20, {32, 5});
}

// Batches of whole tiles: tiles of one pixel, results that are turned on their way, gradients
// beside errors. Who makes a value learns in the second and third step that it is wanted turned.
TEST(DeviceNetworks, BatchesOfWholeTilesGiveTheWeightsOfTheCpu) {
  const Network network = network_of(R"(
input = [8, 6, 3]
layers = [
  { op = "conv2d", name = "a", channels = 64, kernel = 3, padding = 1 }, { op = "relu", name = "ar" },
  { op = "conv2d", name = "b", channels = 128, kernel = 3, padding = 2, dilation = 2 }, { op = "relu" },
  { op = "max_pool", kernel = 2 },
  { op = "conv2d", name = "c", channels = 320, kernel = 3, padding = 1, bias = true }, { op = "relu", name = "cr" },
  { op = "conv2d", name = "d", channels = 128, kernel = 3, padding = 1 }, { op = "dropout", share = 0.5 },
  { op = "conv2d", name = "e", channels = 128, kernel = 3, stride = 2, padding = 1 }, { op = "relu6" },
  { op = "flatten" }, { op = "linear", name = "f", features = 10 }, { op = "softmax_cross_entropy" },
])");
  expect_same_weights(network, {}, 8, {256, 128, 64, 256, 80});
  expect_same_weights(network, with_everything(ShiftRule::delayed), 6, {256, 128});
  IntegerOptions stochastic;
  stochastic.roundings.all = {ShiftRounding::stochastic, ShiftRounding::stochastic,
                              ShiftRounding::stochastic};
  expect_same_weights(network, stochastic, 6, {256, 512});
}

// Updates lay out weights of groups for all of their products; between them are layers without.
TEST(DeviceNetworks, GroupsGiveTheWeightsOfTheCpu) {
  const Network network = network_of(R"(
input = [8, 8, 3]
layers = [
  { op = "conv2d", channels = 40, kernel = 3, padding = 1 }, { op = "relu" },
  { op = "conv2d", channels = 40, kernel = 5, padding = 2, groups = 40, bias = true }, { op = "relu" },
  { op = "conv2d", channels = 70, kernel = 1 }, { op = "relu" },
  { op = "conv2d", channels = 50, kernel = 3, stride = 2, padding = 1, groups = 10 }, { op = "relu" },
  { op = "conv2d", channels = 256, kernel = 1 }, { op = "relu" },
  { op = "conv2d", channels = 256, kernel = 3, padding = 1, groups = 2 }, { op = "relu" },
  { op = "max_pool", kernel = 2 },
  { op = "conv2d", channels = 128, kernel = 3, padding = 1, groups = 8 }, { op = "relu" },
  { op = "flatten" }, { op = "linear", features = 10 }, { op = "softmax_cross_entropy" },
])");
  expect_same_weights(network, {}, 6, {64, 7, 64, 1});
  expect_same_weights(network, with_everything(ShiftRule::delayed), 5, {33, 64});
  expect_same_weights(network, {.update = SgdUpdate{.rate = {20000, -14}, .fraction_bits = 8}}, 6,
                      {64, 19});
}

// Pools of two by two that products do where they round: tiles of 128 and of 256 channels, batches
// that have whole tiles of both, of one and of none.
TEST(DeviceNetworks, PooledProductsGiveTheWeightsOfTheCpu) {
  const Network network = network_of(R"(
input = [8, 16, 3]
layers = [
  { op = "conv2d", name = "a", channels = 128, kernel = 3, padding = 1 }, { op = "relu" },
  { op = "conv2d", name = "b", channels = 128, kernel = 3, padding = 1 }, { op = "relu" },
  { op = "max_pool", kernel = 2 },
  { op = "conv2d", name = "c", channels = 320, kernel = 5, padding = 2 }, { op = "relu" },
  { op = "max_pool", kernel = 2 },
  { op = "flatten" }, { op = "linear", name = "d", features = 10 }, { op = "softmax_cross_entropy" },
])");
  expect_same_weights(network, {}, 8, {32, 24, 64, 12});
  expect_same_weights(network, with_everything(ShiftRule::delayed), 6, {48, 8});
}

IntegerOptions with_norms(std::string_view device) {
  IntegerOptions options{.update = kSgdOfTests};
  options.device = device;
  options.roundings.all.error = ShiftRounding::stochastic;
  options.roundings.all.gradient = ShiftRounding::stochastic;
  return options;
}

// Batches of whole tiles, narrow and wide layers, rectifiers behind norms and sums, errors that
// meet; rates so large that guesses of exponents miss.
TEST(DeviceNetworks, NormalizedBatchesOfWholeTilesGiveTheWeightsOfTheCpu) {
  const Network network = network_of(R"(
input = [8, 6, 3]
layers = [
  { op = "conv2d", channels = 16, kernel = 3, padding = 1 }, { op = "batch_norm" }, { op = "relu", name = "a" },
  { op = "conv2d", channels = 16, kernel = 3, padding = 1 }, { op = "batch_norm", name = "b" },
  { op = "add", from = ["b", "a"] }, { op = "relu" },
  { op = "conv2d", channels = 64, kernel = 3, stride = 2, padding = 1 }, { op = "batch_norm" }, { op = "relu", name = "c" },
  { op = "conv2d", channels = 64, kernel = 3, padding = 1 }, { op = "batch_norm" }, { op = "relu" },
  { op = "conv2d", channels = 64, kernel = 3, padding = 1 }, { op = "batch_norm", name = "d" },
  { op = "add", from = ["c", "d"] }, { op = "relu" },
  { op = "conv2d", channels = 160, kernel = 3, padding = 1 }, { op = "batch_norm" }, { op = "relu" },
  { op = "max_pool", kernel = 2, padding = 1 }, { op = "batch_norm" }, { op = "relu" },
  { op = "global_average_pool" }, { op = "flatten" },
  { op = "linear", features = 10 }, { op = "softmax_cross_entropy" },
])");
  expect_same_weights(network, with_norms("cuda"), 6, {256, 64, 19});
  IntegerOptions fast = with_norms("cuda");
  std::get<SgdUpdate>(fast.update).rate.exponent += 4;
  expect_same_weights(network, fast, 8, {64});
}

// All that a checkpoint has of a session whose points keep no shifts, into another one.
void hand_over(const IntegerSession& from, IntegerSession& to) {
  for (std::size_t i = 0; i < to.tape().parameters().size(); ++i)
    to.tape().parameters()[i]->write(from.tape().parameters()[i]->read());
  to.set_steps(from.steps());
}

TEST(DeviceNetworks, NormalizedOnesGiveTheNumbersOfTheCpuOnAnyWay) {
  const Network network = network_of(kNormedNetwork);
  IntegerSession cpu(network, with_norms("cpu"));
  IntegerSession cuda(network, with_norms("cuda"));
  IntegerSession start(network, with_norms("cpu"));
  IntegerSession middle(network, with_norms("cuda"));
  IntegerSession end(network, with_norms("cpu"));
  run_steps(cpu, 24, 32);
  run_steps(cuda, 24, 32);
  EXPECT_EQ(fine_of(cuda), fine_of(cpu));
  EXPECT_EQ(weights_of(cuda), weights_of(cpu));
  hand_over(cpu, start);
  for (IntegerSession* each : {&cpu, &cuda}) {
    run_steps(*each, 9, 13);
    run_steps(*each, 8, 32);
    run_steps(*each, 3, 5);
  }
  EXPECT_EQ(fine_of(cuda), fine_of(cpu));
  run_steps(start, 9, 13);
  hand_over(start, middle);
  run_steps(middle, 8, 32);
  hand_over(middle, end);
  run_steps(end, 3, 5);
  EXPECT_EQ(fine_of(end), fine_of(cpu));
  EXPECT_EQ(weights_of(end), weights_of(cpu));
  for (std::size_t i = 0; i < cpu.tape().parameters().size(); ++i)
    EXPECT_EQ(cuda.tape().parameters()[i]->exponent(), cpu.tape().parameters()[i]->exponent());
}

TEST(DeviceNetworks, LargeOnesGiveTheWeightsOfTheCpu) {
  expect_same_weights(load_network("vgg-small-7"), {}, 4, {64, 256});
  expect_same_weights(load_network("resnet20-nobn"), {}, 4, {64});
  expect_same_weights(load_network("resnet20"), with_norms("cuda"), 4, {64});
}

}  // namespace
}  // namespace nibble::inline integer_step
