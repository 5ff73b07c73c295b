// SPDX-License-Identifier: Apache-2.0
// Pools: the first of the largest values, in row-major order, passes and takes the error; a mean is
// a sum times ⌊2^15 / count⌉.
#include <algorithm>
#include <cstring>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/round_pixels.h"
#include "backend/cpu/tap_map.h"
#include "kernels/integer_loops/integer_loops.h"
#include "laws/integer_laws.h"
#include "nibble/core/parallel.h"

namespace nibble::inline backend {
namespace {

constexpr std::size_t kPixelGrain = 8;

template <class Body>
void for_each_pixel_of(const BlockTensor& tensor, const Body& body) {
  const std::int64_t pixels = tensor.picture.pixels();
  parallel_for(static_cast<std::size_t>(tensor.groups() * pixels), kPixelGrain,
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) {
                   const auto at = static_cast<std::int64_t>(i);
                   body(at / pixels, at % pixels);
                 }
               });
}

class LargestPool final : public PoolOp {
 public:
  LargestPool(CpuBackend& backend, const PoolCase& pool)
      : backend_(backend),
        is_rectified_(pool.is_rectified),
        ahead_(TapMap::forward(pool.window, pool.input, pool.output)),
        back_(TapMap::backward(pool.window, pool.input, pool.output)) {}

  void forward(const Values& from, ShiftPoint, const Values& marks, const Values& to) override {
    const BlockTensor input = backend_.block(from);
    const BlockTensor output = backend_.block(to);
    const BlockTensor taps = backend_.block(marks);
    backend_.set_exponent(to, input.exponent);
    const auto bytes = static_cast<std::size_t>(output.picture.pixel_bytes());
    for_each_pixel_of(output, [&](std::int64_t group, std::int64_t pixel) {
      std::int8_t* best = output.at(group, pixel);
      auto* place = reinterpret_cast<std::uint8_t*>(taps.at(group, pixel));
      bool is_first = !is_rectified_;
      if (is_rectified_) {
        std::memset(best, 0, bytes);
        std::memset(place, PoolCase::kNoMark, bytes);
      }
      for (const TapSource& each : ahead_.of(pixel)) {
        const std::int8_t* value = input.at(group, each.source);
        const auto tap = static_cast<std::uint8_t>(each.tap);
        if (is_first) {
          std::memcpy(best, value, bytes);
          std::memset(place, tap, bytes);
        } else {
          integer_loops().take_larger(value, best, place, tap, bytes);
        }
        is_first = false;
      }
      if (is_first) std::memset(best, 0, bytes);
    });
  }

  void input_error(const Values& from, const Values& marks, ShiftPoint point,
                   const Values& to) override {
    const BlockTensor error = backend_.block(from);
    const BlockTensor taps = backend_.block(marks);
    if (back_.most() <= 1) return give_back(error, taps, to);
    backend_.round(
        point, error.exponent, to, [&](const RoundingJob& job, const BlockTensor& result) {
          const auto bytes = static_cast<std::size_t>(result.picture.pixel_bytes());
          return round_pixels<std::int32_t>(
              job, result, backend_.step().first_image,
              [&](std::int64_t group, std::int64_t pixel, std::int32_t* sums) {
                for (const TapSource& each : back_.of(pixel)) {
                  integer_loops().give_back_add(error.at(group, each.source),
                                                place_of(taps, group, each.source),
                                                static_cast<std::uint8_t>(each.tap), sums, bytes);
                }
              });
        });
  }

 private:
  static const std::uint8_t* place_of(const BlockTensor& taps, std::int64_t group,
                                      std::int64_t pixel) {
    return reinterpret_cast<const std::uint8_t*>(taps.at(group, pixel));
  }

  // Windows that do not overlap: nothing is summed.
  void give_back(const BlockTensor& error, const BlockTensor& taps, const Values& to) {
    const BlockTensor target = backend_.block(to);
    backend_.set_exponent(to, error.exponent);
    const auto bytes = static_cast<std::size_t>(target.picture.pixel_bytes());
    for_each_pixel_of(target, [&](std::int64_t group, std::int64_t pixel) {
      std::int8_t* result = target.at(group, pixel);
      if (back_.of(pixel).empty()) std::memset(result, 0, bytes);
      for (const TapSource& each : back_.of(pixel)) {
        integer_loops().give_back(error.at(group, each.source), place_of(taps, group, each.source),
                                  static_cast<std::uint8_t>(each.tap), result, bytes);
      }
    });
  }

  CpuBackend& backend_;
  bool is_rectified_;
  TapMap ahead_;
  TapMap back_;
};

class MeanPool final : public PoolOp {
 public:
  MeanPool(CpuBackend& backend, const PoolCase& pool)
      : backend_(backend),
        ahead_(TapMap::forward(pool.window, pool.input, pool.output)),
        back_(TapMap::backward(pool.window, pool.input, pool.output)) {
    for (std::int64_t pixel = 0; pixel < ahead_.pixels(); ++pixel) {
      const auto there = static_cast<std::int64_t>(ahead_.of(pixel).size());
      factors_.push_back(static_cast<std::int32_t>(mean_factor(
          pool.counts_padding ? pool.window.taps() : std::max<std::int64_t>(there, 1))));
    }
  }

  void forward(const Values& from, ShiftPoint point, const Values&, const Values& to) override {
    run(ahead_, from, point, to, true);
  }
  void input_error(const Values& from, const Values&, ShiftPoint point, const Values& to) override {
    run(back_, from, point, to, false);
  }

 private:
  // The factor is the window's: of the result on the way forward, of the source on the way back.
  void run(const TapMap& meetings, const Values& from, ShiftPoint point, const Values& to,
           bool is_forward) {
    const BlockTensor source = backend_.block(from);
    backend_.round(point, source.exponent - kMeanBits, to,
                   [&](const RoundingJob& job, const BlockTensor& result) {
                     const auto count = static_cast<std::size_t>(result.picture.pixel_bytes());
                     return round_pixels<std::int32_t>(
                         job, result, backend_.step().first_image,
                         [&](std::int64_t group, std::int64_t pixel, std::int32_t* sums) {
                           for (const TapSource& each : meetings.of(pixel)) {
                             const std::int64_t window = is_forward ? pixel : each.source;
                             integer_loops().add_scaled(sums, source.at(group, each.source),
                                                        factors_[static_cast<std::size_t>(window)],
                                                        count);
                           }
                         });
                   });
  }

  CpuBackend& backend_;
  TapMap ahead_;
  TapMap back_;
  std::vector<std::int32_t> factors_;  // of every window
};

}  // namespace

std::unique_ptr<PoolOp> make_cpu_pool(CpuBackend& backend, const PoolCase& pool) {
  if (pool.kind == PoolCase::Kind::mean) return std::make_unique<MeanPool>(backend, pool);
  return std::make_unique<LargestPool>(backend, pool);
}

}  // namespace nibble::inline backend
