// SPDX-License-Identifier: Apache-2.0
// Runs pools, a row of outputs at a time.
#include "engine/cpu/pool_steps.h"

#include <algorithm>
#include <array>

#include "graph/mean_factors.h"
#include "kernels/engine/engine_kernels.h"

namespace nibble::inline engine {
namespace {

constexpr int kMostRows = 64;  // of a window, gathered at once

// The pixels of a window that are there.
class Window {
 public:
  Window(Extent2 kernel, Extent2 stride, Extent2 padding, const Place& in)
      : kernel_(kernel), stride_(stride), padding_(padding), in_(in) {}

  // Calls body(rows, count) for pieces of the window at (y, x).
  template <class Body>
  void visit(const std::uint8_t* base, std::int64_t image, std::int64_t y, std::int64_t x,
             const Body& body) const {
    std::array<const std::uint8_t*, kMostRows> rows;
    int count = 0;
    const std::int64_t top = y * stride_.y - padding_.y;
    const std::int64_t left = x * stride_.x - padding_.x;
    const std::int64_t bottom = std::min(top + kernel_.y, in_.height);
    const std::int64_t right = std::min(left + kernel_.x, in_.width);
    for (std::int64_t iy = std::max<std::int64_t>(top, 0); iy < bottom; ++iy) {
      for (std::int64_t ix = std::max<std::int64_t>(left, 0); ix < right; ++ix) {
        if (count == kMostRows) {
          body(rows.data(), count);
          count = 0;
        }
        rows[static_cast<std::size_t>(count++)] = base + in_.at(image, iy, ix);
      }
    }
    if (count > 0) body(rows.data(), count);
  }

 private:
  Extent2 kernel_;
  Extent2 stride_;
  Extent2 padding_;
  Place in_;
};

class MaxPoolStep final : public CpuStep {
 public:
  MaxPoolStep(const MaxPool& pool, const Place& in, const Place& out)
      : rows_(pool, in, out), in_(in), out_(out) {}

  void run(const RunFrame& frame) const override {
    const EngineKernels& path = engine_kernels();
    const auto* in = reinterpret_cast<const std::uint8_t*>(frame.arena + in_.offset);
    auto* out = reinterpret_cast<std::uint8_t*>(frame.arena + out_.offset);
    frame.team.run(frame.batch * out_.height, [&](int, std::int64_t row) {
      rows_.run_row(path, in + row / out_.height * in_.image_bytes(), row % out_.height,
                    out + row * out_.row_bytes());
    });
  }

 private:
  MaxPoolRows rows_;
  Place in_;
  Place out_;
};

class MeanStep final : public CpuStep {
 public:
  explicit MeanStep(const MeanSpec& spec)
      : spec_(spec),
        window_(spec.law.pool.kernel, spec.law.pool.stride, spec.law.pool.padding, spec.in),
        factors_(spec.law.pool, {spec.in.height, spec.in.width},
                 {spec.out.height, spec.out.width}) {
    const auto columns = static_cast<std::size_t>(spec.in.channels + kFilterColumns);
    for (std::size_t c = 0; c < columns; ++c) {
      const std::size_t at = std::min(c, spec.law.finish.multiplier.size() - 1);
      multipliers_.push_back(static_cast<std::int32_t>(spec.law.finish.multiplier[at]));
    }
  }

  std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(spec_.in.stride) * sizeof(std::int32_t);
  }

  void run(const RunFrame& frame) const override {
    const EngineKernels& path = engine_kernels();
    frame.team.run(frame.batch * spec_.out.pixels(), [&](int worker, std::int64_t pixel) {
      auto* sums = reinterpret_cast<std::int32_t*>(frame.scratch[static_cast<std::size_t>(worker)]);
      run_pixel(frame, path, sums, pixel);
    });
  }

