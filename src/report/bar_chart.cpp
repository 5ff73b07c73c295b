// SPDX-License-Identifier: Apache-2.0
// Horizontal bars in groups.
#include "report/bar_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/name.h"
#include "report/axis.h"
#include "report/chart_theme.h"
#include "report/svg.h"

namespace nibble::inline report {
namespace {

constexpr double kTop = 40;
constexpr double kRight = 48;  // room for the value behind the longest bar
constexpr std::size_t kMostLetters = 24;

bool has_bar(const std::vector<BarGroup>& groups, std::size_t series) {
  return std::ranges::any_of(groups, [&](const BarGroup& group) {
    return series < group.values.size() && std::isfinite(group.values[series]);
  });
}

}  // namespace

std::string draw(const BarChart& chart, const std::vector<BarGroup>& groups) {
  const ChartTheme& theme = chart.theme;
  const auto count = static_cast<double>(std::max<std::size_t>(chart.series.size(), 1));
  const double bar = std::clamp(20 / count, 5.0, 14.0);
  const double group = bar * count + 8;
  double low = 0;
  double high = 0;
  double names = 0;
  for (const BarGroup& each : groups) {
    names = std::max(names, drawn_width(shortened(each.name, kMostLetters), 11.5));
    for (const double value : each.values) {
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  const double left = names + 24;
  const double right = chart.width - kRight;
  const double bottom = kTop + group * static_cast<double>(groups.size());
  std::vector<LegendEntry> entries;
  for (std::size_t i = 0; chart.has_legend && i < chart.series.size(); ++i) {
    if (!has_bar(groups, i)) continue;
    entries.push_back({.name = chart.series[i], .colour = theme.colour(i)});
  }
  Svg svg(chart.width, bottom + 46 + legend_height(entries, left, right), chart.title,
          theme.background);
  svg.text(14, 22, chart.title, {.size = 14, .colour = theme.ink, .is_bold = true});
  const Axis axis(low, high, {.most_ticks = 5});
  const auto x_of = [&](double value) { return left + axis.share(value) * (right - left); };
  const TextStyle grey{.size = 11, .colour = theme.grey, .anchor = "middle"};
  for (const Tick& tick : axis.ticks()) {
    const double x = x_of(tick.value);
    svg.line(x, kTop, x, bottom, tick.value == 0 ? theme.grey : theme.rule);
    svg.text(x, bottom + 16, tick.label, grey);
  }
  svg.text((left + right) / 2, bottom + 34, chart.x_label, grey);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const double top = kTop + group * static_cast<double>(g) + 4;
    svg.text(left - 8, top + bar * count / 2 + 4, shortened(groups[g].name, kMostLetters),
             {.size = 11.5, .colour = theme.ink, .anchor = "end"});
    for (std::size_t i = 0; i < groups[g].values.size(); ++i) {
      const double value = groups[g].values[i];
      if (!std::isfinite(value)) continue;
      const double begin = x_of(std::min(value, 0.0));
      const double end = x_of(std::max(value, 0.0));
      const double y = top + bar * static_cast<double>(i);
      const std::string name = i < chart.series.size() ? chart.series[i] : "";
      svg.rectangle(
          begin, y, std::max(end - begin, 0.5), bar - 1, theme.colour(i),
          {.tooltip = fmt::format("{}, {}: {}", groups[g].name, name, short_number(value)),
           .kind = "bar"});
      if (bar >= 9) {
        svg.text(end + 5, y + bar - 2, short_number(value), {.size = 10, .colour = theme.grey});
      }
    }
  }
  draw_legend(svg, entries, left, right, bottom + 46, theme);
  return svg.finish();
}

}  // namespace nibble::inline report
