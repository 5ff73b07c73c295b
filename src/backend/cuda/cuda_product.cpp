// SPDX-License-Identifier: Apache-2.0
// The three products of a layer on a GPU. Each is one of gathered rows: windows of the input times
// the weights, windows of the error times the turned weights, and for gradients turned inputs at
// every tap times turned errors, images side by side.
#include <algorithm>
#include <vector>

#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/cuda_memory.h"
#include "backend/cuda/plain_kernels.h"
#include "backend/cuda/product_copies.h"
#include "backend/cuda/round_sources.h"
#include "backend/cuda/tap_tables.h"
#include "laws/integer_laws.h"

namespace nibble::inline backend {
namespace {

using cuda::ProductShape;
using cuda::RoundingSite;

constexpr std::uint32_t kSafeDepths =
    static_cast<std::uint32_t>(kSafeTerms / (cuda::kDepthChunks * cuda::kChunk));

class CudaProduct final : public ProductOp {
 public:
  CudaProduct(CudaBackend& backend, const ProductCase& product)
      : backend_(backend),
        case_(product),
        ahead_(backend.lasting(cuda::tap_table(
            TapMap::forward(product.window, product.input, product.output), taps()))),
        back_(backend.lasting(cuda::tap_table(
            TapMap::backward(product.window, product.input, product.output), taps()))),
        spans_(spans_of(product.weight, backend.path())) {
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
    if (has_no_tiles())
      return round_grouped(grouped(input, weights, added, ahead_, true), point, output);
    const CudaWeights::Packed packed = weights.packed(case_.weight, spans_);
    round_product(windows_of(input, ahead_, output, packed.ahead, spans_.ahead), true,
                  taps() * case_.weight.in, input, added, point, output);
  }

  void forward_sums(const Values& input, const Weights& weight, const FrozenLine* line,
                    const Values& output) override {
    if (patched_) return patched_->forward_sums(patches_of(input), weight, line, output);
    CudaWeights& weights = cuda_weights(weight);
    const cuda::AddedBias none{nullptr, nullptr, weights.device_exponent()};
    const cuda::Rows target = backend_.target(output);
    const auto leave = [&](const auto& source) {
      if (line != nullptr) return cuda::queue(backend_.queue(), frozen_each(source, *line, target));
      cuda::queue(backend_.queue(), cuda::NormEach{source, sum_shifts(weights), target});
    };
    if (has_no_tiles()) return leave(grouped(input, weights, none, ahead_, true));
    const CudaWeights::Packed packed = weights.packed(case_.weight, spans_);
    const ProductShape shape = windows_of(input, ahead_, output, packed.ahead, spans_.ahead);
    const std::int64_t terms = taps() * case_.weight.in;
    if (line != nullptr || is_split(shape, terms))
      return leave(split_sums(shape, terms, target).rows(backend_, input, none));
    cuda::queue(backend_.queue(), backend_.path(),
                cuda::NormedProduct{.shape = shape,
                                    .shifts = sum_shifts(weights),
                                    .input_exponent = backend_.exponent(input),
                                    .weight_exponent = weights.device_exponent(),
                                    .result = target,
                                    .copies = copies_of(shape, true, input, false)});
  }

  void input_error(const Values& error, const Weights& weight, ShiftPoint point,
                   const Values& input_error) override {
    CudaWeights& weights = cuda_weights(weight);
    const cuda::AddedBias none{nullptr, nullptr, weights.device_exponent()};
    if (has_no_tiles() || patched_)
      return round_grouped(grouped(error, weights, none, back_, false), point, input_error);
    const CudaWeights::Packed packed = weights.packed(case_.weight, spans_);
    round_product(windows_of(error, back_, input_error, packed.back, spans_.back), false,
                  taps() * group_outs(case_.weight), error, none, point, input_error);
  }

