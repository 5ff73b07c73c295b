// SPDX-License-Identifier: Apache-2.0
// Curves over a common pair of axes.
#include "report/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "report/axis.h"
#include "report/chart_theme.h"
#include "report/svg.h"

namespace nibble::inline report {
namespace {

constexpr double kLinesTop = 40;
constexpr double kBottom = 44;
constexpr double kLeft = 58;
constexpr double kLinesRight = 16;
constexpr double kLargest = 1e150;    // beyond, axes would overflow: as good as infinite
constexpr double kSmallest = 1e-150;  // on a logarithmic axis
constexpr double kDotDistance = 6;    // closer dots would hide the line and its dashes

struct Extent {
  double low = 0;
  double high = 0;
};

bool is_drawable(const LineChart& chart, const ChartPoint& point) {
  const auto fits = [](double value, bool is_log) {
    return std::abs(value) < kLargest && (!is_log || value > kSmallest);
  };
  return fits(point.x, chart.is_log_x) && fits(point.y, chart.is_log_y);
}

bool has_point(const LineChart& chart, const ChartSeries& series) {
  return std::ranges::any_of(series.points,
                             [&](const ChartPoint& point) { return is_drawable(chart, point); });
}

std::optional<Extent> extent_of(const LineChart& chart, const std::vector<ChartSeries>& series,
                                double ChartPoint::*coordinate) {
  std::optional<Extent> extent;
  for (const ChartSeries& each : series) {
    for (const ChartPoint& point : each.points) {
      if (!is_drawable(chart, point)) continue;
      const double value = point.*coordinate;
      if (!extent) extent = {value, value};
      extent->low = std::min(extent->low, value);
      extent->high = std::max(extent->high, value);
    }
  }
  return extent;
}

// Curves do not touch the frame above and below.
Extent with_room(const Extent& extent, bool is_log) {
  if (is_log) {
    const double factor = std::pow(extent.high / extent.low, 0.05);
    return {extent.low / factor, extent.high * factor};
  }
  const double room = 0.05 * (extent.high - extent.low);
  return {extent.low >= 0 ? std::max(0.0, extent.low - room) : extent.low - room,
          extent.high + room};
}

class Drawing {
 public:
  Drawing(const LineChart& chart, const Extent& x, const Extent& y, double legend)
      : chart_(chart),
        theme_(chart.theme),
        x_axis_(x.low, x.high, {.is_log = chart.is_log_x, .is_whole = chart.has_whole_x}),
        y_axis_(y.low, y.high,
                {.is_log = chart.is_log_y, .is_whole = chart.has_whole_y, .most_ticks = 5}),
        svg_(chart.width, chart.height + legend, chart.title, theme_.background) {}

  void axes() {
    svg_.text(kLeft - 44, 22, chart_.title, {.size = 14, .colour = theme_.ink, .is_bold = true});
    const TextStyle label{.size = 11, .colour = theme_.grey, .anchor = "middle"};
    const TextStyle label_of_y{.size = 11, .colour = theme_.grey, .anchor = "end"};
    for (const Tick& tick : x_axis_.ticks()) {
      const double x = x_of(tick.value);
      svg_.line(x, bottom(), x, bottom() + 4, theme_.grey);
      svg_.text(x, bottom() + 17, tick.label, label);
    }
    for (const Tick& tick : y_axis_.ticks()) {
      const double y = y_of(tick.value);
      svg_.line(kLeft, y, right(), y, theme_.rule);
      svg_.text(kLeft - 7, y + 4, tick.label, label_of_y);
    }
    svg_.line(kLeft, bottom(), right(), bottom(), theme_.grey);
    svg_.text((kLeft + right()) / 2, chart_.height - 8, chart_.x_label, label);
    if (!chart_.y_label.empty()) {
      svg_.text(14, (kLinesTop + bottom()) / 2, chart_.y_label,
                {.size = 11, .colour = theme_.grey, .anchor = "middle", .turn = -90});
    }
  }

  void curve(const ChartSeries& series) {
    SvgPath path;
    bool is_open = false;
    for (const ChartPoint& point : series.points) {
      const bool is_shown = is_drawable(chart_, point);
      if (is_shown && is_open) path.line_to(x_of(point.x), y_of(point.y));
      if (is_shown && !is_open) path.move_to(x_of(point.x), y_of(point.y));
      is_open = is_shown;
    }
    const std::string_view colour = theme_.colour(series.colour);
    svg_.curve(path.data(), colour, 2, series.dashes, {.tooltip = series.name, .kind = "curve"});
    if (!has_room_for_dots(series)) return;
    for (const ChartPoint& point : series.points) {
      if (!is_drawable(chart_, point)) continue;
      const std::string tooltip = fmt::format("{}: {} {}, {}", series.name, chart_.x_label,
                                              short_number(point.x), short_number(point.y));
      svg_.circle(x_of(point.x), y_of(point.y), 2.4, colour, {.tooltip = tooltip});
    }
  }

  void legend(const std::vector<LegendEntry>& entries) {
    draw_legend(svg_, entries, kLeft, right(), chart_.height, theme_);
  }

  std::string finish() const { return svg_.finish(); }

 private:
  bool has_room_for_dots(const ChartSeries& series) const {
    double low = right();
    double high = kLeft;
    double dots = 0;
    for (const ChartPoint& point : series.points) {
      if (!is_drawable(chart_, point)) continue;
      low = std::min(low, x_of(point.x));
      high = std::max(high, x_of(point.x));
      ++dots;
    }
    return high - low >= kDotDistance * (dots - 1);
  }

  double right() const { return chart_.width - kLinesRight; }
  double bottom() const { return chart_.height - kBottom; }
  double x_of(double value) const { return kLeft + x_axis_.share(value) * (right() - kLeft); }
  double y_of(double value) const {
    return bottom() - y_axis_.share(value) * (bottom() - kLinesTop);
  }

  const LineChart& chart_;
  const ChartTheme& theme_;
  Axis x_axis_;
  Axis y_axis_;
  Svg svg_;
};

std::string empty_chart(const LineChart& chart) {
  Svg svg(chart.width, chart.height, chart.title, chart.theme.background);
  svg.text(kLeft - 44, 22, chart.title, {.size = 14, .colour = chart.theme.ink, .is_bold = true});
  svg.text(chart.width / 2, chart.height / 2, "nothing to show",
           {.size = 12, .colour = chart.theme.grey, .anchor = "middle"});
  return svg.finish();
}

}  // namespace

std::string draw(const LineChart& chart, const std::vector<ChartSeries>& series) {
  const std::optional<Extent> x = extent_of(chart, series, &ChartPoint::x);
  const std::optional<Extent> y = extent_of(chart, series, &ChartPoint::y);
  if (!x || !y) return empty_chart(chart);
  std::vector<LegendEntry> entries;
  for (const ChartSeries& each : series) {
    if (!chart.has_legend || !has_point(chart, each)) continue;
    entries.push_back(
        {.name = each.name, .colour = chart.theme.colour(each.colour), .dashes = each.dashes});
  }
  Drawing drawing(chart, *x, with_room(*y, chart.is_log_y),
                  legend_height(entries, kLeft, chart.width - kLinesRight));
  drawing.axes();
  for (const ChartSeries& each : series) {
    if (has_point(chart, each)) drawing.curve(each);
  }
  drawing.legend(entries);
  return drawing.finish();
}

}  // namespace nibble::inline report
