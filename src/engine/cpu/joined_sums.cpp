// SPDX-License-Identifier: Apache-2.0
// Finds sums whose operands are rescaled for them alone.
#include "engine/cpu/joined_sums.h"

#include <algorithm>
#include <optional>

#include "engine/cpu/place.h"
#include "laws/rescale.h"

namespace nibble::inline engine {
namespace {

class SumJoiner {
 public:
  explicit SumJoiner(const EngineProgram& program)
      : program_(program), givers_(program.values.size()), readers_(program.values.size()) {
    for (const ProgramStep& step : program.steps) {
      givers_[step.output] = &step;
      for (const std::size_t value : step.reads()) ++readers_[value];
    }
    ++readers_.back();  // the answer
  }

  JoinedProgram joined(bool keeps_all) const {
    JoinedProgram result{
        .steps = {.model = {}, .values = program_.values, .steps = {}, .entry = program_.entry}};
    std::vector<bool> is_joined(program_.values.size());
    for (const ProgramStep& step : program_.steps) {
      const ProgramStep* sum = keeps_all ? nullptr : sum_before(step);
      if (sum == nullptr) continue;
      is_joined[sum->output] = true;
      for (const std::size_t operand : sum->inputs) {
        is_joined[operand] = true;
        result.sums[step.output].push_back(*term_of(operand));
      }
    }
    for (const ProgramStep& step : program_.steps) {
      result.steps.values[step.output].is_stored &= !is_joined[step.output];
      if (is_joined[step.output]) continue;
      result.steps.steps.push_back(step);
      if (!result.sums.contains(step.output)) continue;
      ProgramStep& rescale = result.steps.steps.back();
      rescale.kind = "rescale + add + rescale";
      rescale.inputs.clear();
      for (const std::size_t operand : givers_[step.inputs[0]]->inputs)
        rescale.inputs.push_back(givers_[operand]->inputs[0]);
    }
    return result;
  }

 private:
  // The operation of the step that gives a value, if it has one reader.
  template <class Operation>
  const Operation* only_read(std::size_t value) const {
    if (givers_[value] == nullptr || readers_[value] != 1) return nullptr;
    const auto* law = std::get_if<SingleLaw>(&givers_[value]->law);
    return law == nullptr ? nullptr : std::get_if<Operation>(&law->op);
  }

  // The add of two such terms that a rescale takes; null: there is none.
  const ProgramStep* sum_before(const ProgramStep& step) const {
    const auto* law = std::get_if<SingleLaw>(&step.law);
    if (law == nullptr || !std::holds_alternative<Rescale>(law->op) || law->numbers.size() != 1 ||
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
    const ValueInfo& x = program_.values[givers_[operand]->inputs[0]].info;
    Place place;
    set_storage(place, {x.low, x.high}, false);
    if (law.numbers.size() != 1 || place.storage != FilterStorage::u8) return std::nullopt;
    return SumTerm{*op, law.numbers[0]};
  }

  const EngineProgram& program_;
  std::vector<const ProgramStep*> givers_;  // by value; null: the input, or not stored
  std::vector<int> readers_;                // by value
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

JoinedProgram with_joined_sums(const EngineProgram& program, bool keeps_all) {
  return SumJoiner(program).joined(keeps_all);
}

}  // namespace nibble::inline engine
