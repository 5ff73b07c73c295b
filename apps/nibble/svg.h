// SPDX-License-Identifier: Apache-2.0
// A picture as SVG text: no scripts, no fonts of its own, coordinates to a tenth of a pixel.
#pragma once

#include <string>
#include <string_view>

namespace nibble {

struct TextStyle {
  double size = 13;
  std::string_view colour = "#222222";
  std::string_view anchor = "start";  // start, middle, end
  bool is_bold = false;
};

class Svg {
 public:
  // The title is what a screen reader says. The background is white.
  Svg(double width, double height, std::string_view title);

  void text(double x, double y, std::string_view words, const TextStyle& style = {});
  void line(double x1, double y1, double x2, double y2, std::string_view colour, double width = 1,
            std::string_view dashes = "");
  void rectangle(double x, double y, double width, double height, std::string_view colour);

  // Path data as SVG has it: filled, or as a stroke.
  void shape(std::string_view path, std::string_view colour);
  void curve(std::string_view path, std::string_view colour, double width,
             std::string_view dashes = "");

  std::string finish() const;

 private:
  std::string body_;
};

}  // namespace nibble
