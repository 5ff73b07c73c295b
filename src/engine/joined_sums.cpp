// SPDX-License-Identifier: Apache-2.0
// Finds sums whose operands are rescaled for them alone.
#include "engine/joined_sums.h"

#include <algorithm>
#include <optional>

#include "laws/rescale.h"

namespace nibble::inline engine {
namespace {

constexpr std::int64_t kMostOfByte = 255;

bool is_byte(const ValueInfo& x) {
  return x.low >= -kMostOfByte && x.high <= kMostOfByte && x.high - x.low <= kMostOfByte;
}

class SumJoiner {
 public:
  explicit SumJoiner(EngineProgram& program)
      : program_(program), givers_(program.values.size()), readers_(program.values.size()) {
    for (ProgramStep& step : program.steps) {
      givers_[step.output] = &step;
      for (const std::size_t value : step.reads()) ++readers_[value];
    }
    ++readers_.back();  // the answer
  }

  void join() {
    for (ProgramStep& step : program_.steps) {
      if (const ProgramStep* sum = sum_before(step); sum != nullptr) join(step, *sum);
    }
    std::erase_if(program_.steps,
                  [&](const ProgramStep& step) { return !program_.values[step.output].is_stored; });
  }

 private:
  void join(ProgramStep& step, const ProgramStep& sum) {
    auto& law = std::get<SingleLaw>(step.law);
    step.kind = "rescale + add + rescale";
    step.inputs.clear();
    program_.values[sum.output].is_stored = false;
    for (const std::size_t operand : sum.inputs) {
      law.terms.push_back(*term_of(operand));
      step.inputs.push_back(givers_[operand]->inputs[0]);
      program_.values[operand].is_stored = false;
    }
  }

  // The operation of the step that gives a value, if it has one reader.
  template <class Operation>
  const Operation* only_read(std::size_t value) const {
    if (givers_[value] == nullptr || readers_[value] != 1) return nullptr;
    return givers_[value]->single<Operation>();
  }

  // The add of two such terms that a rescale takes; null: there is none.
  const ProgramStep* sum_before(const ProgramStep& step) const {
    if (step.single<Rescale>() == nullptr || std::get<SingleLaw>(step.law).numbers.size() != 1 ||
        only_read<Add>(step.inputs[0]) == nullptr) {
      return nullptr;
    }
    const ProgramStep* sum = givers_[step.inputs[0]];
    const bool has_terms = std::ranges::all_of(
        sum->inputs, [&](std::size_t operand) { return term_of(operand).has_value(); });
    return sum->inputs.size() == 2 && has_terms ? sum : nullptr;
  }

  // Of a byte that is rescaled by one number.
  std::optional<SumTerm> term_of(std::size_t operand) const {
    const auto* op = only_read<Rescale>(operand);
    if (op == nullptr) return std::nullopt;
    const auto& law = std::get<SingleLaw>(givers_[operand]->law);
    if (law.numbers.size() != 1 || !law.terms.empty() ||
        !is_byte(program_.values[givers_[operand]->inputs[0]].info)) {
      return std::nullopt;
    }
    return SumTerm{*op, law.numbers[0]};
  }

  EngineProgram& program_;
  std::vector<ProgramStep*> givers_;  // by value; null: the input, or not stored
  std::vector<int> readers_;          // by value
};

}  // namespace

std::int32_t SumTerm::of(std::int64_t x) const {
  return static_cast<std::int32_t>(
      std::clamp(rounded_shift(x * multiplier, static_cast<int>(op.shift)), op.low, op.high));
}

bool SumTerm::is_narrow(std::int64_t x) const {
  const std::int64_t y = rounded_shift(x * multiplier, static_cast<int>(op.shift));
  return y == static_cast<std::int32_t>(y);
}

void join_sums(EngineProgram& program) {
  SumJoiner(program).join();
}

}  // namespace nibble::inline engine
