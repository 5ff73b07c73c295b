// SPDX-License-Identifier: Apache-2.0
// Chooses how examples lie, and packs weights alike.
#include "engine/cuda/entry_layout.h"

#include <algorithm>
#include <tuple>

namespace nibble::inline engine {
namespace {

constexpr std::int64_t kFilled = 16;        // channels
constexpr std::int64_t kLeastOfTap = 32;    // bytes that are copied at a time
constexpr std::int64_t kDepthOfTile = 128;  // bytes that are multiplied at a time

// One axis of a picture and of the convolution that reads it.
struct WindowAxis {
  std::int64_t extent;
  std::int64_t kernel;
  std::int64_t stride;
  std::int64_t padding;
};

EntryAxis plain_axis(const WindowAxis& of) {
  return {.extent = of.extent,
          .old_padding = of.padding,
          .kernel = of.kernel,
          .stride = of.stride,
          .padding = of.padding};
}

// Stored pixel p has pixels p·stride to p·stride + stride - 1; windows begin ⌈padding / stride⌉
// stored pixels before.
EntryAxis folded_axis(const WindowAxis& of) {
  const std::int64_t before = (of.padding + of.stride - 1) / of.stride;
  const std::int64_t last = of.kernel - 1 - of.padding;  // pixel of a window, from its output's
  const std::int64_t behind = last >= 0 ? last / of.stride : -((-last + of.stride - 1) / of.stride);
  return {.extent = (of.extent + of.stride - 1) / of.stride,
          .step = of.stride,
          .count = of.stride,
          .old_padding = of.padding,
          .kernel = behind + before + 1,
          .padding = before};
}

// Stored pixel p has the window of output p.
EntryAxis spread_axis(const WindowAxis& of) {
  return {.extent = (of.extent + 2 * of.padding - of.kernel) / of.stride + 1,
          .step = of.stride,
          .origin = -of.padding,
          .count = of.kernel,
          .old_padding = of.padding};
}
// Every pixel must be in one.
bool can_spread(const WindowAxis& of) {
  const EntryAxis spread = spread_axis(of);
  return of.kernel >= of.stride &&
         of.extent <= (spread.extent - 1) * spread.step + spread.origin + spread.count;
}

// With the stored pixels that windows begin and end in, outside of the example.
EntryAxis bordered_axis(EntryAxis axis, const WindowAxis& of) {
  const std::int64_t outputs = (of.extent + 2 * of.padding - of.kernel) / of.stride + 1;
  axis.extent = std::max(axis.extent + axis.padding, (outputs - 1) * axis.stride + axis.kernel);
  axis.origin -= axis.padding * axis.step;
  axis.padding = 0;
  return axis;
}

// Less to multiply first, then less to store.
auto cost_of(const EntryLayout& layout) {
  const Picture stored = layout.stored();
  const std::int64_t pixel = (stored.channels + kFilled - 1) / kFilled * kFilled;
  const std::int64_t depth = layout.y.kernel * layout.x.kernel * std::max(pixel, kLeastOfTap);
  return std::tuple((depth + kDepthOfTile - 1) / kDepthOfTile, stored.pixels() * pixel);
}

}  // namespace

std::int64_t EntryAxis::stored_pixel(std::int64_t pixel) const {
  return std::min((pixel - origin) / step, extent - 1);
}

EntryLayout EntryLayout::plain(const Picture& example) {
  return {.example = example, .y = {.extent = example.height}, .x = {.extent = example.width}};
}

EntryLayout EntryLayout::best(const Picture& example, const Conv2d& conv, bool can_overlap,
                              bool has_border) {
  const WindowAxis y{example.height, conv.kernel.y, conv.stride.y, conv.padding.y};
  const WindowAxis x{example.width, conv.kernel.x, conv.stride.x, conv.padding.x};
  const EntryLayout as_it_is{example, plain_axis(y), plain_axis(x)};
  if (conv.dilation != Extent2{1, 1} || example.channels >= kFilled) return as_it_is;
  const auto layout = [&](const EntryAxis& own_y, const EntryAxis& own_x) {
    return has_border ? EntryLayout{example, bordered_axis(own_y, y), bordered_axis(own_x, x)}
                      : EntryLayout{example, own_y, own_x};
  };
  const EntryLayout folded = layout(folded_axis(y), folded_axis(x));
  if (can_overlap && folded.overlaps()) return folded;
  std::vector<EntryLayout> layouts{layout(plain_axis(y), plain_axis(x)), folded};
  if (can_spread(x)) {
    layouts.push_back(layout(plain_axis(y), spread_axis(x)));
    layouts.push_back(layout(folded_axis(y), spread_axis(x)));
  }
  return *std::ranges::min_element(layouts, {}, cost_of);
}

Conv2d EntryLayout::window(const Conv2d& conv) const {
  if (is_plain()) return conv;
  Conv2d window = conv;
  window.kernel = {y.kernel, x.kernel};
  window.stride = {y.stride, x.stride};
  window.padding = {y.padding, x.padding};
  return window;
}

std::vector<std::int8_t> EntryLayout::weights(const Conv2d& conv,
                                              const std::vector<std::int8_t>& old) const {
  if (is_plain()) return old;
  const std::int64_t depth = stored().channels;
  std::vector<std::int8_t> packed(
      static_cast<std::size_t>(conv.channels * y.kernel * x.kernel * depth));
  const auto at = [&](std::int64_t o, std::int64_t ty, std::int64_t tx, std::int64_t dy,
                      std::int64_t dx) {
    const std::int64_t ky = y.old_tap(ty, dy);
    const std::int64_t kx = x.old_tap(tx, dx);
    if (ky < 0 || ky >= conv.kernel.y || kx < 0 || kx >= conv.kernel.x) return;
    const auto from =
        old.begin() + ((o * conv.kernel.y + ky) * conv.kernel.x + kx) * example.channels;
    std::copy_n(
        from, example.channels,
        packed.begin() + ((o * y.kernel + ty) * x.kernel + tx) * depth + channel(dy, dx, 0));
  };
  for (std::int64_t o = 0; o < conv.channels; ++o) {
    for (std::int64_t ty = 0; ty < y.kernel; ++ty) {
      for (std::int64_t tx = 0; tx < x.kernel; ++tx) {
        for (std::int64_t dy = 0; dy < y.count; ++dy) {
          for (std::int64_t dx = 0; dx < x.count; ++dx) at(o, ty, tx, dy, dx);
        }
      }
    }
  }
  return packed;
}

}  // namespace nibble::inline engine
