// SPDX-License-Identifier: Apache-2.0
// Every path equals the definition bit for bit, on every instruction set, for any thread count.
#include "nibble/kernels/quantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/isa.h"
#include "kernels/quantize/test_compare.h"
#include "kernels/quantize/test_formats.h"
#include "kernels/quantize/test_inputs.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"

namespace nibble::inline kernels {
namespace {

class EveryFormat : public testing::TestWithParam<std::string> {
 protected:
  void TearDown() override {
    reset_isa();
    set_thread_count(0);
  }
};

TEST_P(EveryFormat, GivesTheDefinitionsBitsOnEveryInstructionSet) {
  const Format format = parse_format(GetParam());
  const Shape shape{6, 331};
  const std::vector<float> input = mixed_inputs(static_cast<std::size_t>(shape.elements()), format);
  for (const Rounding& rounding : all_roundings()) {
    const QuantizeOptions options{.rounding = rounding,
                                  .random = {.seed = 7, .stream = 3, .step = 2}};
    set_isa(Isa::reference);
    const std::vector<float> expected = quantized(input, shape, format, options);
    for (const Isa isa : supported_isas()) {
      set_isa(isa);
      const std::string what =
          GetParam() + " " + to_string(rounding) + " " + std::string(name_of(isa));
      expect_same(input, quantized(input, shape, format, options), expected, what);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(EveryFormat, TakesEveryOverflowRuleItHas) {
  const Format format = parse_format(GetParam());
  const Shape shape{3, 200};
  const std::vector<float> input = mixed_inputs(static_cast<std::size_t>(shape.elements()), format);
  for (const Overflow overflow : {Overflow::saturate, Overflow::infinity, Overflow::nan}) {
    for (const RoundingMode mode : {RoundingMode::nearest_even, RoundingMode::up,
                                    RoundingMode::toward_zero, RoundingMode::stochastic}) {
      const QuantizeOptions options{.rounding = {mode}, .overflow = overflow};
      set_isa(Isa::reference);
      std::vector<float> expected;
      try {
        expected = quantized(input, shape, format, options);
      } catch (const Error&) {
        continue;  // no meaning here: the parser tests say which
      }
      for (const Isa isa : supported_isas()) {
        set_isa(isa);
        expect_same(input, quantized(input, shape, format, options), expected,
                    GetParam() + " overflow on " + std::string(name_of(isa)));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(EveryFormat, DoesNotDependOnThreadsOrOnWhereTheTensorIsCut) {
  const Format format = parse_format(GetParam());
  const Shape shape{5, 40009};
  const std::vector<float> input = mixed_inputs(static_cast<std::size_t>(shape.elements()), format);
  for (const Rounding& rounding : {Rounding{}, Rounding{RoundingMode::stochastic}}) {
    const QuantizeOptions options{.rounding = rounding, .random = {.seed = 1}};
    set_thread_count(1);
    const std::vector<float> expected = quantized(input, shape, format, options);
    for (const int threads : {2, 3}) {
      set_thread_count(threads);
      expect_same(input, quantized(input, shape, format, options), expected, GetParam());
    }
    // In place.
    std::vector<float> same = input;
    quantize(shaped(std::as_const(same), shape), shaped(same, shape), format, options);
    expect_same(input, same, expected, GetParam() + " in place");
  }
}

TEST_P(EveryFormat, LeavesWhatIsAlreadyThere) {
  const Format format = parse_format(GetParam());
  if (format.scaling.kind == ScaleKind::minmax || format.scaling.kind == ScaleKind::two_level ||
      format.scaling.rule != ScaleRule::floor) {
    return;  // their scale is drawn from the data anew; docs/formats/blocks.md says what holds
  }
  const Shape shape{4, 96};
  std::vector<float> values = mixed_inputs(static_cast<std::size_t>(shape.elements()), format);
  for (float& x : values) {
    if (!std::isfinite(x)) x = 1;
  }
  const bool from_data = format.scaling.kind == ScaleKind::absmax;
  values = quantized(values, shape, format, {});
  for (const Rounding& rounding : all_roundings()) {
    if (from_data && rounding.mode != RoundingMode::nearest_even) continue;
    expect_same(values, quantized(values, shape, format, {.rounding = rounding}), values,
                GetParam() + " " + to_string(rounding));
  }
}

INSTANTIATE_TEST_SUITE_P(Quantize, EveryFormat, testing::ValuesIn(formats_under_test()),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name) {
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           }
                           return name + "_" + std::to_string(test.index);
                         });

}  // namespace
}  // namespace nibble::inline kernels
