// SPDX-License-Identifier: Apache-2.0
// The three products of a layer on a GPU. Each is one of gathered rows: windows of the input times
// the weights, windows of the error times the turned weights, and for gradients turned inputs at
// every tap times turned errors, images side by side.
#include <algorithm>

#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/cuda_memory.h"
#include "backend/cuda/round_sources.h"
#include "backend/cuda/tap_tables.h"
#include "laws/integer_laws.h"

namespace nibble::inline backend {
namespace {

using cuda::ProductShape;
using cuda::RoundingSite;

constexpr std::uint32_t kSafeDepths =
    static_cast<std::uint32_t>(kSafeTerms / (cuda::kDepthChunks * cuda::kChunk));

Divisor divisor_by(std::int64_t number) {
  return Divisor::of(static_cast<std::uint32_t>(number));
}

class CudaProduct final : public ProductOp {
 public:
  CudaProduct(CudaBackend& backend, const ProductCase& product)
      : backend_(backend),
        case_(product),
        ahead_(backend.lasting(cuda::tap_table(
            TapMap::forward(product.window, product.input, product.output), taps()))),
        back_(backend.lasting(cuda::tap_table(
            TapMap::backward(product.window, product.input, product.output), taps()))) {}

  void forward(const Values& input, const Weights& weight, const Weights* bias, ShiftPoint point,
               const Values& output) override {
    CudaWeights& weights = cuda_weights(weight);
    cuda::AddedBias added{nullptr, nullptr, weights.device_exponent()};
    if (bias != nullptr) {
      added.mantissas = cuda_weights(*bias).mantissas();
      added.exponent = cuda_weights(*bias).device_exponent();
    }
    if (case_.weight.groups > 1)
      return round_grouped(grouped(input, weights, added, ahead_, true), point, output);
    const CudaWeights::Packed packed = weights.packed(case_.weight);
    round_product(windows_of(input, ahead_, output, packed.ahead, case_.weight.out),
                  taps() * case_.weight.in, input, added, point, output);
  }

  void forward_sums(const Values& input, const Weights& weight, const FrozenLine* line,
                    const Values& output) override {
    CudaWeights& weights = cuda_weights(weight);
    const cuda::AddedBias none{nullptr, nullptr, weights.device_exponent()};
    const cuda::Rows target = backend_.rows(output);
    const auto leave = [&](const auto& source) {
      if (line != nullptr) return cuda::queue(backend_.queue(), frozen_each(source, *line, target));
      cuda::queue(backend_.queue(), cuda::NormEach{source, sum_shifts(weights), target});
    };
    if (case_.weight.groups > 1) return leave(grouped(input, weights, none, ahead_, true));
    const CudaWeights::Packed packed = weights.packed(case_.weight);
    const ProductShape shape = windows_of(input, ahead_, output, packed.ahead, case_.weight.out);
    const std::int64_t terms = taps() * case_.weight.in;
    if (line != nullptr || is_split(shape, terms))
      return leave(split_sums(shape, terms, target).rows(backend_, input, none));
    cuda::queue(backend_.queue(), backend_.path(),
                cuda::NormedProduct{.shape = shape,
                                    .shifts = sum_shifts(weights),
                                    .input_exponent = backend_.exponent(input),
                                    .weight_exponent = weights.device_exponent(),
                                    .result = target});
  }

  void input_error(const Values& error, const Weights& weight, ShiftPoint point,
                   const Values& input_error) override {
    CudaWeights& weights = cuda_weights(weight);
    const cuda::AddedBias none{nullptr, nullptr, weights.device_exponent()};
    if (case_.weight.groups > 1)
      return round_grouped(grouped(error, weights, none, back_, false), point, input_error);
    const CudaWeights::Packed packed = weights.packed(case_.weight);
    round_product(windows_of(error, back_, input_error, packed.back, case_.weight.in),
                  taps() * case_.weight.out, error, none, point, input_error);
  }

