// SPDX-License-Identifier: Apache-2.0
// The network coloured by device.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "core/name.h"
#include "report/chart_theme.h"
#include "report/legend.h"
#include "report/svg.h"
#include "tasks/place_pictures.h"

namespace nibble::inline tasks {
namespace {

constexpr double kRowHeight = 46;
constexpr double kBoxHeight = 34;
constexpr double kBoxWidth = 150;
constexpr double kGap = 104;        // between columns: room for what crosses
constexpr double kNodeRight = 210;  // where names end and boxes begin
constexpr double kRowsTop = 64;
constexpr std::size_t kMostNodeLetters = 22;
constexpr std::array<std::string_view, 4> kColumns = {"forward", "input error", "weight gradient",
                                                      "update"};

struct Point {
  double x = 0;
  double y = 0;
};

class NetworkPicture {
 public:
  NetworkPicture(const Network& network, const StepPlan& plan)
      : network_(network),
        plan_(plan),
        rows_(rows_of(plan)),
        svg_(kNodeRight + 4 * kBoxWidth + 3 * kGap + 100,
             kRowsTop + kRowHeight * static_cast<double>(rows_.size()) + 16,
             "The network, coloured by the device that computes each pass", "") {}

  std::string draw() {
    draw_head();
    for (const auto& [node, row] : rows_) draw_node(node);
    draw_skips();
    for (std::size_t i = 0; i < plan_.graph.units.size(); ++i) draw_unit(i);
    for (const Flow& flow : plan_.graph.flows) {
      if (crosses(flow, plan_.best().sides)) draw_crossing(flow);
    }
    return svg_.finish();
  }

 private:
  static std::map<std::size_t, std::size_t> rows_of(const StepPlan& plan) {
    std::map<std::size_t, std::size_t> rows;
    for (const PlacedUnit& each : plan.graph.units) rows[each.unit.node] = 0;
    std::size_t row = 0;
    for (auto& each : rows) each.second = row++;
    return rows;
  }

  std::string_view colour(std::uint8_t side) const { return kPageTheme.colour(side); }
  double row_top(std::size_t node) const {
    return kRowsTop + kRowHeight * static_cast<double>(rows_.at(node));
  }
  static double column_left(std::size_t pass) {
    return kNodeRight + static_cast<double>(pass) * (kBoxWidth + kGap);
  }
  Point box_of(std::size_t unit) const {
    const StepUnit& each = plan_.graph.units[unit].unit;
    return {column_left(static_cast<std::size_t>(each.pass)), row_top(each.node)};
  }

  void draw_head() {
    double x = 14;
    for (std::uint8_t side = 0; side < (plan_.has_choice() ? 2 : 1); ++side) {
      svg_.rectangle(x, 10, 14, 14, colour(side));
      svg_.text(x + 20, 22, plan_.devices[side], {.size = 13, .colour = kPageTheme.ink});
      x += 44 + drawn_width(plan_.devices[side], 13);
    }
    for (std::size_t i = 0; i < kColumns.size(); ++i) {
      svg_.text(column_left(i) + kBoxWidth / 2, kRowsTop - 16, kColumns[i],
                {.size = 12.5, .colour = kPageTheme.grey, .anchor = "middle", .is_bold = true});
    }
  }

  void draw_node(std::size_t node) {
    const double y = row_top(node) + kBoxHeight / 2;
    svg_.text(kNodeRight - 34, y - 1, shortened(network_.nodes[node].name, kMostNodeLetters),
              {.size = 13, .colour = kPageTheme.ink, .anchor = "end", .is_bold = true});
    svg_.text(kNodeRight - 34, y + 13, name_of(network_.nodes[node].op),
              {.size = 10.5, .colour = kPageTheme.grey, .anchor = "end"});
  }

  // A value goes to the row below, and farther ones in an arc beside the names.
  void draw_skips() {
    for (const auto& [node, row] : rows_) {
      for (const std::size_t input : network_.nodes[node].inputs) {
        if (!rows_.contains(input)) continue;
        const double x = kNodeRight - 22;
        const double from = row_top(input) + kBoxHeight / 2 + 6;
        const double to = row_top(node) + kBoxHeight / 2 - 8;
        const auto away = static_cast<double>(row - rows_.at(input) - 1);
        const double bend = std::min(12.0, 5 * away);
        svg_.curve(fmt::format("M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", x, from,
                               x + bend, from + 10, x + bend, to - 10, x, to),
                   kPageTheme.grey, 1.2);
        svg_.shape(fmt::format("M{:.1f} {:.1f}l-3.5 -6h7z", x, to + 1), kPageTheme.grey);
      }
    }
  }

