// SPDX-License-Identifier: Apache-2.0
// Convolutions with groups: each group is a product of its own over some channels of the values;
// where every channel is a group, sums run over channels side by side.
#include <algorithm>
#include <cstring>
#include <mutex>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/gather_product.h"
#include "backend/cpu/round_pixels.h"
#include "kernels/integer_loops/integer_loops.h"
#include "laws/batch_norm.h"
#include "nibble/core/parallel.h"

namespace nibble::inline backend {
namespace {

class GroupedProduct final : public ProductOp {
 public:
  GroupedProduct(CpuBackend& backend, const ProductCase& product)
      : backend_(backend),
        groups_(product.weight.groups),
        shape_{.out = product.weight.out / groups_,
               .taps = product.weight.taps,
               .in = product.weight.in},
        ahead_(TapMap::forward(product.window, product.input, product.output)),
        back_(TapMap::backward(product.window, product.input, product.output)),
        forward_weights_(shape_, PackedWeights::Direction::forward),
        backward_weights_(shape_, PackedWeights::Direction::backward) {}

  void forward(const Values& input, const Weights& weight, const Weights* bias, ShiftPoint point,
               const Values& output) override {
    const BlockTensor source = backend_.block(input);
    SumScale scale{.exponent = source.exponent + cpu_weights(weight).exponent()};
    std::vector<std::int64_t> addend;
    if (bias != nullptr) {
      scale = product_scale(scale.exponent, cpu_weights(*bias).exponent());
      addend = cpu_weights(*bias).lifted(scale.bias_lift);
    }
    backend_.round(point, scale.exponent, output,
                   [&](const RoundingJob& job, const BlockTensor& result) {
                     return multiply(source, weight, scale, addend, job, result);
                   });
  }

  void forward_sums(const Values& input, const Weights& weight, const FrozenLine* line,
                    const Values& output) override {
    const BlockTensor source = backend_.block(input);
    const NormedSums sums(weight, groups_ * shape_.out, line);
    multiply(source, weight, {}, {}, sums.job(), backend_.block(output));
    backend_.set_exponent(output, sums.exponent(source.exponent + cpu_weights(weight).exponent()));
  }

  void input_error(const Values& error, const Weights& weight, ShiftPoint point,
                   const Values& input_error) override {
    const BlockTensor source = backend_.block(error);
    backend_.round(point, source.exponent + cpu_weights(weight).exponent(), input_error,
                   [&](const RoundingJob& job, const BlockTensor& result) {
                     SumsOutcome outcome;
                     for (std::int64_t group = 0; group < groups_; ++group) {
                       backward_weights_.pack(part_of(weight, group));
                       const BlockTensor part = channels_of(source, group * shape_.out, shape_.out);
                       outcome.join(GatherProduct{.meetings = back_,
                                                  .weights = backward_weights_,
                                                  .source = part,
                                                  .result = result,
                                                  .first_image = backend_.step().first_image,
                                                  .first_column = group * shape_.in,
                                                  .pool = &backend_.buffers()}
                                        .run(job));
                     }
                     return outcome;
                   });
  }

  // The sums of a group lie side by side: (out, tap, in).
  void weight_gradient(const Values& input, const Values& error, Sums& sums) override {
    const BlockTensor values = backend_.block(input);
    const BlockTensor errors = backend_.block(error);
    GradientSums& all = static_cast<CpuSums&>(sums).gradient;
    all = {.exponent = values.exponent + errors.exponent};
    for (std::int64_t group = 0; group < groups_; ++group) {
      const BlockTensor part = channels_of(values, group * shape_.in, shape_.in);
      const BlockTensor part_error = channels_of(errors, group * shape_.out, shape_.out);
      WeightGradient{.meetings = ahead_,
                     .shape = shape_,
                     .input = part,
                     .error = part_error,
                     .all_images = backend_.step().all_images,
                     .pool = &backend_.buffers()}
          .run(part_sums_);
      all.is_wide = part_sums_.is_wide;
      all.narrow.insert(all.narrow.end(), part_sums_.narrow.begin(), part_sums_.narrow.end());
      all.wide.insert(all.wide.end(), part_sums_.wide.begin(), part_sums_.wide.end());
    }
  }

