// SPDX-License-Identifier: Apache-2.0
// Integer layers by their definition, in plain loops over (image, row, column, channel), for tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "graph/picture.h"
#include "nibble/graph/op.h"

namespace nibble::inline backend::reference {

using Sums = std::vector<std::int64_t>;

// A batch, image after image, (row, column, channel).
struct Block {
  Picture picture;
  std::int64_t images = 0;
  int exponent = 0;
  std::vector<std::int8_t> data = {};

  std::size_t size() const { return static_cast<std::size_t>(images * picture.elements()); }
  std::size_t at(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) const {
    return static_cast<std::size_t>(
        ((n * picture.height + y) * picture.width + x) * picture.channels + c);
  }
};

struct Weight {
  std::vector<std::int8_t> mantissas = {};
  int exponent = 0;
};

// The number of times that a magnitude can be halved, rounding up, before it is at most 1.
inline int bits(std::int64_t magnitude) {
  int count = 0;
  while ((std::int64_t{1} << count) < magnitude) ++count;
  return count;
}

inline std::int64_t largest(const Sums& sums) {
  std::int64_t most = 0;
  for (const std::int64_t each : sums) most = std::max(most, each < 0 ? -each : each);
  return most;
}

// Halves go away from zero.
inline std::int64_t nearest(std::int64_t x, int s) {
  if (s == 0) return x;
  const std::int64_t half = std::int64_t{1} << (s - 1);
  return x < 0 ? -((-x + half) >> s) : (x + half) >> s;
}

inline std::int8_t clamped(std::int64_t x) {
  return static_cast<std::int8_t>(std::clamp<std::int64_t>(x, -127, 127));
}

inline int shift_of(const Sums& sums) {
  return std::max(bits(largest(sums)) - 7, 0);
}

// Two passes: the largest sum gives the shift, then all are rounded.
inline Block rounded(const Sums& sums, const Picture& picture, std::int64_t images, int exponent) {
  const int shift = shift_of(sums);
  Block block{picture, images, exponent + shift, {}};
  for (const std::int64_t each : sums) block.data.push_back(clamped(nearest(each, shift)));
  return block;
}

struct Window {
  Extent2 kernel{1, 1};
  Extent2 stride{1, 1};
  Extent2 padding{0, 0};
  Extent2 dilation{1, 1};
};

// body(n, oy, ox, ky, kx, y, x) of every tap that lies inside.
template <class Body>
void for_each_tap(const Window& window, const Picture& in, const Picture& out, std::int64_t images,
                  const Body& body) {
  for (std::int64_t n = 0; n < images; ++n) {
    for (std::int64_t oy = 0; oy < out.height; ++oy) {
      for (std::int64_t ox = 0; ox < out.width; ++ox) {
        for (std::int64_t ky = 0; ky < window.kernel.y; ++ky) {
          for (std::int64_t kx = 0; kx < window.kernel.x; ++kx) {
            const std::int64_t y = oy * window.stride.y - window.padding.y + ky * window.dilation.y;
            const std::int64_t x = ox * window.stride.x - window.padding.x + kx * window.dilation.x;
            if (y < 0 || y >= in.height || x < 0 || x >= in.width) continue;
            body(n, oy, ox, ky, kx, y, x);
          }
        }
      }
    }
  }
}

// body(place in the input, in the weight, in the output) of every product of a convolution.
template <class Body>
void for_each_product(const Conv2d& conv, const Block& in, const Block& out, const Body& body) {
  const std::int64_t ins = in.picture.channels / conv.groups;
  const std::int64_t outs = conv.channels / conv.groups;
  for_each_tap(
      {conv.kernel, conv.stride, conv.padding, conv.dilation}, in.picture, out.picture, in.images,
      [&](std::int64_t n, std::int64_t oy, std::int64_t ox, std::int64_t ky, std::int64_t kx,
          std::int64_t y, std::int64_t x) {
        for (std::int64_t o = 0; o < conv.channels; ++o) {
          const std::size_t to = out.at(n, oy, ox, o);
          const std::size_t from = in.at(n, y, x, o / outs * ins);
          const auto weight =
              static_cast<std::size_t>(((o * conv.kernel.y + ky) * conv.kernel.x + kx) * ins);
          for (std::size_t i = 0; i < static_cast<std::size_t>(ins); ++i)
            body(from + i, weight + i, to);
        }
      });
}

// A linear layer is a convolution whose one window is the whole picture.
inline Conv2d convolution_of(const Op& op, const Picture& in) {
  if (const auto* conv = std::get_if<Conv2d>(&op)) return *conv;
  const auto& linear = std::get<Linear>(op);
  return {
      .channels = linear.features, .kernel = {in.height, in.width}, .has_bias = linear.has_bias};
}

inline std::int64_t extent(std::int64_t in, std::int64_t kernel, std::int64_t stride,
                           std::int64_t padding, std::int64_t dilation = 1) {
  return (in + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
}

inline Picture picture_after(const Window& window, const Picture& in, std::int64_t channels) {
  return {extent(in.height, window.kernel.y, window.stride.y, window.padding.y, window.dilation.y),
          extent(in.width, window.kernel.x, window.stride.x, window.padding.x, window.dilation.x),
          channels};
}

inline Block convolve(const Conv2d& conv, const Block& in, const Weight& weight,
                      const Weight* bias) {
  Block out{picture_after({conv.kernel, conv.stride, conv.padding, conv.dilation}, in.picture,
                          conv.channels),
            in.images};
  Sums sums(out.size());
  for_each_product(conv, in, out, [&](std::size_t i, std::size_t w, std::size_t o) {
    sums[o] += std::int64_t{in.data[i]} * weight.mantissas[w];
  });
  int exponent = in.exponent + weight.exponent;
  if (bias != nullptr) {
    const int common = std::min(exponent, bias->exponent);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const std::size_t c = i % static_cast<std::size_t>(conv.channels);
      sums[i] = sums[i] * (std::int64_t{1} << (exponent - common)) +
                bias->mantissas[c] * (std::int64_t{1} << (bias->exponent - common));
    }
    exponent = common;
  }
  return rounded(sums, out.picture, in.images, exponent);
}

inline Block error_of_convolution(const Conv2d& conv, const Block& in, const Weight& weight,
                                  const Block& error) {
  Sums sums(in.size());
  for_each_product(conv, in, error, [&](std::size_t i, std::size_t w, std::size_t o) {
    sums[i] += std::int64_t{error.data[o]} * weight.mantissas[w];
  });
  return rounded(sums, in.picture, in.images, error.exponent + weight.exponent);
}

inline Sums gradient_of_convolution(const Conv2d& conv, const Block& in, const Block& error) {
  Sums sums(static_cast<std::size_t>(conv.channels * conv.kernel.y * conv.kernel.x *
                                     (in.picture.channels / conv.groups)));
  for_each_product(conv, in, error, [&](std::size_t i, std::size_t w, std::size_t o) {
    sums[w] += std::int64_t{error.data[o]} * in.data[i];
  });
  return sums;
}

inline Sums gradient_of_bias(const Block& error) {
  Sums sums(static_cast<std::size_t>(error.picture.channels));
  for (std::size_t i = 0; i < error.data.size(); ++i) sums[i % sums.size()] += error.data[i];
  return sums;
}

// The pseudo-stochastic shift, from its words: the upper half of what is cut against the lower.
inline std::int64_t pseudo(std::int64_t x, int s) {
  const std::int64_t magnitude = x < 0 ? -x : x;
  const std::int64_t cut = magnitude % (std::int64_t{1} << s);
  const std::int64_t upper = cut / (std::int64_t{1} << (s / 2));
  std::int64_t lower = cut % (std::int64_t{1} << (s / 2));
  if (s % 2 == 1) lower *= 2;
  const std::int64_t result = magnitude / (std::int64_t{1} << s) + (upper > lower ? 1 : 0);
  return x < 0 ? -result : result;
}

inline void move(std::vector<std::int8_t>& weights, const Sums& gradient, int mu) {
  const int b = bits(largest(gradient));
  if (b == 0) return;
  const int s = b - mu;
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] = clamped(weights[i] - clamped(s < 1 ? gradient[i] : pseudo(gradient[i], s)));
}

