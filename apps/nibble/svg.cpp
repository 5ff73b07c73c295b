// SPDX-License-Identifier: Apache-2.0
// A picture as SVG text.
#include "apps/nibble/svg.h"

#include <fmt/format.h>

#include <iterator>

namespace nibble {
namespace {

std::string escaped(std::string_view words) {
  std::string result;
  for (const char c : words) {
    if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '&')
      result += "&amp;";
    else
      result += c;
  }
  return result;
}

std::string dash_attribute(std::string_view dashes) {
  return dashes.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", dashes);
}

}  // namespace

Svg::Svg(double width, double height, std::string_view title)
    : body_(fmt::format(
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
          "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" "
          "font-family=\"system-ui, 'Segoe UI', Helvetica, Arial, sans-serif\">\n"
          "<title>{2}</title>\n",
          width, height, escaped(title))) {
  rectangle(0, 0, width, height, "#ffffff");
}

void Svg::text(double x, double y, std::string_view words, const TextStyle& style) {
  fmt::format_to(std::back_inserter(body_),
                 "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{}\" fill=\"{}\" "
                 "text-anchor=\"{}\"{}>{}</text>\n",
                 x, y, style.size, style.colour, style.anchor,
                 style.is_bold ? " font-weight=\"600\"" : "", escaped(words));
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view colour, double width,
               std::string_view dashes) {
  curve(fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", x1, y1, x2, y2), colour, width, dashes);
}

void Svg::rectangle(double x, double y, double width, double height, std::string_view colour) {
  fmt::format_to(std::back_inserter(body_),
                 "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
                 "fill=\"{}\"/>\n",
                 x, y, width, height, colour);
}

void Svg::shape(std::string_view path, std::string_view colour) {
  fmt::format_to(std::back_inserter(body_), "<path d=\"{}\" fill=\"{}\"/>\n", path, colour);
}

void Svg::curve(std::string_view path, std::string_view colour, double width,
                std::string_view dashes) {
  fmt::format_to(std::back_inserter(body_),
                 "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" "
                 "stroke-linejoin=\"round\"{}/>\n",
                 path, colour, width, dash_attribute(dashes));
}

std::string Svg::finish() const {
  return body_ + "</svg>\n";
}

}  // namespace nibble