  void weight_gradient(const Values& input, const Values& error, Sums& sums) override {
    if (patched_) return patched_->weight_gradient(patches_of(input), error, sums);
    auto& own = static_cast<CudaSums&>(sums);
    const std::int64_t terms = backend_.step().all_images * case_.output.pixels();
    const auto clear = [&](std::uint32_t planes) {
      own.clear({planes}, {input.exponent, error.exponent});
    };
    const bool is_wide = terms > kSafeTerms;
    if (error.images == 0) return clear(is_wide ? 0 : 1);
    if (has_no_tiles()) {
      clear(is_wide ? 0 : 1);
      return add_grouped_gradient(input, error, own);
    }
    const std::int64_t images = (error.images + cuda::kChunk - 1) / cuda::kChunk * cuda::kChunk;
    const WeightShape& weight = case_.weight;
    if (can_copy_gradient(case_, backend_.path(), images)) {
      std::vector<cuda::TurnJob> turning;
      const TurnedValues inputs = turned_once(input, turning);
      const TurnedValues errors = turned_once(error, turning);
      CopiedGradient plan = plan_gradient(inputs.data, errors.data, images);
      // With ranks sums of 32 bits would have to hold those of all.
      const std::uint32_t planes = backend_.step().cluster == nullptr ? plan.planes() : 0;
      clear(is_wide ? planes : 1);
      map_sums(case_, static_cast<std::int32_t*>(own.data()), own.form().planes, plan.copies);
      return backend_.aside([&] {
        cuda::queue(backend_.queue(), turning);
        queue_gradient({}, plan.copies, plan.parts, is_wide ? plan.parts_of_plane() : plan.parts,
                       own);
      });
    }
    clear(is_wide ? 0 : 1);
    std::vector<cuda::TurnJob> turning;
    const cuda::DeviceBuffer inputs = turned(input, images, false, turning);
    const cuda::DeviceBuffer errors = turned(error, images, false, turning);
    cuda::GroupSpan span = spans_.gradient;
    span.step = case_.input.pixels() * images;
    const std::int64_t channels = span.has_groups() ? span.width : weight.in;
    const ProductShape shape{.a = {.data = inputs.as<std::int8_t>(),
                                   .table = ahead_.as<std::int32_t>(),
                                   .q_stride = 0,
                                   .p_stride = span.step,
                                   .table_q = 1,
                                   .table_p = 0,
                                   .table_s = static_cast<std::int32_t>(taps()),
                                   .rows = static_cast<std::uint32_t>(taps() * channels),
                                   .divisor = divisor_by(channels),
                                   .place_bytes = static_cast<std::uint32_t>(images)},
                             .b = errors.as<std::int8_t>(),
                             .span = span,
                             .columns = static_cast<std::uint32_t>(weight.out),
                             .segments = static_cast<std::uint32_t>(case_.output.pixels()),
                             .segment_chunks = divisor_by(images / cuda::kChunk),
                             .column_tiles = {},
                             .tiles = 0,
                             .depths = 0,
                             .bands = {},
                             .band_rows = 0,
                             .image_rows = 0,
                             .unused = 0};
    const std::uint32_t depths = cuda::depths_of(shape);
    const std::uint32_t parts =
        safe_parts(depths, even_split(cuda::tiles_of(backend_.path(), shape), depths).parts);
    backend_.aside([&] {
      cuda::queue(backend_.queue(), turning);
      queue_gradient(shape, {}, parts, parts, own);
    });
  }

 private:
  std::int64_t taps() const { return case_.weight.taps; }
  const std::int8_t* sum_shifts(CudaWeights& weights) const {
    return weights.sum_shifts(static_cast<std::size_t>(case_.weight.out));
  }

  static std::int64_t group_outs(const WeightShape& weight) { return weight.out / weight.groups; }

  // Tiles multiply by the zeros between groups as well, which tensor cores have time for; dp4a has
  // not where groups have few channels, and makes sum after sum by itself.
  bool has_no_tiles() const {
    const WeightShape& weight = case_.weight;
    return weight.groups > 1 && backend_.path() == cuda::ProductPath::dp4a &&
           std::min(weight.in, group_outs(weight)) < cuda::kChunk;
  }
  static cuda::GroupSpans spans_of(const WeightShape& weight, cuda::ProductPath path) {
    if (weight.groups == 1) return {};
    const auto groups = static_cast<std::uint32_t>(weight.groups);
    const auto in = static_cast<std::uint32_t>(weight.in);
    const auto outs = static_cast<std::uint32_t>(group_outs(weight));
    const std::uint32_t out_tile = cuda::tile_columns_of(path, outs);
    const std::uint32_t in_tile = cuda::tile_columns_of(path, in);
    return {.ahead = cuda::group_span(groups, outs, in, out_tile, cuda::kChunk, 1),
            .back = cuda::group_span(groups, in, outs, in_tile, cuda::kChunk, 1),
            .gradient = cuda::group_span(groups, outs, in, out_tile, 1, 0)};
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
    auto& memory = static_cast<CudaMemory&>(*input.memory.get());
    Values patches{.picture = patched_->case_.input,
                   .images = input.images,
                   .memory = memory.patches(*this),
                   .exponent = input.exponent};
    if (!patches.memory.is_empty()) return patches;
    patches.memory = backend_.take(patches.picture, input.images, ValueStorage::s8);
    cuda::queue(backend_.queue(), cuda::PatchJob{.from = backend_.rows(input),
                                                 .to = backend_.rows(patches),
                                                 .table = {ahead_.as<std::int32_t>(), taps()},
                                                 .in = divisor_by(case_.weight.in),
                                                 .unused = 0});
    if (backend_.step().is_training) memory.keep_patches(*this, patches.memory);
    return patches;
  }