  void draw_unit(std::size_t unit) {
    const auto [x, y] = box_of(unit);
    const std::uint8_t side = plan_.best().sides[unit];
    const auto& costs = plan_.costs.units[unit];
    const std::string tooltip =
        plan_.has_choice()
            ? fmt::format("{}: {} on {}, {} on {}", plan_.graph.units[unit].node,
                          short_time(costs[0]), plan_.devices[0], short_time(costs[1]),
                          plan_.devices[1])
            : fmt::format("{}: {}", plan_.graph.units[unit].node, short_time(costs[0]));
    svg_.rectangle(x, y, kBoxWidth, kBoxHeight, colour(side),
                   {.tooltip = tooltip, .kind = "unit", .opacity = 0.16});
    svg_.rectangle(x, y, 5, kBoxHeight, colour(side));
    svg_.text(x + 14, y + 22, short_time(costs[side]),
              {.size = 13, .colour = kPageTheme.ink, .is_bold = true});
    if (!plan_.has_choice()) return;
    svg_.text(
        x + kBoxWidth - 8, y + 22,
        fmt::format("{} {}", shortened(plan_.devices[1 - side], 9), short_time(costs[1 - side])),
        {.size = 10.5, .colour = kPageTheme.grey, .anchor = "end"});
  }

  // From the side of the maker's box to the first reader's on the other device.
  void draw_crossing(const Flow& flow) {
    const Sides& sides = plan_.best().sides;
    const auto reader = std::ranges::find_if(
        flow.to, [&](std::size_t unit) { return sides[unit] != sides[flow.from]; });
    const Point from = box_of(flow.from);
    const Point to = box_of(*reader);
    const bool goes_right = to.x > from.x;
    const bool stays = to.x == from.x;
    const double x1 = goes_right || stays ? from.x + kBoxWidth : from.x;
    const double x2 = goes_right ? to.x : to.x + kBoxWidth;
    const double y1 = from.y + kBoxHeight / 2;
    const double y2 = to.y + kBoxHeight / 2 + (stays && y1 == to.y + kBoxHeight / 2 ? 8 : 0);
    const double reach = stays ? 34 : (goes_right ? 44 : -44);
    const std::string_view paint = colour(sides[flow.from]);
    svg_.curve(fmt::format("M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", x1, y1,
                           x1 + reach, y1, x2 + (stays ? reach : -reach), y2, x2, y2),
               paint, 1.6, "",
               {.tooltip = fmt::format("{}: {} bytes from {}", flow.tensor, flow.bytes,
                                       plan_.devices[sides[flow.from]]),
                .kind = "crossing"});
    const double head = goes_right ? -6 : 6;
    svg_.shape(fmt::format("M{:.1f} {:.1f}l{:.1f} -4v8z", x2, y2, head), paint);
    label(flow, goes_right || stays ? x1 + 8 : x1 - 8, y1, goes_right || stays, paint);
  }

  // Several tensors may leave one box: their words stand one above the other.
  void label(const Flow& flow, double x, double y, bool is_right, std::string_view paint) {
    const int before = labels_[{flow.from, is_right}]++;
    const std::size_t dot = flow.tensor.rfind('.');
    svg_.text(x, y - 5 - 12 * before,
              fmt::format("{} {}", flow.tensor.substr(dot + 1), short_bytes(flow.bytes)),
              {.size = 10, .colour = paint, .anchor = is_right ? "start" : "end"});
  }

  const Network& network_;
  const StepPlan& plan_;
  std::map<std::size_t, std::size_t> rows_;  // by node
  std::map<std::pair<std::size_t, bool>, int> labels_;
  Svg svg_;
};

}  // namespace

std::string short_bytes(std::int64_t bytes) {
  const auto number = static_cast<double>(bytes);
  if (bytes < 1000) return fmt::format("{} B", bytes);
  if (bytes < 1'000'000) return fmt::format("{:.1f} kB", number / 1e3);
  return fmt::format("{:.1f} MB", number / 1e6);
}

std::string short_time(Nanoseconds time) {
  const auto number = static_cast<double>(time);
  return time < 1'000'000 ? fmt::format("{:.1f} us", number / 1e3)
                          : fmt::format("{:.2f} ms", number / 1e6);
}

std::string network_picture(const Network& network, const StepPlan& plan) {
  return NetworkPicture(network, plan).draw();
}

}  // namespace nibble::inline tasks
