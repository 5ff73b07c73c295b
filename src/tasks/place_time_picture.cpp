// SPDX-License-Identifier: Apache-2.0
// The time line of a step.
#include <fmt/format.h>

#include <array>

#include "integer_step/choose_place.h"
#include "placement/time_line.h"
#include "report/axis.h"
#include "report/chart_theme.h"
#include "report/svg.h"
#include "tasks/place_pictures.h"

namespace nibble::inline tasks {
namespace {

constexpr double kTimeWidth = 1160;
constexpr double kTimeLeft = 110;
constexpr double kTimeRight = kTimeWidth - 20;
constexpr double kLanesTop = 14;
constexpr double kLane = 44;
constexpr double kBar = 32;

std::string_view letters_of(TrainPass pass) {
  constexpr std::array<std::string_view, 4> kLetters = {"", " dx", " dw", " up"};
  return kLetters[static_cast<std::size_t>(pass)];
}

std::string words_of(const StepPlan& plan, const TimeSpan& span) {
  if (span.is_copy) return plan.graph.flows[span.number].tensor;
  const PlacedUnit& unit = plan.graph.units[span.number];
  return unit.node + std::string(letters_of(unit.unit.pass));
}

std::string tooltip_of(const StepPlan& plan, const TimeSpan& span) {
  const std::string time = short_time(span.end - span.begin);
  if (span.is_copy) {
    const Flow& flow = plan.graph.flows[span.number];
    return fmt::format("{}: {} from {}, {}", flow.tensor, short_bytes(flow.bytes),
                       plan.devices[span.side], time);
  }
  const PlacedUnit& unit = plan.graph.units[span.number];
  return fmt::format("{} {}: {}", unit.node, word_of(unit.unit.pass), time);
}

}  // namespace

std::string time_picture(const StepPlan& plan) {
  const ChartTheme& theme = kPageTheme;
  const TimeLine line = time_line(plan.graph, plan.costs, plan.best().sides);
  const std::vector<std::string> lanes =
      plan.has_choice() ? std::vector{plan.devices[0], std::string("copies"), plan.devices[1]}
                        : std::vector{plan.devices[0]};
  const double bottom = kLanesTop + kLane * static_cast<double>(lanes.size());
  Svg svg(kTimeWidth, bottom + 44, "One step as the plan sees it", "");
  const Axis axis(0, static_cast<double>(line.length) / 1e6, {.most_ticks = 9});
  const auto x_of = [&](Nanoseconds time) {
    return kTimeLeft + axis.share(static_cast<double>(time) / 1e6) * (kTimeRight - kTimeLeft);
  };
  for (const Tick& tick : axis.ticks()) {
    const double x = kTimeLeft + axis.share(tick.value) * (kTimeRight - kTimeLeft);
    svg.line(x, kLanesTop, x, bottom, theme.rule);
    svg.text(x, bottom + 16, tick.label, {.size = 11, .colour = theme.grey, .anchor = "middle"});
  }
  svg.text((kTimeLeft + kTimeRight) / 2, bottom + 34, "milliseconds",
           {.size = 11, .colour = theme.grey, .anchor = "middle"});
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    svg.text(kTimeLeft - 12, kLanesTop + kLane * static_cast<double>(i) + kBar / 2 + 6, lanes[i],
             {.size = 12.5, .colour = theme.ink, .anchor = "end", .is_bold = true});
  }
  for (const TimeSpan& span : line.spans) {
    const double lane = span.is_copy ? 1 : 2.0 * span.side;
    const double x = x_of(span.begin);
    const double width = x_of(span.end) - x;
    const double y = kLanesTop + kLane * lane + 2;
    svg.rectangle(
        x, y, std::max(width - 0.6, 0.6), kBar, theme.colour(span.side),
        {.tooltip = tooltip_of(plan, span), .kind = "span", .opacity = span.is_copy ? 0.45 : 0.85});
    const std::string words = words_of(plan, span);
    if (drawn_width(words, 10.5) + 6 < width)
      svg.text(x + 4, y + kBar / 2 + 4, words, {.size = 10.5, .colour = theme.on_heat});
  }
  return svg.finish();
}

}  // namespace nibble::inline tasks
