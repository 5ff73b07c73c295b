// SPDX-License-Identifier: Apache-2.0
// A picture as SVG text.
#include "report/svg.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <iterator>

#include "core/name.h"

namespace nibble::inline report {

void SvgPath::move_to(double x, double y) {
  x_ = std::llround(10 * x);
  y_ = std::llround(10 * y);
  data_ += 'M';
  add_tenths(x_);
  add_tenths(y_);
  is_line_ = false;
}

void SvgPath::line_to(double x, double y) {
  const std::int64_t to_x = std::llround(10 * x);
  const std::int64_t to_y = std::llround(10 * y);
  if (!is_line_) data_ += 'l';
  add_tenths(to_x - x_);
  add_tenths(to_y - y_);
  x_ = to_x;
  y_ = to_y;
  is_line_ = true;
}

// Numbers need a space between them where the second has no sign.
void SvgPath::add_tenths(std::int64_t tenths) {
  const bool is_after_number = std::isdigit(static_cast<unsigned char>(data_.back())) != 0;
  if (is_after_number && tenths >= 0) data_ += ' ';
  fmt::format_to(std::back_inserter(data_), "{}", static_cast<double>(tenths) / 10);
}

Svg::Svg(double width, double height, std::string_view title, std::string_view background)
    : body_(fmt::format(
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
          "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" "
          "font-family=\"system-ui, 'Segoe UI', Helvetica, Arial, sans-serif\">\n"
          "<title>{2}</title>\n",
          width, height, escaped(title))) {
  if (!background.empty()) rectangle(0, 0, width, height, background);
}

void Svg::text(double x, double y, std::string_view words, const TextStyle& style) {
  fmt::format_to(
      std::back_inserter(body_),
      "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{}\" fill=\"{}\" "
      "text-anchor=\"{}\"{}{}>{}</text>\n",
      x, y, style.size, style.colour, style.anchor, style.is_bold ? " font-weight=\"600\"" : "",
      style.turn == 0 ? ""
                      : fmt::format(" transform=\"rotate({} {:.1f} {:.1f})\"", style.turn, x, y),
      escaped(words));
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view colour, double width,
               std::string_view dashes) {
  curve(fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", x1, y1, x2, y2), colour, width, dashes);
}

void Svg::rectangle(double x, double y, double width, double height, std::string_view colour,
                    const MarkStyle& style) {
  fmt::format_to(std::back_inserter(body_),
                 "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
                 "fill=\"{}\"",
                 x, y, width, height, colour);
  finish_mark("rect", style);
}

void Svg::circle(double x, double y, double radius, std::string_view colour,
                 const MarkStyle& style) {
  fmt::format_to(std::back_inserter(body_),
                 "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"{}\"", x, y, radius,
                 colour);
  finish_mark("circle", style);
}

void Svg::shape(std::string_view path, std::string_view colour, const MarkStyle& style) {
  fmt::format_to(std::back_inserter(body_), "<path d=\"{}\" fill=\"{}\"", path, colour);
  finish_mark("path", style);
}

void Svg::curve(std::string_view path, std::string_view colour, double width,
                std::string_view dashes, const MarkStyle& style) {
  fmt::format_to(std::back_inserter(body_),
                 "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" "
                 "stroke-linejoin=\"round\"",
                 path, colour, width);
  if (!dashes.empty()) {
    fmt::format_to(std::back_inserter(body_), " stroke-dasharray=\"{}\"", dashes);
  }
  finish_mark("path", style);
}

void Svg::finish_mark(std::string_view tag, const MarkStyle& style) {
  const auto end = std::back_inserter(body_);
  if (!style.kind.empty()) fmt::format_to(end, " class=\"{}\"", escaped(style.kind));
  if (style.opacity < 1) fmt::format_to(end, " opacity=\"{:.3f}\"", style.opacity);
  if (style.tooltip.empty())
    body_ += "/>\n";
  else
    fmt::format_to(end, "><title>{}</title></{}>\n", escaped(style.tooltip), tag);
}

std::string Svg::finish() const {
  return body_ + "</svg>\n";
}

std::string escaped(std::string_view words) {
  std::string result;
  for (const char c : well_formed(words)) {
    if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '&')
      result += "&amp;";
    else if (c == '"')
      result += "&quot;";
    else if (c == '\'')
      result += "&#39;";
    else
      result += c;
  }
  return result;
}

}  // namespace nibble::inline report