  void weight_gradient(const Values& input, const Values& error, Sums& sums) override {
    auto& own = static_cast<CudaSums&>(sums);
    const std::int64_t terms = backend_.step().all_images * case_.output.pixels();
    own.clear(terms > kSafeTerms, {input.exponent, error.exponent});
    if (error.images == 0) return;
    if (case_.weight.groups > 1) return add_grouped_gradient(input, error, own);
    const std::int64_t images = (error.images + cuda::kChunk - 1) / cuda::kChunk * cuda::kChunk;
    const cuda::DeviceBuffer inputs = turned(input, images);
    const cuda::DeviceBuffer errors = turned(error, images);
    const WeightShape& weight = case_.weight;
    const ProductShape shape{.a = {.data = inputs.as<std::int8_t>(),
                                   .table = ahead_.as<std::int32_t>(),
                                   .q_stride = 0,
                                   .p_stride = case_.input.pixels() * images,
                                   .table_q = 1,
                                   .table_p = 0,
                                   .table_s = static_cast<std::int32_t>(taps()),
                                   .rows = static_cast<std::uint32_t>(taps() * weight.in),
                                   .divisor = divisor_by(weight.in),
                                   .unused = 0},
                             .b = errors.as<std::int8_t>(),
                             .columns = static_cast<std::uint32_t>(weight.out),
                             .segments = static_cast<std::uint32_t>(case_.output.pixels()),
                             .segment_chunks = divisor_by(images / cuda::kChunk),
                             .column_tiles = {},
                             .tiles = 0,
                             .depths = 0};
    const std::uint32_t least = (cuda::depths_of(shape) + kSafeDepths - 1) / kSafeDepths;
    cuda::queue(
        backend_.queue(), backend_.path(),
        {.shape = shape, .sums = own.data(), .row_step = 1, .column_step = taps() * weight.in},
        own.is_wide(), std::max(least, even_splits(shape)));
  }

 private:
  std::int64_t taps() const { return case_.weight.taps; }
  const std::int8_t* sum_shifts(CudaWeights& weights) const {
    return weights.sum_shifts(static_cast<std::size_t>(case_.weight.out));
  }

  // Rows are the windows of `source` that the pixels of `result` see.
  ProductShape windows_of(const Values& source, const cuda::DeviceBuffer& table,
                          const Values& result, const std::int8_t* columns,
                          std::int64_t count) const {
    const cuda::Rows from = backend_.rows(source);
    return {.a = {.data = from.data,
                  .table = table.as<std::int32_t>(),
                  .q_stride = source.picture.pixels() * from.pitch(),
                  .p_stride = 0,
                  .table_q = 0,
                  .table_p = static_cast<std::int32_t>(taps()),
                  .table_s = 1,
                  .rows = static_cast<std::uint32_t>(result.images * result.picture.pixels()),
                  .divisor = divisor_by(result.picture.pixels()),
                  .unused = 0},
            .b = columns,
            .columns = static_cast<std::uint32_t>(count),
            .segments = static_cast<std::uint32_t>(taps()),
            .segment_chunks = from.chunks,
            .column_tiles = {},
            .tiles = 0,
            .depths = 0};
  }

  // Into how many parts the depth is best split: blocks run in rounds, a round takes as long as a
  // part is deep, and adding a tile of sums to memory takes as long as some depths.
  std::uint32_t even_splits(const ProductShape& shape) const {
    constexpr std::uint32_t kDepthsOfSums = 10;
    const std::uint32_t tiles = std::max(cuda::tiles_of(backend_.path(), shape), 1u);
    const std::uint32_t processors = backend_.queue().multiprocessors();
    const std::uint32_t depths = cuda::depths_of(shape);
    std::uint32_t best = 1;
    std::uint64_t least = UINT64_MAX;
    for (std::uint32_t splits = 1; splits <= std::min(depths, 4 * processors / tiles + 1);
         ++splits) {
      const std::uint64_t rounds = (tiles * splits + processors - 1) / processors;
      const std::uint64_t time = rounds * ((depths + splits - 1) / splits + kDepthsOfSums);
      if (time >= least) continue;
      best = splits;
      least = time;
    }
    return best;
  }

  // Sums leave the tiles as results; where there are few tiles, or more terms than 32 bits hold,
  // the depth is split and sums meet in memory first.
  bool is_split(const ProductShape& shape, std::int64_t terms) const {
    const std::uint32_t tiles = cuda::tiles_of(backend_.path(), shape);
    return terms > kSafeTerms ||
           (tiles * 4 < backend_.queue().multiprocessors() && cuda::depths_of(shape) >= 16);
  }
  struct SplitSums {
    cuda::DeviceBuffer memory;
    std::uint32_t pitch;
    bool is_wide;

