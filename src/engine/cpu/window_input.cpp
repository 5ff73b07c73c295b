// SPDX-License-Identifier: Apache-2.0
// Finds what windows read.
#include "engine/cpu/window_input.h"

#include "core/checked.h"

namespace nibble::inline engine {

std::int64_t pixel_bytes_of(const Place& in) {
  return in.storage == FilterStorage::u4 ? in.channels : in.stride;
}

WindowInput::WindowInput(const ProductSpec& spec)
    : in(spec.in),
      out(spec.out),
      window(spec.window),
      meeting(spec.meeting),
      outputs(spec.meeting.y * spec.meeting.x),
      is_linear(spec.is_linear),
      pixel_bytes(pixel_bytes_of(spec.in)) {}

OutputPixel WindowInput::pixel_at(std::int64_t index) const {
  const std::int64_t at = index % out.pixels();
  return {index / out.pixels(), at / out.width, at % out.width};
}

void WindowInput::advance(OutputPixel& pixel, std::int64_t pixels) const {
  pixel.x += pixels;
  if (pixel.x < out.width) return;
  pixel.x = 0;
  if (++pixel.y < out.height) return;
  pixel.y = 0;
  ++pixel.image;
}

const std::uint8_t* WindowInput::base(const EngineKernels& path, const std::byte* arena,
                                      const PixelSpan& span, std::uint8_t* expanded) const {
  const auto* input = reinterpret_cast<const std::uint8_t*>(arena + in.offset);
  if (in.storage != FilterStorage::u4) return input;
  const auto [first, last] = input_range(span);
  path.expand_u4(input + first * in.stride, expanded,
                 (last - first) * in.channels / kFilterColumns);
  return expanded - first * pixel_bytes;
}

// Rows of the input that a block of outputs can touch.
std::size_t WindowInput::expanded_bytes(std::int64_t block) const {
  if (in.storage != FilterStorage::u4) return 0;
  std::int64_t rows = checked_product(block, in.height);  // linear: whole pictures
  if (!is_linear) {
    const std::int64_t rows_of_y = block / out.width + 2;
    const std::int64_t pictures = block / out.pixels() + 2;
    const std::int64_t reach = (window.kernel.y - 1) * window.dilation.y + 1;
    rows = std::min(
        checked_sum(checked_product(rows_of_y, meeting.y, window.stride.y), reach, in.height),
        checked_product(pictures, in.height));
  }
  return static_cast<std::size_t>(
      checked_sum(checked_product(rows, in.width, pixel_bytes), kPlaceSlack));
}

// The pixels of the input, over all pictures, that a span of outputs reads.
std::pair<std::int64_t, std::int64_t> WindowInput::input_range(const PixelSpan& span) const {
  const std::int64_t last = span.first + span.count - 1;
  if (is_linear) return {span.first * in.pixels(), (last + 1) * in.pixels()};
  const auto row_of = [&](std::int64_t pixel) { return top_of(pixel % out.pixels() / out.width); };
  const std::int64_t from = std::max<std::int64_t>(row_of(span.first), 0);
  const std::int64_t reach =
      (meeting.y - 1) * window.stride.y + (window.kernel.y - 1) * window.dilation.y + 1;
  const std::int64_t to = std::clamp<std::int64_t>(row_of(last) + reach, 0, in.height);
  const std::int64_t pictures = out.pixels();
  return {span.first / pictures * in.pixels() + std::min(from, in.height) * in.width,
          last / pictures * in.pixels() + to * in.width};
}

}  // namespace nibble::inline engine
