// SPDX-License-Identifier: Apache-2.0
// The three products of a layer on a GPU. Each is one of gathered rows: windows of the input times
// the weights, windows of the error times the turned weights, and for gradients turned inputs at
// every tap times turned errors, images side by side.
#include <algorithm>

#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/cuda_memory.h"
#include "backend/cuda/plain_kernels.h"
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
            TapMap::backward(product.window, product.input, product.output), taps()))) {
    if (!is_narrow(product)) return;
    const std::int64_t numbers = taps() * product.weight.in;
    const Picture patches{product.output.height, product.output.width, numbers};
    patched_ = std::make_unique<CudaProduct>(
        backend, ProductCase{.window = {},
                             .weight = {.out = product.weight.out, .taps = 1, .in = numbers},
                             .input = patches,
                             .output = product.output});
  }

  void forward(const Values& input, const Weights& weight, const Weights* bias, ShiftPoint point,
               const Values& output) override {
    if (patched_) return patched_->forward(patches_of(input), weight, bias, point, output);
    CudaWeights& weights = cuda_weights(weight);
    cuda::AddedBias added{nullptr, nullptr, weights.device_exponent()};
    if (bias != nullptr) {
      added.mantissas = cuda_weights(*bias).mantissas();
      added.exponent = cuda_weights(*bias).device_exponent();
    }
    if (case_.weight.groups > 1)
      return round_grouped(grouped(input, weights, added, ahead_, true), point, output);
    const CudaWeights::Packed packed = weights.packed(case_.weight);
    round_product(windows_of(input, ahead_, output, packed.ahead, case_.weight.out), true,
                  taps() * case_.weight.in, input, added, point, output);
  }

  void forward_sums(const Values& input, const Weights& weight, const FrozenLine* line,
                    const Values& output) override {
    if (patched_) return patched_->forward_sums(patches_of(input), weight, line, output);
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
                                    .result = target,
                                    .copies = window_copies(shape, true, input, output)});
  }

  void input_error(const Values& error, const Weights& weight, ShiftPoint point,
                   const Values& input_error) override {
    CudaWeights& weights = cuda_weights(weight);
    const cuda::AddedBias none{nullptr, nullptr, weights.device_exponent()};
    if (case_.weight.groups > 1 || patched_)
      return round_grouped(grouped(error, weights, none, back_, false), point, input_error);
    const CudaWeights::Packed packed = weights.packed(case_.weight);
    round_product(windows_of(error, back_, input_error, packed.back, case_.weight.in), false,
                  taps() * case_.weight.out, error, none, point, input_error);
  }

  void weight_gradient(const Values& input, const Values& error, Sums& sums) override {
    if (patched_) return patched_->weight_gradient(patches_of(input), error, sums);
    auto& own = static_cast<CudaSums&>(sums);
    const std::int64_t terms = backend_.step().all_images * case_.output.pixels();
    own.clear(terms > kSafeTerms, {input.exponent, error.exponent});
    if (error.images == 0) return;
    if (case_.weight.groups > 1) return add_grouped_gradient(input, error, own);
    const std::int64_t images = (error.images + cuda::kChunk - 1) / cuda::kChunk * cuda::kChunk;
    const cuda::DeviceBuffer inputs = turned(input, images);
    const cuda::DeviceBuffer errors = turned(error, images);
    const WeightShape& weight = case_.weight;
    if (can_copy_gradient(images)) {
      const cuda::GradientCopies copies = gradient_copies(
          inputs.as<std::int8_t>(), errors.as<std::int8_t>(), static_cast<std::uint32_t>(images));
      return queue_gradient({}, copies, cuda::tiles_of(copies), copies.all_stages, own);
    }
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
    queue_gradient(shape, {}, cuda::tiles_of(backend_.path(), shape), cuda::depths_of(shape), own);
  }

 private:
  std::int64_t taps() const { return case_.weight.taps; }
  const std::int8_t* sum_shifts(CudaWeights& weights) const {
    return weights.sum_shifts(static_cast<std::size_t>(case_.weight.out));
  }

  // Pictures of few channels: a tap alone would leave most of a chunk empty, so that windows are
  // laid out first, as rows of a product with one tap.
  static bool is_narrow(const ProductCase& product) {
    constexpr std::int64_t kFewChannels = 4;
    constexpr std::int64_t kMost = 128;
    const WeightShape& weight = product.weight;
    return weight.groups == 1 && weight.taps > 1 && weight.in <= kFewChannels &&
           weight.taps * weight.in <= kMost;
  }
  Values patches_of(const Values& input) {
    const Picture& picture = patched_->case_.input;
    const Values patches{.picture = picture,
                         .images = input.images,
                         .memory = backend_.take(picture, input.images, ValueStorage::s8),
                         .exponent = input.exponent};
    cuda::queue(backend_.queue(), cuda::PatchJob{.from = backend_.rows(input),
                                                 .to = backend_.rows(patches),
                                                 .table = {ahead_.as<std::int32_t>(), taps()},
                                                 .in = divisor_by(case_.weight.in),
                                                 .unused = 0});
    return patches;
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

  // What is left of a product that is cut into tiles of 64 columns and windows that the copy engine
  // can count.
  cuda::WindowCopies window_copies(const ProductShape& shape, bool is_forward, const Values& source,
                                   const Values& result) const {
    const SlidingWindow& window = case_.window;
    const bool is_even = window.stride.x == 1 && window.stride.y == 1;
    if (backend_.path() != cuda::ProductPath::wgmma || shape.columns % 64 != 0 ||
        shape.a.rows < 64 || !(is_forward || is_even))
      return {};
    const cuda::Rows from = backend_.rows(source);
    const cuda::TileSize tile = cuda::tile_of(backend_.path(), shape);
    const std::uint32_t bytes = from.pitch();
    const std::uint32_t segment = cuda::segment_of(bytes);
    const auto first = [&](std::int64_t padding, std::int64_t kernel, std::int64_t dilation) {
      return static_cast<std::int32_t>(is_forward ? -padding : padding - (kernel - 1) * dilation);
    };
    const cuda::WindowBox box{
        .data = from.data,
        .channels = bytes,
        .width = static_cast<std::uint64_t>(source.picture.width),
        .height = static_cast<std::uint64_t>(source.picture.height),
        .images = static_cast<std::uint64_t>(source.images),
        .first = {first(window.padding.x, window.kernel.x, window.dilation.x),
                  first(window.padding.y, window.kernel.y, window.dilation.y)},
        .count = {static_cast<std::int32_t>(result.picture.width),
                  static_cast<std::int32_t>(result.picture.height)},
        .stride = {static_cast<std::int32_t>(is_forward ? window.stride.x : 1),
                   static_cast<std::int32_t>(is_forward ? window.stride.y : 1)},
        .segment = segment,
        .pixels = tile.rows};
    constexpr std::int64_t kFarthest = 255;  // tap
    if (!cuda::can_map(box) || (window.kernel.x - 1) * window.dilation.x > kFarthest ||
        (window.kernel.y - 1) * window.dilation.y > kFarthest)
      return {};
    // Columns in the order that StagedSums::for_each_chunk asks for: 8·j + 2·t + e of 64 is filter
    // 16·t + 2·j + e.
    const std::uint64_t filter = std::uint64_t{bytes} * static_cast<std::uint64_t>(taps());
    const cuda::TensorBox filters{.data = shape.b,
                                  .rank = 5,
                                  .extents = {filter, 2, 4, 8, shape.columns / 64},
                                  .strides = {filter, 16 * filter, 2 * filter, 64 * filter},
                                  .box = {segment, 2, 4, 8, tile.columns / 64}};
    return {.rows = cuda::map_of(box),
            .columns = cuda::map_of(filters),
            .pixels = divisor_by(result.picture.pixels()),
            .width = divisor_by(result.picture.width),
            .first = {box.first[0], box.first[1]},
            .stride = {box.stride[0], box.stride[1]},
            .taps = {static_cast<std::uint32_t>(window.kernel.x),
                     static_cast<std::uint32_t>(window.kernel.y)},
            .step = {static_cast<std::uint32_t>(window.dilation.x),
                     static_cast<std::uint32_t>(window.dilation.y)},
            .tap_bytes = bytes,
            .segments = (bytes + segment - 1) / segment,
            .segment = segment,
            .is_turned = is_forward ? 0u : 1u};
  }

  // Channels in whole blocks, images in whole segments.
  bool can_copy_gradient(std::int64_t images) const {
    return backend_.path() == cuda::ProductPath::wgmma && case_.weight.in % 64 == 0 &&
           case_.weight.out >= 64 && images % 64 == 0;
  }
  cuda::GradientCopies gradient_copies(const std::int8_t* inputs, const std::int8_t* errors,
                                       std::uint32_t images) const {
    const SlidingWindow& window = case_.window;
    const WeightShape& weight = case_.weight;
    const std::uint32_t segment = images % 128 == 0 ? 128 : 64;
    const std::uint32_t block_bits = weight.in % 128 == 0 ? 7 : 6;
    const auto pixels = static_cast<std::uint64_t>(case_.output.pixels());
    const auto width = static_cast<std::uint64_t>(case_.input.width);
    const auto height = static_cast<std::uint64_t>(case_.input.height);
    const std::uint64_t line = images;
    const cuda::TensorBox rows{.data = errors,
                               .rank = 3,
                               .extents = {line, pixels, static_cast<std::uint64_t>(weight.out)},
                               .strides = {line, line * pixels},
                               .box = {segment, 1, 128}};
    const cuda::TensorBox columns{
        .data = inputs,
        .rank = 4,
        .extents = {line, width, height, static_cast<std::uint64_t>(weight.in)},
        .strides = {line, line * width, line * width * height},
        .box = {segment, 1, 1, 1u << block_bits}};
    const std::int64_t blocks = weight.in >> block_bits;
    const std::uint32_t segments = images / segment;
    const std::uint32_t parts = 128 / segment;  // of a stage
    return {.rows = cuda::map_of(rows),
            .columns = cuda::map_of(columns),
            .width = divisor_by(case_.output.width),
            .first = {static_cast<std::int32_t>(-window.padding.x),
                      static_cast<std::int32_t>(-window.padding.y)},
            .stride = {static_cast<std::int32_t>(window.stride.x),
                       static_cast<std::int32_t>(window.stride.y)},
            .step = {static_cast<std::int32_t>(window.dilation.x),
                     static_cast<std::int32_t>(window.dilation.y)},
            .taps_x = divisor_by(window.kernel.x),
            .channels = static_cast<std::uint32_t>(weight.in),
            .block_bits = block_bits,
            .blocks = divisor_by(blocks),
            .all_blocks = static_cast<std::uint32_t>(blocks * taps()),
            .outs = static_cast<std::uint32_t>(weight.out),
            .segments = Divisor::of(segments),
            .all_stages = (static_cast<std::uint32_t>(pixels) * segments + parts - 1) / parts,
            .segment = segment};
  }

  void queue_gradient(const ProductShape& shape, const cuda::GradientCopies& copies,
                      std::uint32_t tiles, std::uint32_t depths, const CudaSums& sums) {
    const std::uint32_t least = (depths + kSafeDepths - 1) / kSafeDepths;
    cuda::queue(backend_.queue(), backend_.path(),
                {.shape = shape,
                 .sums = sums.data(),
                 .row_step = 1,
                 .column_step = taps() * case_.weight.in,
                 .copies = copies},
                sums.is_wide(), std::max(least, even_splits(tiles, depths)));
  }

  // Into how many parts the depth is best split: blocks run in rounds, a round takes as long as a
  // part is deep, and adding a tile of sums to memory takes as long as some depths.
  std::uint32_t even_splits(std::uint32_t tiles, std::uint32_t depths) const {
    constexpr std::uint32_t kDepthsOfSums = 10;
    const std::uint32_t processors = backend_.queue().multiprocessors();
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
                 .column_step = 1,
                  .copies = {}},
                is_wide, std::max(least, even_splits(cuda::tiles_of(backend_.path(), shape),
                                             cuda::depths_of(shape))));
    return sums;
  }

  void round_product(const ProductShape& shape, bool is_forward, std::int64_t terms, const Values& source,
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
                             .rectified_exponent = nullptr,
                             .passed = nullptr,
                             .copies = window_copies(shape, is_forward, source, result)});
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
  std::unique_ptr<CudaProduct> patched_;  // where windows are laid out first
};

}  // namespace

std::unique_ptr<ProductOp> make_cuda_product(CudaBackend& backend, const ProductCase& product) {
  return std::make_unique<CudaProduct>(backend, product);
}

}  // namespace nibble::inline backend
