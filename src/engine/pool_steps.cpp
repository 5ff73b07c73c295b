// SPDX-License-Identifier: Apache-2.0
// Runs pools, a row of outputs at a time.
#include "engine/pool_steps.h"

#include <algorithm>
#include <array>

#include "nibble/kernels/filter8.h"

namespace nibble {
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
    for (std::int64_t ky = 0; ky < kernel_.y; ++ky) {
      const std::int64_t iy = y * stride_.y - padding_.y + ky;
      if (iy < 0 || iy >= in_.height) continue;
      for (std::int64_t kx = 0; kx < kernel_.x; ++kx) {
        const std::int64_t ix = x * stride_.x - padding_.x + kx;
        if (ix < 0 || ix >= in_.width) continue;
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

class MaxPoolStep final : public EngineStep {
 public:
  MaxPoolStep(std::string name, const MaxPool& pool, const Place& in, const Place& out)
      : name_(std::move(name)),
        window_(pool.kernel, pool.stride, pool.padding, in),
        in_(in),
        out_(out) {}

  StepInfo info() const override { return {.name = name_, .kind = "max_pool"}; }

  void run(const RunFrame& frame) const override {
    const Filter8& path = filter8_path();
    frame.crew.run(frame.batch * out_.height,
                   [&](int, std::int64_t row) { run_row(frame, path, row); });
  }

 private:
  void run_row(const RunFrame& frame, const Filter8& path, std::int64_t row) const {
    const auto* base = reinterpret_cast<const std::uint8_t*>(frame.arena + in_.offset);
    const std::int64_t image = row / out_.height;
    const std::int64_t y = row % out_.height;
    const auto largest = in_.storage == FilterStorage::u4 ? path.largest_u4 : path.largest_u8;
    for (std::int64_t x = 0; x < out_.width; ++x) {
      auto* to = reinterpret_cast<std::uint8_t*>(frame.arena + out_.offset) + out_.at(image, y, x);
      bool is_first = true;
      window_.visit(base, image, y, x, [&](const std::uint8_t** rows, int count) {
        if (!is_first) {  // a window larger than one piece: what is known takes part
          const std::uint8_t* both[2] = {to, nullptr};
          for (int r = 0; r < count; ++r) {
            both[1] = rows[r];
            largest(both, 2, to, out_.stride);
          }
          return;
        }
        largest(rows, count, to, out_.stride);
        is_first = false;
      });
    }
  }

  std::string name_;
  Window window_;
  Place in_;
  Place out_;
};

class MeanStep final : public EngineStep {
 public:
  explicit MeanStep(const MeanSpec& spec)
      : spec_(spec), window_(spec.pool.kernel, spec.pool.stride, spec.pool.padding, spec.in) {
    multipliers_.fill(spec.multiplier);
  }

  StepInfo info() const override { return {.name = spec_.name, .kind = "sum_pool + rescale"}; }
  std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(spec_.in.stride) * sizeof(std::int32_t);
  }

  void run(const RunFrame& frame) const override {
    const Filter8& path = filter8_path();
    frame.crew.run(frame.batch * spec_.out.pixels(), [&](int worker, std::int64_t pixel) {
      auto* sums = reinterpret_cast<std::int32_t*>(frame.scratch[static_cast<std::size_t>(worker)]);
      run_pixel(frame, path, sums, pixel);
    });
  }

 private:
  void run_pixel(const RunFrame& frame, const Filter8& path, std::int32_t* sums,
                 std::int64_t pixel) const {
    const Place& in = spec_.in;
    const auto* base = reinterpret_cast<const std::uint8_t*>(frame.arena + in.offset);
    const std::int64_t image = pixel / spec_.out.pixels();
    const std::int64_t at = pixel % spec_.out.pixels();
    std::fill_n(sums, in.stride, 0);
    std::int32_t taken = 0;
    window_.visit(base, image, at / spec_.out.width, at % spec_.out.width,
                  [&](const std::uint8_t** rows, int count) {
                    path.add_u8(rows, count, sums, in.channels);
                    taken += count;
                  });
    for (std::int64_t c = 0; c < in.channels; ++c) sums[c] -= taken * in.zero;
    std::byte* out = frame.arena + spec_.out.offset + pixel * spec_.out.stride;
    const std::int64_t size = spec_.out.storage == FilterStorage::s32 ? 4 : 1;
    for (std::int64_t c = 0; c < in.channels; c += kFilterColumns) {
      path.rescale(
          {.sums = sums + c,
           .pixels = 1,
           .columns = static_cast<int>(std::min<std::int64_t>(kFilterColumns, in.channels - c)),
           .multiplier = multipliers_.data(),
           .shift = spec_.shift,
           .low = static_cast<std::int32_t>(spec_.low),
           .high = static_cast<std::int32_t>(spec_.high),
           .zero = spec_.out.zero,
           .storage = spec_.out.storage,
           .out = out + c * size,
           .stride = spec_.out.stride});
    }
  }

  MeanSpec spec_;
  Window window_;
  std::array<std::int32_t, kFilterColumns> multipliers_;
};

}  // namespace

std::unique_ptr<EngineStep> make_max_pool_step(std::string name, const MaxPool& pool,
                                               const Place& in, const Place& out) {
  return std::make_unique<MaxPoolStep>(std::move(name), pool, in, out);
}

std::unique_ptr<EngineStep> make_mean_step(const MeanSpec& spec) {
  return std::make_unique<MeanStep>(spec);
}

}  // namespace nibble
