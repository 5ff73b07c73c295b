// SPDX-License-Identifier: Apache-2.0
// Batch norm in training: every path of the CPU against the definitions, and other backends against
// the CPU, number by number.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "backend/backend_test_support.h"

namespace nibble::inline backend {
namespace {

struct NormalizationSetup {
  std::string_view name;
  ProductCase product;
  std::int64_t images;
  ShiftRounding rounding;
};

ProductCase convolution(Picture input, std::int64_t out, std::int64_t groups, int kernel,
                        int stride) {
  const int padding = kernel / 2;
  const auto extent = [&](std::int64_t in) { return (in + 2 * padding - kernel) / stride + 1; };
  return {.window = {.kernel = {kernel, kernel},
                     .stride = {stride, stride},
                     .padding = {padding, padding}},
          .weight = {.out = out,
                     .taps = kernel * kernel,
                     .in = input.channels / groups,
                     .groups = groups},
          .input = input,
          .output = {extent(input.height), extent(input.width), out}};
}

const NormalizationSetup kSetups[] = {
    {"3x3", convolution({6, 5, 8}, 20, 1, 3, 1), 18, ShiftRounding::nearest},
    {"thin", convolution({5, 5, 3}, 7, 1, 3, 2), 33, ShiftRounding::stochastic},
    {"1x1", convolution({4, 4, 12}, 70, 1, 1, 1), 5, ShiftRounding::pseudo_stochastic},
    {"depthwise", convolution({5, 4, 10}, 10, 10, 3, 1), 17, ShiftRounding::stochastic},
    {"groups", convolution({4, 4, 8}, 8, 2, 3, 1), 16, ShiftRounding::nearest},
};

// Too slow for the definitions: several planes of channels, few tiles of a deep product, more terms
// than 32 bits hold, many rows.
const NormalizationSetup kLargeSetups[] = {
    {"600 channels", convolution({3, 3, 16}, 600, 1, 1, 1), 41, ShiftRounding::stochastic},
    {"deep", convolution({2, 2, 256}, 24, 1, 3, 1), 3, ShiftRounding::nearest},
    {"wide sums", convolution({1, 1, 140'000}, 20, 1, 1, 1), 4, ShiftRounding::stochastic},
    {"many rows", convolution({32, 32, 16}, 24, 1, 3, 1), 130, ShiftRounding::stochastic},
    {"wide depthwise", convolution({8, 8, 96}, 96, 96, 5, 1), 64, ShiftRounding::stochastic},
    {"odd groups", convolution({7, 6, 63}, 45, 9, 3, 2), 70, ShiftRounding::pseudo_stochastic},
    {"deep groups", convolution({2, 2, 512}, 260, 2, 3, 1), 3, ShiftRounding::nearest},
    {"one image", convolution({1, 1, 9}, 33, 1, 1, 1), 1, ShiftRounding::pseudo_stochastic},
};

// γ of both signs and all sizes, β.
std::unique_ptr<Weights> norm_weights(Workplace& place, std::string_view name, std::int64_t count,
                                      Draws& draws, bool is_scale) {
  const WeightsCase weights{.name = std::string(name), .shape = {count}};
  std::unique_ptr<Weights> made = place.backend->weights(weights);
  WeightsState state{.mantissas = Tensor(DType::i8, {count})};
  std::ranges::fill(state.mantissas.as<std::int8_t>(), std::int8_t{0});
  for (std::int64_t c = 0; c < count; ++c) {
    const int magnitude = draws.in(256, 1 << draws.in(9, 22));
    state.fine.push_back(is_scale && draws.in(0, 1) == 0 ? -magnitude : magnitude);
  }
  made->write(state);
  return made;
}

// Every result is compared by the backend itself.
void run(const NormalizationSetup& setup, bool reads_sums, const std::string& other) {
  SCOPED_TRACE(setup.name);
  Workplace place("check(cpu," + other + ")");
  Draws draws(5);
  const ProductCase& product = setup.product;
  const std::int64_t channels = product.output.channels;
  place.backend->begin(
      {.random = {9, 0, 4}, .is_training = true, .first_image = 3, .all_images = setup.images});
  const Values input = place.put(random_block(product.input, setup.images, -5, draws));
  const auto weight = place.weights(
      {.name = "conv.weight", .shape = {product.weight.elements()}},
      random_mantissas(static_cast<std::size_t>(product.weight.elements()), draws), -9);
  const auto scale = norm_weights(place, "norm.scale", channels, draws, true);
  const auto shift = norm_weights(place, "norm.shift", channels, draws, false);
  Values sums =
      place.empty(product.output, setup.images, reads_sums ? ValueStorage::s16 : ValueStorage::s8);
  const auto conv = place.backend->product(product);
  if (reads_sums) {
    conv->forward_sums(input, *weight, nullptr, sums);
  } else {
    conv->forward(input, *weight, nullptr, place.point(), sums);
  }
  const auto norm = place.backend->normalization({product.output});
  const Values output = place.empty(product.output, setup.images);
  norm->forward(sums, reads_sums ? weight.get() : nullptr, *scale, *shift,
                place.point(setup.rounding, 11), output);
  const Values error = place.put(random_block(product.output, setup.images, -7, draws));
  const Values input_error = place.empty(product.output, setup.images);
  const auto scale_gradient = place.backend->sums({.name = "g", .shape = {channels}});
  const auto shift_gradient = place.backend->sums({.name = "b", .shape = {channels}});
  const ShiftPoint error_point = place.point(setup.rounding, 12);
  for (int again = 0; again < 2; ++again)  // the second time by a right guess
    norm->backward(sums, error, error_point, input_error, *scale_gradient, *shift_gradient);
  int largest = 0;
  for (const int each : place.get(input_error).data) largest = std::max(largest, std::abs(each));
  if (setup.images * product.output.pixels() == 1) {
    EXPECT_EQ(largest, 0);  // a number that is its own mean passes no error on
  } else {
    EXPECT_GE(largest, 63);  // seven bits
  }
}

TEST(Normalization, EqualsTheDefinitionsOnEveryPath) {
  on_every_path([] {
    for (const NormalizationSetup& setup : kSetups) {
      run(setup, true, "reference");
      run(setup, false, "reference");
    }
  });
}

TEST(Normalization, IsThatOfTheCpuOnOtherBackends) {
  if (more_backends().empty()) GTEST_SKIP() << "no other backend";
  for (const std::string& other : more_backends()) {
    for (const bool reads_sums : {true, false}) {
      for (const NormalizationSetup& setup : kSetups) run(setup, reads_sums, other);
      for (const NormalizationSetup& setup : kLargeSetups) run(setup, reads_sums, other);
    }
  }
}

// Three batches that train, of units of their own, one that does not, and one more after what was
// kept went to another operation; every statistic is compared by the backend itself. What is kept.
RunningStatistics keep_batches(const std::string& backend, bool changes_hands) {
  Workplace place(backend);
  Draws draws(8);
  const Picture picture{3, 4, 20};
  constexpr std::int64_t kImages = 7;
  const NormalizationCase norm{.picture = picture, .running_share = 26};
  auto operation = place.backend->normalization(norm);
  EXPECT_TRUE(operation->running().empty());
  const auto scale = norm_weights(place, "norm.scale", picture.channels, draws, true);
  const auto shift = norm_weights(place, "norm.shift", picture.channels, draws, false);
  const Values output = place.empty(picture, kImages);
  for (const auto& [exponent, is_training] :
       {std::pair{-5, true}, {-3, true}, {-6, true}, {-4, false}, {-6, true}}) {
    place.backend->begin({.is_training = is_training, .all_images = kImages});
    const Values input = place.put(random_block(picture, kImages, exponent, draws));
    const RunningStatistics before = operation->running();
    operation->forward(input, nullptr, *scale, *shift, place.point(), output);
    const RunningStatistics after = operation->running();
    EXPECT_EQ(after.size(), static_cast<std::size_t>(picture.channels));
    EXPECT_EQ(after == before, !is_training);
    const NormalizationRecord record = operation->record();
    for (std::size_t c = 0; c < after.size() && before.empty(); ++c) {
      EXPECT_EQ(after[c].mean, record.means[c]);
      EXPECT_EQ(norm_statistics(after[c]).variance, record.variances[c]);
      EXPECT_EQ(after[c].exponent, exponent);
    }
    if (!changes_hands) continue;
    operation = place.backend->normalization(norm);
    operation->set_running(after);
  }
  return operation->running();
}

TEST(Normalization, KeepsWhatBatchesThatTrainWereLike) {
  std::vector<std::string> backends = {"check(cpu,reference)", "pretend", "check(cpu,pretend)"};
  for (const std::string& other : more_backends()) backends.push_back("check(cpu," + other + ")");
  const RunningStatistics kept = keep_batches("cpu", false);
  for (const std::string& backend : backends) {
    SCOPED_TRACE(backend);
    EXPECT_EQ(keep_batches(backend, false), kept);
    EXPECT_EQ(keep_batches(backend, true), kept);
  }
}

TEST(Normalization, KeepsNothingUnasked) {
  Workplace place("cpu");
  Draws draws(9);
  const Picture picture{2, 2, 4};
  place.backend->begin({.is_training = true, .all_images = 3});
  const Values input = place.put(random_block(picture, 3, 0, draws));
  const auto scale = norm_weights(place, "norm.scale", 4, draws, true);
  const auto operation = place.backend->normalization({picture});
  operation->forward(input, nullptr, *scale, *scale, place.point(), place.empty(picture, 3));
  EXPECT_TRUE(operation->running().empty());
}

TEST(Normalization, OfANormalizedBatchHasMeanZeroAndDeviationOne) {
  Workplace place("cpu");
  Draws draws(6);
  const Picture picture{7, 7, 16};
  constexpr std::int64_t kImages = 64;
  place.backend->begin({.is_training = true, .all_images = kImages});
  const Values input = place.put(random_block(picture, kImages, 3, draws));
  const WeightsCase weights{.name = "norm", .shape = {16}};
  WeightsState one{.mantissas = Tensor(DType::i8, {16}), .fine = std::vector(16, 1 << 16)};
  WeightsState none{.mantissas = Tensor(DType::i8, {16}), .fine = std::vector(16, 0)};
  const auto scale = place.backend->weights(weights);
  const auto shift = place.backend->weights(weights);
  scale->write(one);
  shift->write(none);
  const Values output = place.empty(picture, kImages);
  place.backend->normalization({picture})->forward(input, nullptr, *scale, *shift, place.point(),
                                                   output);
  const reference::Block result = place.get(output);
  EXPECT_EQ(result.exponent, -6);  // the largest of uniform numbers is √3
  std::int64_t sum = 0;
  std::int64_t squares = 0;
  for (const int each : result.data) {
    sum += each;
    squares += each * each;
  }
  const auto count = static_cast<std::int64_t>(result.data.size());
  EXPECT_LE(std::abs(sum), count / 100);
  EXPECT_NEAR(static_cast<double>(squares) / static_cast<double>(count), 64.0 * 64.0, 10.0);
}

}  // namespace
}  // namespace nibble::inline backend
