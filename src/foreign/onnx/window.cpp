// SPDX-License-Identifier: Apache-2.0
// Strides, dilations and paddings of ONNX windows.
#include "foreign/onnx/window.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/shapes.h"

namespace nibble::inline foreign {
namespace {

void check(const NodeView& node, std::string_view what, std::int64_t got, std::int64_t least) {
  if (got < least || got > kMaxNumber) {
    node.fail(what, std::to_string(got), fmt::format("{} to {}", least, kMaxNumber));
  }
}

// One axis of a window.
struct Line {
  std::int64_t extent, kernel, stride, dilation, before = 0, after = 0;

  std::int64_t reach() const { return (kernel - 1) * dilation + 1; }
  std::int64_t room() const { return extent + before + after - reach(); }

  void pad_to_same(bool is_more_after) {
    const std::int64_t outputs = (extent + stride - 1) / stride;
    const std::int64_t sum = std::max<std::int64_t>((outputs - 1) * stride + reach() - extent, 0);
    const std::int64_t less = sum / 2;
    before = is_more_after ? less : sum - less;
    after = sum - before;
  }

  // One more window at the end, if it starts before the padding after.
  void round_up() {
    const std::int64_t missing = (stride - room() % stride) % stride;
    if (room() >= 0 && missing > 0 && room() + missing < extent + before) after += missing;
  }

  std::int64_t outputs() const { return room() / stride + 1; }

  // With the same padding on both sides.
  std::int64_t even_outputs(std::int64_t padding) const {
    const std::int64_t even_room = extent + 2 * padding - reach();
    return even_room < 0 ? 0 : even_room / stride + 1;
  }
  bool is_even() const { return even_outputs(before) == outputs(); }

  // The least such padding, before + k·stride, that has these windows and no empty one. k more
  // windows come first, and 2·k more fit in all.
  std::optional<std::int64_t> even_padding() const {
    const std::int64_t even_room = extent + 2 * before - reach();
    const std::int64_t fit =  // ⌊even_room / stride⌋ + 1
        even_room >= 0 ? even_room / stride + 1 : (even_room + 1) / stride;
    const std::int64_t padding = before + std::max<std::int64_t>(outputs() - fit, 0) * stride;
    if (padding >= reach()) return std::nullopt;
    return padding;
  }
};

Line rows(const Window& window, const Extents& picture) {
  return {picture[1],        window.kernel.y, window.stride.y,
          window.dilation.y, window.before.y, window.after.y};
}
Line columns(const Window& window, const Extents& picture) {
  return {picture[2],        window.kernel.x, window.stride.x,
          window.dilation.x, window.before.x, window.after.x};
}

void pad_by_list(const NodeView& node, Window& window) {
  const auto pads = node.integers("pads");
  if (!pads) return;
  if (pads->size() != 4) node.fail("pads", fmt::format("{} numbers", pads->size()), "4");
  for (const std::int64_t pad : *pads) check(node, "padding", pad, 0);
  window.before = {(*pads)[0], (*pads)[1]};
  window.after = {(*pads)[2], (*pads)[3]};
}

}  // namespace

Extent2 extent_of(const NodeView& node, std::string_view attribute, Extent2 otherwise) {
  const auto list = node.integers(attribute);
  if (!list) return otherwise;
  if (list->size() != 2) {
    throw Unsupported{fmt::format("with {} of {} axes", attribute, list->size())};
  }
  for (const std::int64_t each : *list) check(node, attribute, each, 1);
  return {(*list)[0], (*list)[1]};
}

Window window_of(const NodeView& node, const Extents& picture, Extent2 kernel) {
  check(node, "kernel", kernel.y, 1);
  check(node, "kernel", kernel.x, 1);
  Window window{.kernel = kernel,
                .stride = extent_of(node, "strides", {1, 1}),
                .dilation = extent_of(node, "dilations", {1, 1}),
                .before = {0, 0},
                .after = {0, 0}};
  const std::string rule = node.text("auto_pad", "NOTSET");
  if (rule == "NOTSET") {
    pad_by_list(node, window);
  } else if (rule != "SAME_UPPER" && rule != "SAME_LOWER" && rule != "VALID") {
    node.fail("auto_pad", rule.substr(0, 20), "NOTSET, SAME_UPPER, SAME_LOWER or VALID");
  }
  Line y = rows(window, picture);
  Line x = columns(window, picture);
  for (Line* line : {&y, &x}) {
    if (rule.starts_with("SAME")) line->pad_to_same(rule == "SAME_UPPER");
    if (node.integer("ceil_mode", 0) != 0) line->round_up();
    if (line->room() < 0) {
      node.fail("window", std::to_string(line->reach()),
                fmt::format("at most {}, the padded extent", line->room() + line->reach()));
    }
  }
  window.before = {y.before, x.before};
  window.after = {y.after, x.after};
  return window;
}

bool is_even(const Window& window, const Extents& picture) {
  return rows(window, picture).is_even() && columns(window, picture).is_even();
}

std::optional<EvenWindows> even_windows(const Window& window, const Extents& picture) {
  const Line y = rows(window, picture);
  const Line x = columns(window, picture);
  const auto rows_padding = y.even_padding();
  const auto columns_padding = x.even_padding();
  if (!rows_padding || !columns_padding) return std::nullopt;
  const Extent2 first{(*rows_padding - y.before) / y.stride,
                      (*columns_padding - x.before) / x.stride};
  return EvenWindows{.padding = {*rows_padding, *columns_padding},
                     .first = first,
                     .end = {first.y + y.outputs(), first.x + x.outputs()}};
}

std::size_t add_padding(Translation& translation, const NodeView& node, std::size_t picture,
                        const Window& window) {
  return translation.builder().add(node.wished_name() + ".pad",
                                   {.name = {},
                                    .op = Pad{.before = {window.before.y, window.before.x, 0},
                                              .after = {window.after.y, window.after.x, 0}},
                                    .inputs = {picture}});
}

}  // namespace nibble::inline foreign
