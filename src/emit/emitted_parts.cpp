// SPDX-License-Identifier: Apache-2.0
// Writes the steps one after another and holds them to their limits.
#include "emit/emitted_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "emit/step_writer.h"
#include "nibble/core/error.h"

namespace nibble::inline emit {
namespace {

std::int64_t bytes_of(const std::vector<CArray>& arrays) {
  std::int64_t bytes = 0;
  for (const CArray& array : arrays) bytes += array.bytes();
  return bytes;
}

void check_limit(std::string_view what, const Node& layer, std::int64_t got,
                 const std::optional<std::int64_t>& most) {
  if (!most || got <= *most) return;
  throw Error("emit", fmt::format("{} at layer '{}'", what, layer.name),
              fmt::format("{} bytes", got), fmt::format("at most {}", *most));
}

}  // namespace

EmittedParts::EmittedParts(Model integers, const EmitSettings& settings)
    : view(std::move(integers)), plan(make_plan(view)), bytes(table_of_bytes(view, plan)) {
  check_limit("RAM", view.node(plan.steps[largest_step(plan)].last),
              static_cast<std::int64_t>(plan.arena_bytes), settings.ram);
  kernels.use("argmax");
  StepWriter writer(view, plan, kernels);
  std::int64_t parameter_bytes = 0;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    StepCode code = writer.write(s);
    lines.push_back({writer.words_of(plan.steps[s]), code.sums});
    layers += fmt::format("\n// {}\n// sums: {} to {}\n{}", lines.back().words, code.sums.low,
                          code.sums.high, code.layer);
    calls += fmt::format("  // {}\n{}", lines.back().words, code.call);
    parameter_bytes += bytes_of(code.arrays);
    std::ranges::move(code.arrays, std::back_inserter(parameters));
    check_limit("flash, of all parameters up to it,", view.node(plan.steps[s].last),
                parameter_bytes, settings.flash);
  }
}

EmitFigures EmittedParts::figures() const {
  EmitFigures figures{.arena_bytes = static_cast<std::int64_t>(plan.arena_bytes),
                      .parameter_bytes = bytes_of(parameters),
                      .values = arena_values(view, plan),
                      .plan = {}};
  figures.plan = plan_text(figures.values);
  for (const std::int64_t each : view.macs) figures.macs += each;
  return figures;
}

}  // namespace nibble::inline emit
