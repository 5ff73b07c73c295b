// SPDX-License-Identifier: Apache-2.0
// The rule "sgd" by hand, on the definitions, every path of the CPU and other backends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "backend/backend_test_support.h"
#include "backend/sgd_law.h"

namespace nibble::inline backend {
namespace {

using ::testing::ElementsAre;

// Fine numbers of one tensor on a backend.
class FineTensor {
 public:
  FineTensor(std::string_view backend, WeightsCase of, const std::vector<std::int32_t>& fine,
             int fraction_bits)
      : place_(backend) {
    of.shape = {static_cast<std::int64_t>(fine.size())};
    weights_ = place_.backend->weights(of);
    gradient_ = place_.backend->sums(of);
    WeightsState state{.mantissas = Tensor(DType::i8, of.shape),
                       .exponent = of.exponent,
                       .fine = fine,
                       .momentum = std::vector<std::int32_t>(fine.size())};
    for (std::size_t i = 0; i < fine.size(); ++i)
      state.mantissas.as<std::int8_t>()[i] = clamp127(shift_nearest(fine[i], fraction_bits));
    weights_->write(state);
  }

  WeightsState step(const SgdUpdate& rule, const std::vector<std::int64_t>& sums, int exponent,
                    std::uint32_t number = 0) {
    place_.backend->begin(
        {.random = {7, 0, number}, .is_training = true, .update = rule, .all_images = 1});
    gradient_->write(sums, exponent);
    place_.backend->update(*weights_, *gradient_);
    return weights_->read();
  }

  UpdateRecord record() const { return weights_->last_update(); }

