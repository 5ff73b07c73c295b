// SPDX-License-Identifier: Apache-2.0
// Operations by hand, on the definitions and on every path of the CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "backend/backend_test_support.h"
#include "backend/reference/reference_backend.h"
#include "backend/registry.h"
#include "nibble/core/error.h"

namespace nibble::inline backend {
namespace {

using reference::Block;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// On the definitions once, on every path of the CPU, and on whoever else there is.
void on_every_backend(const std::function<void(Workplace&)>& body) {
  const auto run = [&](std::string_view name) {
    SCOPED_TRACE(name);
    Workplace place(name);
    place.backend->begin({.is_training = true, .all_images = 1});
    body(place);
  };
  run("reference");
  on_every_path([&] { run("cpu"); });
  for (const std::string& name : more_backends()) run(name);
}

// A picture of equal values: the error of every window goes to its first pixel.
TEST(Operations, AmongEqualsTheFirstInRowMajorOrderTakesTheError) {
  const PoolCase pool{
      .window = {.kernel = {2, 2}, .stride = {2, 2}}, .input = {4, 4, 1}, .output = {2, 2, 1}};
  Block input{{4, 4, 1}, 1, -2, std::vector<std::int8_t>(16, 9)};
  input.data[3] = 10;  // of the second window the second
  on_every_backend([&](Workplace& place) {
    const std::unique_ptr<PoolOp> layer = place.backend->pool(pool);
    const Values output = place.empty({2, 2, 1}, 1);
    const Values marks = place.empty({2, 2, 1}, 1, ValueStorage::u8);
    layer->forward(place.put(input), place.point(), marks, output);
    EXPECT_THAT(place.get(output).data, ElementsAre(9, 10, 9, 9));
    EXPECT_EQ(place.get(output).exponent, -2);
    const Values input_error = place.empty({4, 4, 1}, 1);
    layer->input_error(place.put({{2, 2, 1}, 1, 3, {1, 2, 3, 4}}), marks, place.point(),
                       input_error);
    EXPECT_THAT(place.get(input_error).data,
                ElementsAre(1, 0, 0, 2, 0, 0, 0, 0, 3, 0, 4, 0, 0, 0, 0, 0));
    EXPECT_EQ(place.get(input_error).exponent, 3);
  });
}

// What a rectifier and a pool would do one after the other.
TEST(Operations, AWindowOfRectifiedValuesWithoutOneAboveZeroKeepsItsError) {
  const PoolCase pool{.window = {.kernel = {2, 2}, .stride = {2, 2}},
                      .is_rectified = true,
                      .input = {2, 4, 1},
                      .output = {1, 2, 1}};
  on_every_backend([&](Workplace& place) {
    const std::unique_ptr<PoolOp> layer = place.backend->pool(pool);
    const Values output = place.empty({1, 2, 1}, 1);
    const Values marks = place.empty({1, 2, 1}, 1, ValueStorage::u8);
    layer->forward(place.put({{2, 4, 1}, 1, -2, {0, 0, 0, 5, 0, 0, 5, 3}}), place.point(), marks,
                   output);
    EXPECT_THAT(place.get(output).data, ElementsAre(0, 5));
    const Values input_error = place.empty({2, 4, 1}, 1);
    layer->input_error(place.put({{1, 2, 1}, 1, 3, {7, -8}}), marks, place.point(), input_error);
    EXPECT_THAT(place.get(input_error).data, ElementsAre(0, 0, 0, -8, 0, 0, 0, 0));
  });
}

// 127·2^-5 is less than 6: its error passes.
TEST(Operations, Relu6CutsNothingWhereNoMantissaReachesSix) {
  const Picture picture{1, 1, 4};
  on_every_backend([&](Workplace& place) {
    const Values input = place.put({picture, 1, -5, {127, 126, 0, -127}});
    const Values output = place.empty(picture, 1);
    place.backend->pointwise(Rectify{.has_cut = true}, std::span(&input, 1), output);
    EXPECT_THAT(place.get(output).data, ElementsAre(127, 126, 0, 0));
    const Values operands[] = {place.put({picture, 1, 0, {1, 2, 3, 4}}), output};
    const Values error = place.empty(picture, 1);
    place.backend->pointwise(RectifyError{.has_cut = true}, operands, error);
    EXPECT_THAT(place.get(error).data, ElementsAre(1, 2, 0, 0));
  });
}

TEST(Operations, AddAlignsExactlyAndRoundsOnce) {
  const Picture picture{1, 1, 4};
  on_every_backend([&](Workplace& place) {
    // In units of 2^-9: 100·8 + 3 = 803, -100·8 + 4, 1·8 - 4, 0·8 + 127: 803 needs 10 bits, so 3
    // go.
    const Values operands[] = {place.put({picture, 1, -6, {100, -100, 1, 0}}),
                               place.put({picture, 1, -9, {3, 4, -4, 127}})};
    const Values sum = place.empty(picture, 1);
    place.backend->pointwise(AddValues{place.point()}, operands, sum);
    EXPECT_THAT(place.get(sum).data, ElementsAre(100, -100, 1, 16));  // 100.375, -99.5, 0.5
    EXPECT_EQ(place.get(sum).exponent, -6);
  });
}

// 2^30 apart: 64-bit sums; beyond 40 the smaller one counts nothing.
TEST(Operations, AddReachesFarAndThenLetsGo) {
  const Picture picture{1, 1, 4};
  on_every_backend([&](Workplace& place) {
    for (const int distance : {24, 25, 30, 40, 41, 200}) {
      SCOPED_TRACE(distance);
      const Values operands[] = {place.put({picture, 1, 0, {1, -1, 0, 100}}),
                                 place.put({picture, 1, -distance, {127, 127, 127, 1}})};
      const Values sum = place.empty(picture, 1);
      place.backend->pointwise(AddValues{place.point()}, operands, sum);
      EXPECT_THAT(place.get(sum).data, ElementsAre(1, -1, 0, 100));
      EXPECT_EQ(place.get(sum).exponent, 0);
    }
  });
}

std::string error_of_backend(std::string_view name) {
  try {
    make_backend(name);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Backends, AreKnownByName) {
  EXPECT_EQ(make_backend("cpu")->name(), "cpu");
  EXPECT_EQ(make_backend("check(cpu,reference)")->name(), "check(cpu,reference)");
  EXPECT_THAT(error_of_backend("gpu"), HasSubstr("got gpu, expected cpu"));
  EXPECT_THAT(error_of_backend("check(cpu)"), HasSubstr("expected cpu"));
  if (!more_backends().empty()) return;
  EXPECT_THAT(error_of_backend("cuda"), HasSubstr("cuda"));
}

// The definitions with one number wrong.
class FaultyBackend final : public ReferenceBackend {
 public:
  std::string name() const override { return "faulty"; }
  void pointwise(const PointCase& point, std::span<const Values> from, const Values& to) override {
    ReferenceBackend::pointwise(point, from, to);
    ++data(to)[2];
  }
};

TEST(Backends, CheckStopsAtTheFirstDifference) {
  Workplace place("reference");
  place.backend = make_check_backend(make_backend("cpu"), std::make_unique<FaultyBackend>());
  place.backend->begin({.is_training = true, .all_images = 1});
  const Picture picture{1, 1, 4};
  const Values operands[] = {place.put({picture, 1, 0, {1, 2, 3, 4}}),
                             place.put({picture, 1, 0, {1, 1, 1, 1}})};
  place.backend->enter("add1", TrainPass::forward);
  try {
    place.backend->pointwise(AddValues{place.point()}, operands, place.empty(picture, 1));
    FAIL() << "nothing was found";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "[check(cpu,faulty)] layer add1, forward, result, element 2: got 4 of cpu, "
                 "expected 5 of faulty");
  }
}

}  // namespace
}  // namespace nibble::inline backend