  // Rows are the windows of `source` that the pixels of `result` see.
  ProductShape windows_of(const Values& source, const cuda::DeviceBuffer& table,
                          const Values& result, const std::int8_t* columns,
                          const cuda::GroupSpan& span) const {
    const cuda::Rows from = backend_.rows(source);
    return {
        .a = {.data = from.data,
              .table = table.as<std::int32_t>(),
              .q_stride = source.picture.pixels() * from.pitch(),
              .p_stride = 0,
              .table_q = 0,
              .table_p = static_cast<std::int32_t>(taps()),
              .table_s = 1,
              .rows = static_cast<std::uint32_t>(result.images * result.picture.pixels()),
              .divisor = divisor_by(result.picture.pixels()),
              .place_bytes = from.pitch()},
        .b = columns,
        .span = span,
        .columns = static_cast<std::uint32_t>(result.picture.channels),
        .segments = static_cast<std::uint32_t>(taps()),
        .segment_chunks = span.has_groups() ? divisor_by(span.width / cuda::kChunk) : from.chunks,
        .column_tiles = {},
        .tiles = 0,
        .depths = 0,
        .bands = {},
        .band_rows = 0,
        .image_rows = 0,
        .unused = 0};
  }

  // Tiles of one pixel take longer than those of pixels side by side: they are for results that are
  // turned on their way.
  cuda::WindowCopies copies_of(const ProductShape& shape, bool is_forward, const Values& source,
                               bool is_turned) {
    cuda::DeviceBuffer& order = is_forward ? order_ahead_ : order_back_;
    WindowPass pass{case_, is_forward, nullptr};
    if (is_turned && order.is_empty()) order = backend_.lasting(longest_first(pass));
    if (is_turned) pass.order = order.as<std::int32_t>();
    return window_copies(pass, backend_.path(), shape, backend_.rows(source), source.images);
  }

  // Into how many parts the depth is best split: blocks run in rounds, a round takes as long as a
  // part is deep, and adding a tile of sums to memory takes as long as some depths.
  struct EvenSplit {
    std::uint32_t parts;
    std::uint64_t time;
  };
  static std::uint32_t safe_parts(std::uint32_t depths, std::uint32_t parts) {
    return std::max((depths + kSafeDepths - 1) / kSafeDepths, parts);
  }
  void queue_gradient(const ProductShape& shape, const cuda::GradientCopies& copies,
                      std::uint32_t parts, std::uint32_t parts_of_plane, const CudaSums& sums) {
    const std::int64_t size = taps() * case_.weight.in * case_.weight.out;
    cuda::queue(backend_.queue(), backend_.path(),
                {.shape = shape,
                 .sums = sums.data(),
                 .row_step = 1,
                 .column_step = taps() * case_.weight.in,
                 .plane_step = static_cast<std::int64_t>(
                     cuda::SumForm::plane_words(static_cast<std::uint64_t>(size))),
                 .parts_of_plane = Divisor::of(sums.is_wide() ? 1u << 30 : parts_of_plane),
                 .keeps_groups = shape.span.has_groups() ? 1u : 0u,
                 .copies = copies},
                sums.is_wide(), parts);
  }

  struct CopiedGradient {
    cuda::GradientCopies copies;
    std::uint32_t parts;

    std::uint32_t depth() const { return (copies.all_stages + parts - 1) / parts; }
    // Of the depth, whose sums fit one plane of 32 bits.
    std::uint32_t parts_of_plane() const { return kSafeDepths / depth(); }
    std::uint32_t planes() const {
      const std::uint32_t launched = (copies.all_stages + depth() - 1) / depth();
      return (launched + parts_of_plane() - 1) / parts_of_plane();
    }
  };
  // In tiles of the width that leaves fewest multiprocessors idle.
  CopiedGradient plan_gradient(const std::int8_t* inputs, const std::int8_t* errors,
                               std::int64_t images) const {
    CopiedGradient best{};
    std::uint64_t least = UINT64_MAX;
    for (const std::uint32_t width : {256u, 192u, 64u}) {
      const cuda::GradientCopies copies = gradient_copies(case_, inputs, errors, images, width);
      const EvenSplit split = even_split(cuda::tiles_of(copies), copies.all_stages);
      if (split.time * width >= least || (width == 64 && case_.weight.in > 64)) continue;
      best = {copies, safe_parts(copies.all_stages, split.parts)};
      least = split.time * width;
    }
    return best;
  }

