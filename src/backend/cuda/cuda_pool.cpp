// SPDX-License-Identifier: Apache-2.0
// Pools on a GPU: the largest of a window, or its mean.
#include <algorithm>

#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/cuda_memory.h"
#include "backend/cuda/plain_kernels.h"
#include "backend/cuda/round_sources.h"
#include "backend/cuda/tap_tables.h"
#include "laws/integer_laws.h"

namespace nibble::inline backend {
namespace {

std::uint8_t* marks_of(const Values& marks) {
  return reinterpret_cast<std::uint8_t*>(
      static_cast<const CudaMemory*>(marks.memory.get())->data());
}

class CudaPool final : public PoolOp {
 public:
  CudaPool(CudaBackend& backend, const PoolCase& pool) : backend_(backend), case_(pool) {
    const TapMap ahead = TapMap::forward(pool.window, pool.input, pool.output);
    const TapMap back = TapMap::backward(pool.window, pool.input, pool.output);
    overlap_ = back.most() > 1;
    ahead_ = backend.lasting(cuda::tap_table(ahead, pool.window.taps()));
    back_ = backend.lasting(cuda::tap_table(back, pool.window.taps()));
    if (pool.kind != PoolCase::Kind::mean) return;
    std::vector<std::int32_t> factors;
    for (std::int64_t pixel = 0; pixel < ahead.pixels(); ++pixel) {
      const auto there = static_cast<std::int64_t>(ahead.of(pixel).size());
      factors.push_back(static_cast<std::int32_t>(mean_factor(
          pool.counts_padding ? pool.window.taps() : std::max<std::int64_t>(there, 1))));
    }
    factors_ = backend.lasting(factors);
  }

  void forward(const Values& input, ShiftPoint point, const Values& marks,
               const Values& output) override {
    if (case_.kind == PoolCase::Kind::mean) return round_mean(input, ahead_, true, point, output);
    const cuda::LargestJob job = largest(input, marks, ahead_, true, output);
    const bool is_alone = case_.is_rectified && is_of_two_by_two() && !marks.memory.is_empty();
    if (!is_alone || !backend_.pool_held(job, output)) backend_.hold(job, output);
  }

  void input_error(const Values& error, const Values& marks, ShiftPoint point,
                   const Values& input_error) override {
    if (case_.kind == PoolCase::Kind::mean)
      return round_mean(error, back_, false, point, input_error);
    if (!overlap_)
      return backend_.hold(largest(error, marks, back_, false, input_error), input_error);
    const cuda::Rows from = backend_.rows(error);
    backend_.round(point, input_error, [&](const cuda::RoundingSite& site) {
      cuda::queue(backend_.queue(),
                  cuda::RoundEach<cuda::ReturnedRows>{{.source = operand(from),
                                                       .marks = marks_of(marks),
                                                       .table = table(back_),
                                                       .source_pixels = from.pixels.divisor},
                                                      site,
                                                      backend_.target(input_error)});
    });
  }

 private:
  static cuda::Operand operand(const cuda::Rows& rows) {
    return {rows.data, rows.exponent, 0, rows.pitch()};
  }
  cuda::TapTable table(const cuda::DeviceBuffer& memory) const {
    return {memory.as<std::int32_t>(), case_.window.taps()};
  }

  bool is_of_two_by_two() const {
    return case_.window.kernel == Extent2{2, 2} && case_.window.stride == Extent2{2, 2} &&
           case_.window.padding == Extent2{0, 0} && case_.input.width % 2 == 0 &&
           case_.input.height % 2 == 0;
  }

  cuda::LargestJob largest(const Values& from, const Values& marks,
                           const cuda::DeviceBuffer& memory, bool is_forward,
                           const Values& to) const {
    return {.from = backend_.rows(from),
            .to = backend_.target(to),
            .marks = marks_of(marks),
            .table = table(memory),
            .is_forward = is_forward ? 1u : 0u,
            .is_rectified = case_.is_rectified ? 1u : 0u,
            .rectified_exponent = nullptr,
            .passed = nullptr,
            .turned = {},
            .is_of_two_by_two = is_of_two_by_two() ? 1u : 0u,
            .line_windows = Divisor::of(static_cast<std::uint32_t>(case_.output.width))};
  }

  void round_mean(const Values& from, const cuda::DeviceBuffer& memory, bool is_forward,
                  ShiftPoint point, const Values& to) {
    const cuda::Rows source = backend_.rows(from);
    backend_.round(point, to, [&](const cuda::RoundingSite& site) {
      cuda::queue(backend_.queue(),
                  cuda::RoundEach<cuda::MeanRows>{{.source = operand(source),
                                                   .table = table(memory),
                                                   .factors = factors_.as<std::int32_t>(),
                                                   .source_pixels = source.pixels.divisor,
                                                   .is_forward = is_forward ? 1u : 0u},
                                                  site,
                                                  backend_.target(to)});
    });
  }

  CudaBackend& backend_;
  PoolCase case_;
  bool overlap_ = false;  // of windows
  cuda::DeviceBuffer ahead_;
  cuda::DeviceBuffer back_;
  cuda::DeviceBuffer factors_;
};

}  // namespace

std::unique_ptr<PoolOp> make_cuda_pool(CudaBackend& backend, const PoolCase& pool) {
  return std::make_unique<CudaPool>(backend, pool);
}

}  // namespace nibble::inline backend