 private:
  SumsOutcome multiply(const BlockTensor& source, const Weights& weight, const SumScale& scale,
                       std::span<const std::int64_t> addend, const RoundingJob& job,
                       const BlockTensor& result) {
    SumsOutcome outcome;
    for (std::int64_t group = 0; group < groups_; ++group) {
      forward_weights_.pack(part_of(weight, group));
      const BlockTensor part = channels_of(source, group * shape_.in, shape_.in);
      GatherProduct product{.meetings = ahead_,
                            .weights = forward_weights_,
                            .source = part,
                            .result = result,
                            .first_image = backend_.step().first_image,
                            .first_column = group * shape_.out,
                            .lift = scale.product_lift,
                            .pool = &backend_.buffers()};
      if (!addend.empty()) {
        product.addend = addend.subspan(static_cast<std::size_t>(group * shape_.out),
                                        static_cast<std::size_t>(shape_.out));
      }
      outcome.join(product.run(job));
    }
    return outcome;
  }

  std::span<const std::int8_t> part_of(const Weights& weight, std::int64_t group) const {
    return cpu_weights(weight).mantissas().subspan(
        static_cast<std::size_t>(group * shape_.elements()),
        static_cast<std::size_t>(shape_.elements()));
  }

  CpuBackend& backend_;
  std::int64_t groups_;
  WeightShape shape_;  // of one group
  TapMap ahead_;
  TapMap back_;
  PackedWeights forward_weights_;
  PackedWeights backward_weights_;
  GradientSums part_sums_;
};

// Every output has one input: a sum runs over taps alone.
class DepthwiseProduct final : public ProductOp {
 public:
  DepthwiseProduct(CpuBackend& backend, const ProductCase& product)
      : backend_(backend),
        case_(product),
        ahead_(TapMap::forward(product.window, product.input, product.output)),
        back_(TapMap::backward(product.window, product.input, product.output)) {}

  void forward(const Values& input, const Weights& weight, const Weights* bias, ShiftPoint point,
               const Values& output) override {
    const int exponent = backend_.exponent(input) + cpu_weights(weight).exponent();
    if (bias == nullptr)
      return run(ahead_, input, weight, {.exponent = exponent}, {}, point, output);
    const SumScale scale = product_scale(exponent, cpu_weights(*bias).exponent());
    run(ahead_, input, weight, scale, cpu_weights(*bias).lifted(scale.bias_lift), point, output);
  }

  void forward_sums(const Values& input, const Weights& weight, const FrozenLine* line,
                    const Values& output) override {
    const BlockTensor source = backend_.block(input);
    const std::vector<std::int8_t> rows = spread(weight, source.picture);
    const NormedSums normed(weight, case_.weight.out, line);
    round_pixels<std::int32_t>(normed.job(), backend_.block(output), backend_.step().first_image,
                               [&](std::int64_t group, std::int64_t pixel, std::int32_t* sums) {
                                 add_taps(ahead_, source, rows, group, pixel, sums);
                               });
    backend_.set_exponent(output,
                          normed.exponent(source.exponent + cpu_weights(weight).exponent()));
  }

  void input_error(const Values& error, const Weights& weight, ShiftPoint point,
                   const Values& input_error) override {
    const int exponent = backend_.exponent(error) + cpu_weights(weight).exponent();
    run(back_, error, weight, {.exponent = exponent}, {}, point, input_error);
  }

  // Sums of [tap][image of 16][channel], then over the 16.
  void weight_gradient(const Values& input, const Values& error, Sums& sums) override {
    const BlockTensor values = backend_.block(input);
    const BlockTensor errors = backend_.block(error);
    const std::int64_t taps = case_.weight.taps;
    const BlockPicture& picture = values.picture;
    const auto bytes = static_cast<std::size_t>(picture.pixel_bytes());
    std::vector<std::int64_t> totals(static_cast<std::size_t>(taps * picture.channels));
    std::mutex mutex;
    parallel_for(static_cast<std::size_t>(errors.groups()), 1,
                 [&](std::size_t begin, std::size_t end) {
                   std::vector<std::int32_t> part(bytes);
                   std::vector<std::int64_t> own(totals.size());
                   for (std::size_t group = begin; group < end; ++group) {
                     for (std::int64_t tap = 0; tap < taps; ++tap) {
                       const auto at = static_cast<std::int64_t>(group);
                       std::int64_t terms = 0;
                       std::ranges::fill(part, 0);
                       for (const Pair& pair : ahead_.at_tap(tap)) {
                         integer_loops().add_products(part.data(), errors.at(at, pair.result),
                                                      values.at(at, pair.source), bytes);
                         if (++terms % kSafeTerms == 0) drain(part, tap, picture, own);
                       }
                       drain(part, tap, picture, own);
                     }
                   }
                   const std::lock_guard lock(mutex);
                   for (std::size_t i = 0; i < own.size(); ++i) totals[i] += own[i];
                 });
    GradientSums& gradient = static_cast<CpuSums&>(sums).gradient;
    const std::int64_t terms = backend_.step().all_images * case_.output.pixels();
    gradient = {.is_wide = terms > kSafeTerms,
                .narrow = {},
                .wide = {},
                .exponent = backend_.exponent(input) + backend_.exponent(error)};
    if (gradient.is_wide) {
      gradient.wide = std::move(totals);
    } else {
      for (const std::int64_t each : totals)
        gradient.narrow.push_back(static_cast<std::int32_t>(each));
    }
  }

