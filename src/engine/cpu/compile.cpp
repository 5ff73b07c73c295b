// SPDX-License-Identifier: Apache-2.0
// Makes the CPU's steps.
#include "engine/cpu/compile.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/checked.h"
#include "engine/cpu/plain_step.h"
#include "engine/cpu/pool_steps.h"
#include "engine/cpu/product_step.h"
#include "engine/cpu/value_places.h"

namespace nibble::inline engine {
namespace {

// All that the speed of a product depends on, but for the machine: the key of tunings.
std::string shape_words(const ProductSpec& spec, std::int64_t batch) {
  const auto name = [](const Place& place) {
    return fmt::format("{}x{}x{} {}", place.height, place.width, place.channels,
                       place.storage == FilterStorage::u4    ? "u4"
                       : place.storage == FilterStorage::s32 ? "s32"
                                                             : "u8");
  };
  const bool has_pool = spec.pooled.is_stored() || spec.meeting != Extent2{1, 1};
  return fmt::format("{} of {}, {} to {}, groups {}, {}-bit weights{}{}{}",
                     spec.is_linear ? "linear" : window_words(spec.window), batch, name(spec.in),
                     name(spec.out), spec.window.groups, spec.has_small_weights ? 4 : 8,
                     spec.addend.is_stored() ? ", add" : "", spec.finish.is_wide ? ", wide" : "",
                     has_pool ? ", pool" : "");
}

class CpuCompiler {
 public:
  CpuCompiler(const EngineProgram& program, const EngineOptions& options, const Tuning& tuning)
      : program_(program), options_(options), tuning_(tuning), places_(program, options) {}

  CpuPlan plan() const {
    CpuPlan plan;
    plan.entry = program_.entry;
    plan.input = placed(0);
    plan.output = placed(program_.values.size() - 1);
    plan.arena_bytes = places_.arena_bytes();
    for (const ProgramStep& step : program_.steps) {
      if (!places_.is_alias(step)) add(plan, step);
    }
    return plan;
  }

 private:
  PlacedValue placed(std::size_t value) const {
    return {value, program_.values[value].info, places_[value]};
  }

  void add(CpuPlan& plan, const ProgramStep& step) const {
    std::unique_ptr<CpuStep> made =
        std::visit([&](const auto& law) { return step_of(step, law); }, step.law);
    plan.infos.push_back({.name = step.name,
                          .kind = step.kind,
                          .shape = made->shape(),
                          .macs = step.macs,
                          .is_wide = made->is_wide()});
    plan.results.push_back(placed(step.output));
    plan.scratch_bytes = std::max(plan.scratch_bytes, made->scratch_bytes());
    plan.weight_bytes = checked_sum(plan.weight_bytes, made->weight_bytes());
    plan.steps.push_back(std::move(made));
  }

  std::unique_ptr<CpuStep> step_of(const ProgramStep& step, const ProductLaw& law) const {
    const Place& in = places_[step.inputs[0]];
    std::vector<std::int8_t> weights = program_.weights_of(law);
    if (law.finish.has_wide_sums || in.storage == FilterStorage::s32) {
      PlainSpec spec =
          plain_spec(step, std::visit([](const auto& op) { return Op(op); }, law.op), law.finish);
      spec.numbers = {weights.begin(), weights.end()};
      return make_plain_step(std::move(spec));
    }
    ProductSpec spec{
        .in = in,
        .out = places_[step.output],
        .is_linear = std::holds_alternative<Linear>(law.op),
        .weights = std::move(weights),
        .has_small_weights = packs_halves(options_) && law.has_small_weights && !law.is_depthwise,
        .finish = law.finish};
    if (const auto* conv = std::get_if<Conv2d>(&law.op)) spec.window = *conv;
    if (law.finish.addend != kNoNode) spec.addend = places_[law.finish.addend];
    if (law.largest && law.largest->takes_sums) {
      spec.meeting = law.largest->pool.kernel;
    } else if (law.largest) {
      spec.pool = law.largest->pool;
      spec.pooled = spec.out;
      spec.out = places_.place_of(law.largest->pooled);
    }
    spec.shape = shape_words(spec, options_.max_batch);
    const auto found = tuning_.cuts.find(spec.shape);
    if (found != tuning_.cuts.end() && found->second.outputs <= kFilterColumns)
      spec.cut = found->second;
    return law.is_depthwise ? make_depthwise_step(std::move(spec))
                            : make_product_step(std::move(spec));
  }

  std::unique_ptr<CpuStep> step_of(const ProgramStep& step, const MeanLaw& law) const {
    const Place& in = places_[step.inputs[0]];
    const Extent2& kernel = law.pool.kernel;
    const std::int64_t taps = std::min(kernel.y, in.height) * std::min(kernel.x, in.width);
    const bool has_wide_bytes = taps > INT32_MAX / 255;  // their sum as they are stored
    if (law.finish.has_wide_sums || has_wide_bytes || in.storage != FilterStorage::u8)
      return make_plain_step(plain_spec(step, law.pool, law.finish));
    return make_mean_step({law, in, places_[step.output]});
  }

  std::unique_ptr<CpuStep> step_of(const ProgramStep& step, const SingleLaw& law) const {
    const Place& out = places_[step.output];
    if (const auto* pool = std::get_if<MaxPool>(&law.op);
        pool != nullptr && out.storage != FilterStorage::s32) {
      return make_max_pool_step(*pool, places_[step.inputs[0]], out);
    }
    PlainSpec spec = plain_spec(step, law.op, {});
    spec.numbers = law.numbers;
    spec.terms = law.terms;
    return runs_by_rows(law.op) ? make_row_step(std::move(spec), law.is_wide)
                                : make_plain_step(std::move(spec));
  }

  PlainSpec plain_spec(const ProgramStep& step, Op op, std::optional<FinishLaw> finish) const {
    PlainSpec spec{.node = {.name = step.name, .op = std::move(op)},
                   .out = places_[step.output],
                   .finish = std::move(finish)};
    for (const std::size_t input : step.inputs) spec.inputs.push_back(places_[input]);
    return spec;
  }

  const EngineProgram& program_;
  const EngineOptions& options_;
  const Tuning& tuning_;
  ValuePlaces places_;
};

}  // namespace

CpuPlan compile_for_cpu(const EngineProgram& program, const EngineOptions& options,
                        const Tuning& tuning) {
  return CpuCompiler(program, options, tuning).plan();
}

}  // namespace nibble::inline engine
