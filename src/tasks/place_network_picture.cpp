// SPDX-License-Identifier: Apache-2.0
// The network coloured by device.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "core/name.h"
#include "report/chart_theme.h"
#include "report/svg.h"
#include "tasks/place_pictures.h"

namespace nibble::inline tasks {
namespace {

constexpr double kRowHeight = 58;
constexpr double kBoxHeight = 38;
constexpr double kBoxWidth = 136;
constexpr double kGap = 112;        // between columns: room for what crosses
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
    for (const auto& [ends, crossing] : crossings_of()) draw_crossing(ends, crossing);
    for (std::size_t i = 0; i < plan_.graph.units.size(); ++i) draw_unit(i);
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

  // Lines pass behind boxes.
  void draw_unit(std::size_t unit) {
    const auto [x, y] = box_of(unit);
    const std::uint8_t side = plan_.best().sides[unit];
    const auto& costs = plan_.costs.units[unit];
    svg_.rectangle(x, y, kBoxWidth, kBoxHeight, "var(--card)");
    svg_.rectangle(x, y, kBoxWidth, kBoxHeight, colour(side),
                   {.tooltip = fmt::format("{}: {} on {}", plan_.graph.units[unit].node,
                                           short_time(costs[side]), plan_.devices[side]),
                    .kind = "unit",
                    .opacity = 0.18});
    svg_.rectangle(x, y, 5, kBoxHeight, colour(side));
    const bool has_choice = plan_.has_choice() && !plan_.graph.units[unit].is_fixed;
    svg_.text(x + 14, y + (has_choice ? 17 : 24), short_time(costs[side]),
              {.size = 13, .colour = kPageTheme.ink, .is_bold = true});
    if (!has_choice) return;
    svg_.text(
        x + 14, y + 31,
        fmt::format("{} {}", shortened(plan_.devices[1 - side], 10), short_time(costs[1 - side])),
        {.size = 10.5, .colour = kPageTheme.grey});
  }

  struct Ends {
    std::size_t from;
    std::size_t to;  // the first reader on the other device
    auto operator<=>(const Ends&) const = default;
  };
  struct Bundle {
    std::string words;
    std::int64_t bytes = 0;
  };

  // What goes the same way is one line.
  std::map<Ends, Bundle> crossings_of() const {
    const Sides& sides = plan_.best().sides;
    std::map<Ends, Bundle> bundles;
    for (const Flow& flow : plan_.graph.flows) {
      if (!crosses(flow, sides)) continue;
      const std::size_t reader = *std::ranges::find_if(
          flow.to, [&](std::size_t unit) { return sides[unit] != sides[flow.from]; });
      Bundle& bundle = bundles[{flow.from, reader}];
      const std::string word =
          flow.is_sent ? "weights" : flow.tensor.substr(flow.tensor.rfind('.') + 1);
      if (bundle.words.find(word) == std::string::npos)
        bundle.words += (bundle.words.empty() ? "" : ", ") + word;
      bundle.bytes += flow.bytes;
    }
    return bundles;
  }

  void draw_crossing(const Ends& ends, const Bundle& bundle) {
    const Point from = box_of(ends.from);
    const Point to = box_of(ends.to);
    const std::uint8_t side = plan_.best().sides[ends.from];
    const std::string words = fmt::format("{} {}", bundle.words, short_bytes(bundle.bytes));
    if (from.y == to.y && (to.x < from.x || to.x > from.x + kBoxWidth + kGap + 1))
      return draw_below(from, to, words, side);
    const bool goes_left = to.x < from.x;
    const bool stays = to.x == from.x;
    const double x1 = goes_left ? from.x : from.x + kBoxWidth;
    const double x2 = goes_left || stays ? to.x + kBoxWidth : to.x;
    const double y1 = from.y + kBoxHeight / 2 + (from.y < to.y ? 6 : -6);
    const double y2 = to.y + kBoxHeight / 2 + (from.y < to.y ? -6 : 6);
    const double reach = stays ? 26 : (goes_left ? -50 : 50);
    stroke(fmt::format("M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", x1, y1,
                       x1 + reach, y1, x2 + (stays ? reach : -reach), y2, x2, y2),
           words, side);
    svg_.shape(fmt::format("M{:.1f} {:.1f}l{:.1f} -4v8z", x2, y2, stays || goes_left ? 7.0 : -7.0),
               colour(side));
    const double middle = stays ? y1 + 2 : y1 - 5;
    svg_.text(goes_left ? x1 - 8 : x1 + (stays ? 24 : 8), middle, words,
              {.size = 10.5, .colour = colour(side), .anchor = goes_left ? "end" : "start"});
  }

  // Back to an earlier column, in the gap under the row.
  void draw_below(const Point& from, const Point& to, const std::string& words, std::uint8_t side) {
    const double x1 = from.x + kBoxWidth / 2;
    const double x2 = to.x + kBoxWidth / 2;
    const double y = from.y + kBoxHeight;
    stroke(fmt::format("M{:.1f} {:.1f}v9H{:.1f}v-6", x1, y, x2), words, side);
    svg_.shape(fmt::format("M{:.1f} {:.1f}l-4 7h8z", x2, y), colour(side));
    svg_.text(x1 - 8, y + 19, words, {.size = 10.5, .colour = colour(side), .anchor = "end"});
  }

  void stroke(const std::string& path, const std::string& words, std::uint8_t side) {
    svg_.curve(path, colour(side), 1.6, "",
               {.tooltip = words + " from " + plan_.devices[side], .kind = "crossing"});
  }

  const Network& network_;
  const StepPlan& plan_;
  std::map<std::size_t, std::size_t> rows_;  // by node
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