  EvenSplit even_split(std::uint32_t tiles, std::uint32_t depths) const {
    constexpr std::uint32_t kDepthsOfSums = 10;
    const std::uint32_t processors = backend_.queue().multiprocessors();
    EvenSplit best{1, UINT64_MAX};
    if (tiles == 0) return best;
    for (std::uint32_t parts = 1; parts <= std::min(depths, 4 * processors / tiles + 1); ++parts) {
      const std::uint64_t rounds = (tiles * parts + processors - 1) / processors;
      const std::uint64_t time = rounds * ((depths + parts - 1) / parts + kDepthsOfSums);
      if (time < best.time) best = {parts, time};
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
    cuda::queue(
        backend_.queue(), backend_.path(),
        {.shape = shape,
         .sums = sums.memory.as<void>(),
         .row_step = target.pitch(),
         .column_step = 1,
         .plane_step = 0,
         .parts_of_plane = {},
         .keeps_groups = 0,
         .copies = {}},
        is_wide,
        std::max(least,
                 even_split(cuda::tiles_of(backend_.path(), shape), cuda::depths_of(shape)).parts));
    return sums;
  }

  void round_product(const ProductShape& shape, bool is_forward, std::int64_t terms,
                     const Values& source, const cuda::AddedBias& bias, ShiftPoint point,
                     const Values& result) {
    const cuda::Rows target = backend_.target(result);
    if (!is_split(shape, terms)) {
      cuda::DeviceBuffer second;
      if (backend_.guesses_twice())
        second = backend_.scratch(std::size_t{target.rows} * target.pitch());
      const bool is_turned = backend_.wants_turned(target);
      const cuda::WindowCopies copies = copies_of(shape, is_forward, source, is_turned);
      const WindowPass pass{case_, is_forward, nullptr};
      return backend_.round(point, source, result, std::move(second),
                            {.shape = shape,
                             .site = {},
                             .input_exponent = backend_.exponent(source),
                             .bias = bias,
                             .result = target,
                             .rectified_exponent = nullptr,
                             .passed = nullptr,
                             .turned = nullptr,
                             .column_parts = divisor_by((target.channels + 127) / 128),
                             .unused = 0,
                             .pooled = {},
                             .copies = copies},
                            patch_copies(pass, copies, cuda::tile_of(backend_.path(), shape).rows,
                                         backend_.rows(source), source.images));
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
    const std::int64_t outs = group_outs(weight);
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
                  cuda::RoundEach<cuda::GroupedRows>{source, site, backend_.target(result)});
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
                                         .outs = divisor_by(group_outs(weight)),
                                         .elements = static_cast<std::uint32_t>(weight.elements()),
                                         .is_wide = sums.is_wide() ? 1u : 0u});
  }

  struct TurnedValues {
    cuda::DeviceBuffer memory;  // empty where who made the values has turned them as well
    const std::int8_t* data;
  };
  // Whoever makes these values is told to turn them in the next step; in this one they are among
  // those to turn.
  TurnedValues turned_once(const Values& values, std::vector<cuda::TurnJob>& turning) {
    if (const std::int8_t* data = backend_.turned(values)) return {{}, data};
    backend_.join();
    cuda::DeviceBuffer memory = turned(values, values.images, true, turning);
    const auto* data = memory.as<std::int8_t>();
    return {std::move(memory), data};
  }
  // Images side by side, and then the channels of a pixel, as the copy engine likes to read them,
  // or the pixels of a channel, as tables count them.
  cuda::DeviceBuffer turned(const Values& values, std::int64_t pitch, bool is_copied,
                            std::vector<cuda::TurnJob>& turning) {
    cuda::DeviceBuffer memory =
        backend_.scratch(static_cast<std::size_t>(values.picture.elements() * pitch));
    const auto pixels = static_cast<std::uint32_t>(values.picture.pixels());
    const auto channels = static_cast<std::uint32_t>(values.picture.channels);
    turning.push_back({.from = backend_.rows(values),
                       .to = memory.as<std::int8_t>(),
                       .images = static_cast<std::uint32_t>(values.images),
                       .pitch = static_cast<std::uint32_t>(pitch),
                       .channel_step = is_copied ? 1 : pixels,
                       .pixel_step = is_copied ? channels : 1,
                       .channel_tiles = {},
                       .pixel_blocks = {}});
    return memory;
  }

  CudaBackend& backend_;
  ProductCase case_;
  cuda::DeviceBuffer ahead_;  // tables of taps
  cuda::DeviceBuffer back_;
  cuda::GroupSpans spans_;
  cuda::DeviceBuffer order_ahead_;  // of pixels, once it is asked for
  cuda::DeviceBuffer order_back_;
  std::unique_ptr<CudaProduct> patched_;  // where windows are laid out first
};

}  // namespace

std::unique_ptr<ProductOp> make_cuda_product(CudaBackend& backend, const ProductCase& product) {
  return std::make_unique<CudaProduct>(backend, product);
}

}  // namespace nibble::inline backend
