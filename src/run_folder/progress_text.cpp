// SPDX-License-Identifier: Apache-2.0
// What a progress bar and a progress line say.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "nibble/run_folder/progress.h"

namespace nibble::inline run_folder {
namespace {

constexpr int kMostBarColumns = 30;
constexpr int kLeastBarColumns = 10;
constexpr std::array<std::string_view, 8> kEighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};

double share_of(const ProgressView& view) {
  if (view.total <= 0) return 0;
  return std::clamp(static_cast<double>(view.done) / static_cast<double>(view.total), 0.0, 1.0);
}

// Columns of a text in UTF-8, every character one wide.
int columns_of(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

// The first `columns` characters.
std::string_view cut_to(std::string_view text, int columns) {
  std::size_t end = 0;
  for (int seen = 0; end < text.size(); ++end) {
    const bool is_start = (static_cast<unsigned char>(text[end]) & 0xC0) != 0x80;
    if (is_start && ++seen > columns) break;
  }
  return text.substr(0, end);
}

std::string count_text(const ProgressView& view) {
  return view.total > 0 ? fmt::format("{}/{}", view.done, view.total)
                        : fmt::format("{}", view.done);
}

std::string rate_text(const ProgressView& view) {
  const double rate = view.seconds > 0 ? static_cast<double>(view.done) / view.seconds : 0;
  return fmt::format("{} {}/s",
                     rate >= 100 ? fmt::format("{:.0f}", rate) : fmt::format("{:.3g}", rate),
                     view.unit);
}

std::string remaining_text(const ProgressView& view) {
  if (view.total <= 0 || view.done <= 0 || view.done >= view.total) return "";
  const double share = share_of(view);
  return duration_text(view.seconds * (1 - share) / share) + " left";
}

std::string value_text(const ProgressValue& value) {
  return fmt::format("{} {:.4g}", value.name, value.value);
}

// What follows the bar, most important first.
std::vector<std::string> parts_of(const ProgressView& view) {
  std::vector<std::string> parts{count_text(view)};
  if (const std::string remaining = remaining_text(view); !remaining.empty()) {
    parts.push_back(remaining);
  }
  for (const ProgressValue& value : view.values) parts.push_back(value_text(value));
  if (view.done > 0) parts.push_back(rate_text(view));
  return parts;
}

std::string drawn_bar(double share, int columns, const BarLook& look) {
  const double filled = share * columns;
  const int whole = static_cast<int>(filled);
  std::string bar;
  for (int i = 0; i < whole; ++i) bar += look.has_blocks ? "█" : "#";
  int used = whole;
  const auto eighth = static_cast<std::size_t>((filled - whole) * 8);
  if (look.has_blocks && eighth > 0 && used < columns) {
    bar += kEighths[eighth];
    ++used;
  }
  const std::string empty(static_cast<std::size_t>(columns - used), look.has_blocks ? ' ' : '.');
  const std::string color = look.has_color ? "\x1b[32m" : "";
  const std::string plain = look.has_color ? "\x1b[0m" : "";
  return (look.has_blocks ? "▕" : "[") + color + bar + plain + empty +
         (look.has_blocks ? "▏" : "]");
}

}  // namespace

std::string duration_text(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) return "?";
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  if (whole < 86400) {
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  }
  return fmt::format("{} d {} h", whole / 86400, whole / 3600 % 24);
}

std::string bar_text(const ProgressView& view, const BarLook& look) {
  std::string head(cut_to(view.label, look.width));
  int left = look.width - columns_of(head);
  std::string tail;
  std::vector<std::string> parts = parts_of(view);
  // The bar gives way before the count, the rest before the bar.
  const int for_bar = view.total > 0 ? kLeastBarColumns + 3 : 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const int columns = columns_of(parts[i]) + 2;
    if (columns > left - (i == 0 ? 0 : for_bar)) break;
    tail += (i == 0 ? " " : "  ") + parts[i];
    left -= columns;
  }
  if (view.total <= 0 || left < for_bar) return head + tail;
  const int columns = std::min(kMostBarColumns, left - 3);
  return head + " " + drawn_bar(share_of(view), columns, look) + tail;
}

std::string line_text(const ProgressView& view) {
  std::string text(view.label);
  std::string_view between = ": ";
  for (const std::string& part : parts_of(view)) {
    text.append(between).append(part);
    between = ", ";
  }
  return text;
}

}  // namespace nibble::inline run_folder