    cuda::SummedRows rows(CudaBackend& backend, const Values& source,
                          const cuda::AddedBias& bias) const {
      return {.sums = memory.as<void>(),
              .input_exponent = backend.exponent(source),
              .bias = bias,
              .pitch = pitch,
              .is_wide = is_wide ? 1u : 0u};
    }
  };
  SplitSums split_sums(const ProductShape& shape, std::int64_t terms, const cuda::Rows& target) {
    const bool is_wide = terms > kSafeTerms;
    const std::uint64_t numbers = std::uint64_t{target.rows} * target.pitch();
    SplitSums sums{backend_.scratch(numbers * (is_wide ? 8 : 4)), target.pitch(), is_wide};
    cuda::queue(backend_.queue(),
                cuda::ZeroJob{sums.memory.as<void>(), numbers * (is_wide ? 2 : 1)});
    const std::uint32_t least =
        is_wide ? (cuda::depths_of(shape) + kSafeDepths - 1) / kSafeDepths : 1;
    cuda::queue(backend_.queue(), backend_.path(),
                {.shape = shape,
                 .sums = sums.memory.as<void>(),
                 .row_step = target.pitch(),
                 .column_step = 1},
                is_wide, std::max(least, even_splits(shape)));
    return sums;
  }

  void round_product(const ProductShape& shape, std::int64_t terms, const Values& source,
                     const cuda::AddedBias& bias, ShiftPoint point, const Values& result) {
    const cuda::Rows target = backend_.rows(result);
    if (!is_split(shape, terms)) {
      cuda::DeviceBuffer second;
      if (backend_.guesses_twice())
        second = backend_.scratch(std::size_t{target.rows} * target.pitch());
      return backend_.round(point, result, second.as<std::int8_t>(),
                            {.shape = shape,
                             .site = {},
                             .input_exponent = backend_.exponent(source),
                             .bias = bias,
                             .result = target,
                             .rectified_exponent = nullptr});
    }
    const SplitSums sums = split_sums(shape, terms, target);
    backend_.round(point, result, [&](const RoundingSite& site) {
      cuda::queue(backend_.queue(), cuda::RoundEach<cuda::SummedRows>{
                                        sums.rows(backend_, source, bias), site, target});
    });
  }

  cuda::GroupedRows grouped(const Values& source, const CudaWeights& weights,
                            const cuda::AddedBias& bias, const cuda::DeviceBuffer& table,
                            bool is_forward) const {
    const WeightShape& weight = case_.weight;
    const std::int64_t outs = weight.out / weight.groups;
    const cuda::Rows from = backend_.rows(source);
    return {.source = {from.data, from.exponent, 0, from.pitch()},
            .weight = weights.mantissas(),
            .bias = bias,
            .table = {table.as<std::int32_t>(), taps()},
            .group = divisor_by(is_forward ? outs : weight.in),
            .source_pixels = from.pixels.divisor,
            .in = static_cast<std::uint32_t>(weight.in),
            .sources = static_cast<std::uint32_t>(is_forward ? weight.in : outs),
            .is_forward = is_forward ? 1u : 0u,
            .unused = 0};
  }

  void round_grouped(const cuda::GroupedRows& source, ShiftPoint point, const Values& result) {
    backend_.round(point, result, [&](const RoundingSite& site) {
      cuda::queue(backend_.queue(),
                  cuda::RoundEach<cuda::GroupedRows>{source, site, backend_.rows(result)});
    });
  }

  void add_grouped_gradient(const Values& input, const Values& error, const CudaSums& sums) {
    const WeightShape& weight = case_.weight;
    cuda::queue(backend_.queue(),
                cuda::GroupedGradientJob{.input = backend_.rows(input),
                                         .error = backend_.rows(error),
                                         .sums = sums.data(),
                                         .table = {ahead_.as<std::int32_t>(), taps()},
                                         .in = divisor_by(weight.in),
                                         .taps = divisor_by(taps()),
                                         .outs = divisor_by(weight.out / weight.groups),
                                         .elements = static_cast<std::uint32_t>(weight.elements()),
                                         .is_wide = sums.is_wide() ? 1u : 0u});
  }

  cuda::DeviceBuffer turned(const Values& values, std::int64_t pitch) {
    cuda::DeviceBuffer memory =
        backend_.scratch(static_cast<std::size_t>(values.picture.elements() * pitch));
    cuda::queue(backend_.queue(), cuda::TurnJob{.from = backend_.rows(values),
                                                .to = memory.as<std::int8_t>(),
                                                .images = static_cast<std::uint32_t>(values.images),
                                                .pitch = static_cast<std::uint32_t>(pitch),
                                                .channel_tiles = {},
                                                .unused = 0});
    return memory;
  }

  CudaBackend& backend_;
  ProductCase case_;
  cuda::DeviceBuffer ahead_;  // tables of taps
  cuda::DeviceBuffer back_;
};

}  // namespace

std::unique_ptr<ProductOp> make_cuda_product(CudaBackend& backend, const ProductCase& product) {
  return std::make_unique<CudaProduct>(backend, product);
}

}  // namespace nibble::inline backend
