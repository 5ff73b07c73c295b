// SPDX-License-Identifier: Apache-2.0
// The engine, on every path, fused and layer by layer, and emitted C give the integers of the
// definitions.
#include <gtest/gtest.h>

#include <cmath>

#include "core/isa.h"
#include "emit/test_emitted_program.h"
#include "engine/engine_test_support.h"
#include "tests/operations/definitions.h"
#include "tests/operations/trials.h"

namespace nibble {
namespace {

constexpr std::int64_t kIntegerExamples = 5;

Integers some_bytes(const Model& model) {
  Dice dice(4);
  return dice.many(kIntegerExamples * input_of(model.network).shape.elements(), -127, 127);
}

// One example after another.
Integers defined_answers(const Model& model, const Integers& input) {
  const bool is_trained = is_integer_trained(model.network);
  const Definitions definitions(model, is_trained ? Numbers::reals : Numbers::integers);
  const double unit_in = is_trained ? unit_of(model.network.nodes.front()) : 1;
  const double unit_out = is_trained ? unit_of(model.network.nodes.back()) : 1;
  const auto elements = static_cast<std::size_t>(definitions.input_shape().elements());
  Integers answers;
  for (std::size_t begin = 0; begin < input.size(); begin += elements) {
    Reals example;
    for (std::size_t i = 0; i < elements; ++i)
      example.push_back(unit_in * static_cast<double>(input[begin + i]));
    for (const double each : definitions.answer(example))
      answers.push_back(std::llround(each / unit_out));
  }
  return answers;
}

}  // namespace

void try_engine(const OperationCase& each) {
  const Model model = integer_model(each);
  for (const Isa isa : supported_isas()) {
    set_isa(isa);
    for (const bool keeps_layers : {false, true}) {
      const Engine engine(copy_of(model), {.max_batch = 3, .keeps_layers = keeps_layers});
      const Integers input = some_bytes(model);
      EXPECT_EQ(answers_of(engine, input, kIntegerExamples), defined_answers(model, input))
          << name_of(isa) << (keeps_layers ? ", layer by layer" : "");
    }
  }
  reset_isa();
}

void try_emit(const OperationCase& each) {
  const Model model = integer_model(each);
  check_emittable(model, {});  // refuses
  const Integers input = some_bytes(model);
  const TestVectors vectors{
      .count = kIntegerExamples, .inputs = input, .outputs = defined_answers(model, input)};
  EXPECT_EQ(EmittedProgram(emit_c(model, {}, vectors)).failure("gcc -O1"), "");
}

}  // namespace nibble