 private:
  // Adds what 16 images gave to the totals, (channel, tap), and clears it.
  static void drain(std::vector<std::int32_t>& part, std::int64_t tap, const BlockPicture& picture,
                    std::vector<std::int64_t>& totals) {
    const std::int64_t taps = static_cast<std::int64_t>(totals.size()) / picture.channels;
    for (std::int64_t image = 0; image < kGroup; ++image) {
      for (std::int64_t c = 0; c < picture.channels; ++c) {
        totals[static_cast<std::size_t>(c * taps + tap)] +=
            part[static_cast<std::size_t>(image * picture.stride() + c)];
      }
    }
    std::ranges::fill(part, 0);
  }

  // The weights of every tap, once for each of 16 images: [tap][image][channel].
  std::vector<std::int8_t> spread(const Weights& weight, const BlockPicture& picture) const {
    const std::int64_t taps = case_.weight.taps;
    const auto mantissas = cpu_weights(weight).mantissas();
    std::vector<std::int8_t> rows(static_cast<std::size_t>(taps * picture.pixel_bytes()));
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      for (std::int64_t image = 0; image < kGroup; ++image) {
        std::int8_t* to = rows.data() + tap * picture.pixel_bytes() + image * picture.stride();
        for (std::int64_t c = 0; c < picture.channels; ++c)
          to[c] = mantissas[static_cast<std::size_t>(c * taps + tap)];
      }
    }
    return rows;
  }

  // Of 16 images and all channels at one pixel.
  static void add_taps(const TapMap& meetings, const BlockTensor& source,
                       std::span<const std::int8_t> rows, std::int64_t group, std::int64_t pixel,
                       std::int32_t* sums) {
    const std::int64_t bytes = source.picture.pixel_bytes();
    for (const TapSource& each : meetings.of(pixel)) {
      integer_loops().add_products(sums, source.at(group, each.source),
                                   rows.data() + each.tap * bytes, static_cast<std::size_t>(bytes));
    }
  }

  void run(const TapMap& meetings, const Values& from, const Weights& weight, const SumScale& scale,
           const std::vector<std::int64_t>& addend, ShiftPoint point, const Values& to) {
    const BlockTensor source = backend_.block(from);
    const std::vector<std::int8_t> rows = spread(weight, source.picture);
    const std::int64_t bytes = source.picture.pixel_bytes();
    const auto add = [&](std::int64_t group, std::int64_t pixel, std::int32_t* sums) {
      add_taps(meetings, source, rows, group, pixel, sums);
    };
    backend_.round(
        point, scale.exponent, to, [&](const RoundingJob& job, const BlockTensor& result) {
          const std::int64_t first = backend_.step().first_image;
          if (addend.empty()) return round_pixels<std::int32_t>(job, result, first, add);
          const std::int64_t stride = result.picture.stride();
          return round_pixels<std::int64_t>(
              job, result, first, [&](std::int64_t group, std::int64_t pixel, std::int64_t* sums) {
                std::vector<std::int32_t> narrow(static_cast<std::size_t>(bytes));
                add(group, pixel, narrow.data());
                for (std::int64_t r = 0; r < kGroup; ++r) {
                  for (std::int64_t c = 0; c < result.picture.channels; ++c) {
                    const std::int64_t at = r * stride + c;
                    sums[at] = narrow[static_cast<std::size_t>(at)] *
                                   (std::int64_t{1} << scale.product_lift) +
                               addend[static_cast<std::size_t>(c)];
                  }
                }
              });
        });
  }

  CpuBackend& backend_;
  ProductCase case_;
  TapMap ahead_;
  TapMap back_;
};

}  // namespace

std::unique_ptr<ProductOp> make_cpu_grouped_product(CpuBackend& backend,
                                                    const ProductCase& product) {
  const WeightShape& shape = product.weight;
  if (shape.in == 1 && shape.out == shape.groups)
    return std::make_unique<DepthwiseProduct>(backend, product);
  return std::make_unique<GroupedProduct>(backend, product);
}

}  // namespace nibble::inline backend