// Operands with one exponent each, exact in the smallest of them.
inline Block added(const std::vector<const Block*>& operands) {
  int common = operands[0]->exponent;
  for (const Block* each : operands) common = std::min(common, each->exponent);
  Sums sums(operands[0]->data.size());
  for (const Block* each : operands) {
    for (std::size_t i = 0; i < sums.size(); ++i)
      sums[i] += each->data[i] * (std::int64_t{1} << (each->exponent - common));
  }
  return rounded(sums, operands[0]->picture, operands[0]->images, common);
}

inline Window window_of(const Op& op, const Picture& in) {
  if (const auto* pool = std::get_if<MaxPool>(&op))
    return {pool->kernel, pool->stride, pool->padding};
  if (const auto* pool = std::get_if<AveragePool>(&op))
    return {pool->kernel, pool->stride, pool->padding};
  return {.kernel = {in.height, in.width}};
}

// Which element of the input passed to every element of the output: the first of the largest.
inline std::vector<std::size_t> winners(const Op& op, const Block& in, const Block& out) {
  constexpr auto kNone = static_cast<std::size_t>(-1);
  std::vector<std::size_t> from(out.size(), kNone);
  for_each_tap(window_of(op, in.picture), in.picture, out.picture, in.images,
               [&](std::int64_t n, std::int64_t oy, std::int64_t ox, std::int64_t, std::int64_t,
                   std::int64_t y, std::int64_t x) {
                 for (std::int64_t c = 0; c < in.picture.channels; ++c) {
                   std::size_t& best = from[out.at(n, oy, ox, c)];
                   const std::size_t here = in.at(n, y, x, c);
                   if (best == kNone || in.data[here] > in.data[best]) best = here;
                 }
               });
  return from;
}