 private:
  void run_pixel(const RunFrame& frame, const EngineKernels& path, std::int32_t* sums,
                 std::int64_t pixel) const {
    const Place& in = spec_.in;
    const auto* base = reinterpret_cast<const std::uint8_t*>(frame.arena + in.offset);
    const std::int64_t image = pixel / spec_.out.pixels();
    const std::int64_t y = pixel % spec_.out.pixels() / spec_.out.width;
    const std::int64_t x = pixel % spec_.out.width;
    std::fill_n(sums, in.stride, 0);
    std::int32_t taken = 0;
    window_.visit(base, image, y, x, [&](const std::uint8_t** rows, int count) {
      path.add_u8(rows, count, sums, in.channels);
      taken += count;
    });
    const auto factor = static_cast<std::int32_t>(factors_.of(y, x));
    for (std::int64_t c = 0; c < in.channels; ++c) sums[c] = (sums[c] - taken * in.zero) * factor;
    std::byte* out = frame.arena + spec_.out.offset + pixel * spec_.out.stride;
    for (std::int64_t c = 0; c < in.channels; c += kFilterColumns) {
      path.rescale(
          {.sums = sums + c,
           .pixels = 1,
           .columns = static_cast<int>(std::min<std::int64_t>(kFilterColumns, in.channels - c)),
           .multiplier = multipliers_.data() + c,
           .shift = spec_.law.finish.shift,
           .low = static_cast<std::int32_t>(spec_.law.finish.low),
           .high = static_cast<std::int32_t>(spec_.law.finish.high),
           .zero = spec_.out.zero,
           .is_wide = spec_.law.finish.is_wide,
           .storage = spec_.out.storage,
           .out = out + spec_.out.channel_bytes(c),
           .stride = spec_.out.stride});
    }
  }

  MeanSpec spec_;
  Window window_;
  MeanFactors factors_;
  std::vector<std::int32_t> multipliers_;
};

}  // namespace

std::int64_t MaxPoolRows::first_row(std::int64_t y) const {
  return std::max<std::int64_t>(y * pool_.stride.y - pool_.padding.y, 0);
}

std::int64_t MaxPoolRows::end_row(std::int64_t y) const {
  return std::min(y * pool_.stride.y - pool_.padding.y + pool_.kernel.y, in_.height);
}

void MaxPoolRows::run_row(const EngineKernels& path, const std::uint8_t* from, std::int64_t y,
                          std::uint8_t* to) const {
  const auto largest = in_.storage == FilterStorage::u4 ? path.largest_u4 : path.largest_u8;
  const std::int64_t row_bytes = in_.row_bytes();
  const std::uint8_t* top = from + in_.at(0, first_row(y), 0);
  const std::uint8_t* bottom = from + in_.at(0, end_row(y), 0);
  std::array<const std::uint8_t*, kMostRows> pixels;
  for (std::int64_t x = 0; x < out_.width; ++x, to += out_.stride) {
    const std::int64_t left = x * pool_.stride.x - pool_.padding.x;
    const std::int64_t begin = std::max<std::int64_t>(left, 0) * in_.stride;
    const std::int64_t end = std::min(left + pool_.kernel.x, in_.width) * in_.stride;
    std::size_t count = 0;
    for (const std::uint8_t* row = top; row < bottom; row += row_bytes) {
      for (std::int64_t at = begin; at < end; at += in_.stride) {
        if (count == kMostRows) {
          largest(pixels.data(), kMostRows, to, out_.stride);
          pixels[0] = to;
          count = 1;
        }
        pixels[count++] = row + at;
      }
    }
    largest(pixels.data(), static_cast<int>(count), to, out_.stride);
  }
}

std::unique_ptr<CpuStep> make_max_pool_step(const MaxPool& pool, const Place& in,
                                            const Place& out) {
  return std::make_unique<MaxPoolStep>(pool, in, out);
}

std::unique_ptr<CpuStep> make_mean_step(const MeanSpec& spec) {
  return std::make_unique<MeanStep>(spec);
}

}  // namespace nibble::inline engine
