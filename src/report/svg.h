// SPDX-License-Identifier: Apache-2.0
// A picture as SVG text: no scripts, no fonts of its own, coordinates to a tenth of a pixel.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nibble::inline report {

// Words from elsewhere in pages (names of runs, layers and classes may hold anything): well-formed,
// and fit for the text and the quoted attributes of XML and HTML.
std::string escaped(std::string_view words);

struct TextStyle {
  double size = 13;
  std::string_view colour = "#222222";
  std::string_view anchor = "start";  // start, middle, end
  bool is_bold = false;
  double turn = 0;  // degrees, clockwise about its own place
};

// What a mark carries beside its colour.
struct MarkStyle {
  std::string_view tooltip = {};  // shown by browsers under the pointer
  std::string_view kind = {};     // its class, for style sheets and tests
  double opacity = 1;
};

// Path data through points: each stands at a tenth of a pixel and is told by its distance from the
// one before, which is short.
class SvgPath {
 public:
  void move_to(double x, double y);
  void line_to(double x, double y);
  const std::string& data() const { return data_; }

 private:
  void add_tenths(std::int64_t tenths);

  std::string data_;
  std::int64_t x_ = 0;  // tenths
  std::int64_t y_ = 0;
  bool is_line_ = false;
};

class Svg {
 public:
  // The title is what a screen reader says. An empty background lets the page shine through.
  Svg(double width, double height, std::string_view title, std::string_view background = "#ffffff");

  void text(double x, double y, std::string_view words, const TextStyle& style = {});
  void line(double x1, double y1, double x2, double y2, std::string_view colour, double width = 1,
            std::string_view dashes = "");
  void rectangle(double x, double y, double width, double height, std::string_view colour,
                 const MarkStyle& style = {});
  void circle(double x, double y, double radius, std::string_view colour,
              const MarkStyle& style = {});

  // Path data as SVG has it: filled, or as a stroke.
  void shape(std::string_view path, std::string_view colour, const MarkStyle& style = {});
  void curve(std::string_view path, std::string_view colour, double width,
             std::string_view dashes = "", const MarkStyle& style = {});

  std::string finish() const;

 private:
  // Closes a mark's start tag with what the style adds, and the mark.
  void finish_mark(std::string_view tag, const MarkStyle& style);

  std::string body_;
};

}  // namespace nibble::inline report