inline Block max_pooled(const Op& op, const Block& in) {
  Block out{picture_after(window_of(op, in.picture), in.picture, in.picture.channels), in.images,
            in.exponent};
  for (const std::size_t from : winners(op, in, out)) out.data.push_back(in.data[from]);
  return out;
}

inline Block error_of_max_pool(const Op& op, const Block& in, const Block& error) {
  Sums sums(in.size());
  const auto from = winners(op, in, error);
  for (std::size_t i = 0; i < from.size(); ++i) sums[from[i]] += error.data[i];
  return rounded(sums, in.picture, in.images, error.exponent);
}

// round(2^15 / count) of every window, by pixel of the output.
inline Sums factors_of(const Op& op, const Picture& in, const Picture& out) {
  const Window window = window_of(op, in);
  Sums counts(static_cast<std::size_t>(out.pixels()));
  for_each_tap(
      window, in, out, 1,
      [&](std::int64_t, std::int64_t oy, std::int64_t ox, std::int64_t, std::int64_t, std::int64_t,
          std::int64_t) { ++counts[static_cast<std::size_t>(oy * out.width + ox)]; });
  const auto* pool = std::get_if<AveragePool>(&op);
  for (std::int64_t& each : counts) {
    if (pool != nullptr && pool->counts_padding) each = window.kernel.y * window.kernel.x;
    each = (65536 / each + 1) / 2;  // 2^15 / count to the nearest
  }
  return counts;
}

template <class Body>
void for_each_share(const Op& op, const Block& in, const Block& out, const Body& body) {
  const Sums factors = factors_of(op, in.picture, out.picture);
  for_each_tap(window_of(op, in.picture), in.picture, out.picture, in.images,
               [&](std::int64_t n, std::int64_t oy, std::int64_t ox, std::int64_t, std::int64_t,
                   std::int64_t y, std::int64_t x) {
                 const auto factor = factors[static_cast<std::size_t>(oy * out.picture.width + ox)];
                 for (std::int64_t c = 0; c < in.picture.channels; ++c)
                   body(in.at(n, y, x, c), out.at(n, oy, ox, c), factor);
               });
}

inline Block averaged(const Op& op, const Block& in) {
  const Block out{picture_after(window_of(op, in.picture), in.picture, in.picture.channels),
                  in.images};
  Sums sums(out.size());
  for_each_share(op, in, out, [&](std::size_t i, std::size_t o, std::int64_t factor) {
    sums[o] += in.data[i] * factor;
  });
  return rounded(sums, out.picture, in.images, in.exponent - 15);
}

inline Block error_of_average(const Op& op, const Block& in, const Block& error) {
  Sums sums(in.size());
  for_each_share(op, in, error, [&](std::size_t i, std::size_t o, std::int64_t factor) {
    sums[i] += error.data[o] * factor;
  });
  return rounded(sums, in.picture, in.images, error.exponent - 15);
}

}  // namespace nibble::inline backend::reference