 private:
  Workplace place_;
  std::unique_ptr<Weights> weights_;
  std::unique_ptr<Sums> gradient_;
};

void on_all(const std::function<void(std::string_view)>& body) {
  body("reference");
  for (const std::string& each : more_backends()) body(each);
  on_every_path([&] { body("cpu"); });
}

WeightsCase case_of(int exponent, ShiftRounding rounding = ShiftRounding::nearest) {
  return {.name = "a.weight", .shape = {}, .exponent = exponent, .rounding = rounding, .stream = 3};
}

const WeightsCase kNearest = case_of(-8);

// The unit of momentum where numbers have 4 fraction bits.
constexpr std::int32_t kStep = 1 << 12;

// A rate of 3/4: u = g·24576·2^-15 in units of 2^(-8-16), from sums in units of 2^-10.
TEST(SgdUpdate, CountsTheExponentOfTheGradient) {
  const SgdUpdate rule{.rate = {24576, -15}, .momentum = 128, .fraction_bits = 4};
  on_all([&](std::string_view name) {
    FineTensor tensor(name, kNearest, {1600, -1600, 0}, 4);
    WeightsState state = tensor.step(rule, {10, 1, -1}, -10);  // 10·3/4·4 = 30, 3, -3
    EXPECT_THAT(state.fine, ElementsAre(1570, -1603, 3));
    EXPECT_THAT(state.momentum, ElementsAre(30 * kStep, 3 * kStep, -3 * kStep));
    EXPECT_EQ(tensor.record().shift, 1);
    state = tensor.step(rule, {0, 0, 0}, 3);  // m·128/256, of which numbers take the nearest
    EXPECT_THAT(state.momentum, ElementsAre(15 * kStep, 3 * kStep / 2, -3 * kStep / 2));
    EXPECT_THAT(state.fine, ElementsAre(1555, -1605, 5));
    EXPECT_THAT(state.mantissas.as<std::int8_t>(), ElementsAre(97, -100, 0));
    EXPECT_EQ(tensor.record().moved, 1);
    state = tensor.step(rule, {1, 0, 0}, -10 - 4);  // 3/16
    EXPECT_THAT(state.momentum, ElementsAre((120 + 3) * kStep / 16, 3 * kStep / 4, -3 * kStep / 4));
    EXPECT_THAT(state.fine, ElementsAre(1547, -1606, 6));
    state = tensor.step(rule, {-1, 1, 1}, -10 - 16 - 4);  // 3 · 2^-20, to the nearest: nothing
    EXPECT_THAT(state.momentum, ElementsAre(123 * kStep / 32, 3 * kStep / 8, -3 * kStep / 8));
  });
}

// m·M/256 + u of the new m: 30 + 15 where momentum has 30.
TEST(SgdUpdate, NesterovLooksAheadByTheNewMomentum) {
  const SgdUpdate rule{
      .rate = {24576, -15}, .momentum = 128, .fraction_bits = 4, .looks_ahead = true};
  on_all([&](std::string_view name) {
    FineTensor tensor(name, kNearest, {1600, -1600, 0}, 4);
    WeightsState state = tensor.step(rule, {10, 1, -1}, -10);
    EXPECT_THAT(state.momentum, ElementsAre(30 * kStep, 3 * kStep, -3 * kStep));
    EXPECT_THAT(state.fine, ElementsAre(1600 - 45, -1600 - 5, 5));
    state = tensor.step(rule, {0, 0, 10}, -10);
    EXPECT_THAT(state.momentum, ElementsAre(15 * kStep, 3 * kStep / 2, 57 * kStep / 2));
    EXPECT_THAT(state.fine, ElementsAre(1555 - 8, -1605 - 1, 5 - (14 + 30)));
  });
}

TEST(SgdUpdate, DecayTakesAShareOfTheNumberAndNoneOfABias) {
  const SgdUpdate rule{.decay = {16384, -20}, .momentum = 0, .fraction_bits = 4};  // 1/64
  on_all([&](std::string_view name) {
    FineTensor tensor(name, kNearest, {1600, -1000, 31}, 4);
    EXPECT_THAT(tensor.step(rule, {0, 0, 0}, 0).fine, ElementsAre(1575, -984, 31));
    WeightsCase bias = kNearest;
    bias.is_bias = true;
    FineTensor other(name, bias, {1600, -1000, 31}, 4);
    EXPECT_THAT(other.step(rule, {0, 0, 0}, 0).fine, ElementsAre(1600, -1000, 31));
  });
}

TEST(SgdUpdate, ScalesAndShiftsOfNormsDecayIfTold) {
  SgdUpdate rule{.decay = {16384, -20}, .momentum = 0};  // 1/64
  WeightsCase shift = kNearest;
  shift.is_bias = true;
  shift.norm = NormPart::shift;
  on_all([&](std::string_view name) {
    for (const bool is_told : {false, true}) {
      rule.has_norm_decay = is_told;
      FineTensor tensor(name, shift, {160000, -100000, 31}, 16);
      const auto moved = tensor.step(rule, {0, 0, 0}, 0).fine;
      if (is_told)
        EXPECT_THAT(moved, ElementsAre(157500, -98437, 31)) << name;
      else
        EXPECT_THAT(moved, ElementsAre(160000, -100000, 31)) << name;
    }
  });
}

TEST(SgdUpdate, ATensorThatGrowsIsHalvedAndOneThatShrinksIsDoubled) {
  const SgdUpdate rule{.rate = {16384, -14}, .momentum = 0, .fraction_bits = 4};  // 1
  on_all([&](std::string_view name) {
    FineTensor tensor(name, kNearest, {2000, -100, 7}, 4);
    WeightsState state = tensor.step(rule, {-33, 0, 0}, -12);  // 2033 is above 127·16
    EXPECT_EQ(state.exponent, -7);
    EXPECT_THAT(state.fine, ElementsAre(1017, -50, 4));
    EXPECT_THAT(state.momentum, ElementsAre(-33 * kStep / 2, 0, 0));
    EXPECT_THAT(state.mantissas.as<std::int8_t>(), ElementsAre(64, -3, 0));
    state = tensor.step(rule, {1017 - 768, 0, 0}, -11);  // 48·16 stays
    EXPECT_EQ(state.exponent, -7);
    state = tensor.step(rule, {1, 0, 0}, -11);
    EXPECT_EQ(state.exponent, -8);
    EXPECT_THAT(state.fine, ElementsAre(2 * 767, -100, 8));
    EXPECT_THAT(state.momentum, ElementsAre(2 * kStep, 0, 0));
    state = tensor.step(rule, {-(1 << 20), 0, 0}, -12);  // held: 2^18 + 1534 by 8 places
    EXPECT_EQ(state.exponent, 0);
    EXPECT_THAT(state.fine, ElementsAre(1030, 0, 0));
  });
}

TEST(SgdUpdate, ExponentsStopAtTheirEndsAndThoseOfBiasesNeverMove) {
  const SgdUpdate rule{.rate = {16384, -14}, .momentum = 0, .fraction_bits = 4};
  on_all([&](std::string_view name) {
    FineTensor most(name, case_of(kMostWeightExponent), {0, 2000}, 4);
    WeightsState state = most.step(rule, {-(1 << 24), 1 << 24}, 12);
    EXPECT_EQ(state.exponent, kMostWeightExponent);
    EXPECT_THAT(state.fine, ElementsAre(127 * 16, -127 * 16));
    FineTensor least(name, case_of(kLeastWeightExponent), {5, 0}, 4);
    EXPECT_EQ(least.step(rule, {0, 0}, 0).exponent, kLeastWeightExponent);
    FineTensor nothing(name, kNearest, {0, 0}, 4);
    EXPECT_EQ(nothing.step(rule, {0, 0}, 0).exponent, -8);
    WeightsCase bias = kNearest;
    bias.is_bias = true;
    FineTensor fixed(name, bias, {2000, 3}, 4);
    state = fixed.step(rule, {-100, 0}, -12);
    EXPECT_EQ(state.exponent, -8);
    EXPECT_THAT(state.fine, ElementsAre(127 * 16, 3));
  });
}

TEST(SgdUpdate, NothingOverflows) {
  const std::int64_t huge = std::int64_t{1} << 62;
  for (const int exponent : {-200, -40, 0, 40, 200}) {
    for (const ShiftRounding rounding : {ShiftRounding::nearest, ShiftRounding::stochastic}) {
      const SgdUpdate rule{.rate = {32767, -3},
                           .decay = {32767, -15},
                           .momentum = 255,
                           .looks_ahead = exponent % 80 == 0};
      on_all([&](std::string_view name) {
        FineTensor tensor(name, case_of(0, rounding), {127 << 16, -(127 << 16), 0, 0}, 16);
        for (std::uint32_t step = 0; step < 4; ++step) {
          const WeightsState state = tensor.step(rule, {huge, -huge, 1, -1}, exponent, step);
          for (const std::int32_t each : state.fine) EXPECT_LE(std::abs(each), 127 << 16);
          for (const std::int32_t each : state.momentum) EXPECT_LE(std::abs(each), 1 << 30);
        }
      });
    }
  }
}

// Longer than a chunk, narrow and wide sums, steps in which exponents move.
TEST(SgdUpdate, EveryPathIsTheDefinition) {
  constexpr std::size_t kCount = 9001;
  for (const auto& [bits, rounding] :
       {std::pair(4, ShiftRounding::nearest), std::pair(8, ShiftRounding::pseudo_stochastic),
        std::pair(4, ShiftRounding::stochastic), std::pair(16, ShiftRounding::stochastic)}) {
    const int fraction_bits = bits;
    const WeightsCase of = case_of(-9, rounding);
    Draws draws(static_cast<std::uint64_t>(bits));
    std::vector<std::int32_t> fine;
    std::vector<std::int64_t> sums;
    for (std::size_t i = 0; i < kCount; ++i) {
      fine.push_back(draws.in(-127 << bits, 127 << bits));
      sums.push_back(draws.in(-(1 << 30), 1 << 30) >> draws.in(0, 30));
    }
    const auto states = [&](std::string_view name, bool looks_ahead) {
      FineTensor tensor(name, of, fine, fraction_bits);
      std::vector<std::vector<std::int32_t>> all;
      for (std::uint32_t step = 0; step < 4; ++step) {
        const SgdUpdate rule{.rate = {20000 + 1000 * std::int64_t{step}, -22},
                             .decay = {30000, -24},
                             .momentum = 230,
                             .fraction_bits = fraction_bits,
                             .looks_ahead = looks_ahead};
        WeightsState state = tensor.step(rule, sums, -30 - static_cast<int>(step) * 3, step);
        all.push_back(std::move(state.fine));
        all.push_back(std::move(state.momentum));
        all.push_back({state.exponent, tensor.record().shift,
                       static_cast<std::int32_t>(tensor.record().moved)});
      }
      return all;
    };
    for (const bool looks_ahead : {false, true}) {
      const auto wanted = states("reference", looks_ahead);
      EXPECT_NE(wanted.back()[0], -9);
      for (const std::string& each : more_backends())
        EXPECT_EQ(states(each, looks_ahead), wanted) << each;
      on_every_path([&] { EXPECT_EQ(states("cpu", looks_ahead), wanted); });
    }
  }
}

// A gradient far below the unit moves the weight by as much as it should, in the mean.
TEST(SgdUpdate, StochasticRoundingKeepsWhatIsBelowTheUnit) {
  constexpr std::size_t kCount = 4000;
  const SgdUpdate rule{.rate = {16384, -14}, .momentum = 0, .fraction_bits = 4};
  FineTensor tensor("cpu", case_of(0, ShiftRounding::stochastic),
                    std::vector<std::int32_t>(kCount, 1600), 4);
  std::int64_t sum = 0;
  WeightsState state;
  for (std::uint32_t step = 0; step < 16; ++step)
    state = tensor.step(rule, std::vector<std::int64_t>(kCount, 1), -8, step);  // 1/16 of a unit
  for (const std::int32_t each : state.fine) sum += 1600 - each;
  EXPECT_NEAR(static_cast<double>(sum) / kCount, 1.0, 0.06);  // 4 deviations
}

// Momentum has units of its own, so that masters of few bits remember what is far below theirs.
TEST(SgdUpdate, MastersOfFewBitsTakeTheWholeStepInTheMean) {
  constexpr std::size_t kCount = 4000;
  constexpr std::uint32_t kSteps = 12;
  for (const bool looks_ahead : {false, true}) {
    for (const int bits : {1, 4, 8}) {
      const SgdUpdate rule{
          .rate = {16384, -14}, .momentum = 128, .fraction_bits = bits, .looks_ahead = looks_ahead};
      FineTensor tensor("cpu", case_of(0, ShiftRounding::stochastic),
                        std::vector<std::int32_t>(kCount, 100 << bits), bits);
      WeightsState state;
      for (std::uint32_t step = 0; step < kSteps;
           ++step) {  // a quarter of a unit, and what remains
        const std::vector<std::int64_t> sums(kCount, step == 0 ? 1 : 0);
        state = tensor.step(rule, sums, -bits - 2, step);
        EXPECT_EQ(state.momentum[7], (1 << (14 - bits)) >> step) << bits;
      }
      double moved = 0;
      for (const std::int32_t each : state.fine) moved += (100 << bits) - each;
      EXPECT_NEAR(moved / kCount, 0.5, 0.05) << bits;  // 5 deviations
    }
  }
}

}  // namespace
}  // namespace nibble::inline backend
