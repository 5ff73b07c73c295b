// SPDX-License-Identifier: Apache-2.0
// Products, pools and what is done to every number, by their definitions.
#include <algorithm>
#include <utility>

#include "backend/reference/reference_backend.h"
#include "laws/batch_norm.h"
#include "laws/block_exponent.h"
#include "laws/integer_laws.h"

namespace nibble::inline backend {
namespace {

using Totals = std::vector<std::int64_t>;

std::size_t index_of(const Picture& picture, std::int64_t image, std::int64_t y, std::int64_t x,
                     std::int64_t c) {
  return static_cast<std::size_t>(
      ((image * picture.height + y) * picture.width + x) * picture.channels + c);
}

// One tap of one window that lies inside of the input.
struct TapPlace {
  std::int64_t image, oy, ox, tap, y, x;
};

template <class Body>
void for_each_tap(const SlidingWindow& window, const Picture& in, const Picture& out,
                  std::int64_t images, const Body& body) {
  for (std::int64_t n = 0; n < images; ++n) {
    for (std::int64_t oy = 0; oy < out.height; ++oy) {
      for (std::int64_t ox = 0; ox < out.width; ++ox) {
        for (std::int64_t tap = 0; tap < window.taps(); ++tap) {
          const std::int64_t y =
              oy * window.stride.y - window.padding.y + tap / window.kernel.x * window.dilation.y;
          const std::int64_t x =
              ox * window.stride.x - window.padding.x + tap % window.kernel.x * window.dilation.x;
          if (y < 0 || y >= in.height || x < 0 || x >= in.width) continue;
          body(TapPlace{n, oy, ox, tap, y, x});
        }
      }
    }
  }
}

class ReferenceProduct final : public ProductOp {
 public:
  ReferenceProduct(ReferenceBackend& backend, const ProductCase& product)
      : backend_(backend), case_(product) {}

  void forward(const Values& input, const Weights& weight, const Weights* bias, ShiftPoint point,
               const Values& output) override {
    const auto& weights = static_cast<const ReferenceWeights&>(weight).state;
    Totals sums = products_of(input, weights);
    SumScale scale{.exponent = backend_.exponent(input) + weights.exponent};
    if (bias != nullptr) {
      const auto& added = static_cast<const ReferenceWeights&>(*bias).state;
      const auto biases = added.mantissas.as<std::int8_t>();
      scale = product_scale(scale.exponent, added.exponent);
      for (std::size_t i = 0; i < sums.size(); ++i) {
        sums[i] = sums[i] * (std::int64_t{1} << scale.product_lift) +
                  biases[i % biases.size()] * (std::int64_t{1} << scale.bias_lift);
      }
    }
    backend_.round(point, sums, scale.exponent, output);
  }

  void forward_sums(const Values& input, const Weights& weight, const FrozenLine* line,
                    const Values& output) override {
    const auto& weights = static_cast<const ReferenceWeights&>(weight).state;
    const Totals sums = products_of(input, weights);
    if (line != nullptr) return backend_.freeze(sums, *line, output);
    const std::vector<int> shifts = norm_sum_shifts(weights.mantissas.as<std::int8_t>(),
                                                    static_cast<std::size_t>(case_.weight.out));
    std::vector<std::int16_t>& narrow = ReferenceBackend::sums_of(output);
    for (std::size_t i = 0; i < sums.size(); ++i)
      narrow[i] = norm_value(sums[i], shifts[i % shifts.size()]);
    backend_.set_exponent(output, backend_.exponent(input) + weights.exponent);
  }

  void input_error(const Values& error, const Weights& weight, ShiftPoint point,
                   const Values& input_error) override {
    const auto& weights = static_cast<const ReferenceWeights&>(weight).state;
    const auto mantissas = weights.mantissas.as<std::int8_t>();
    const auto& from = ReferenceBackend::data(error);
    Totals sums(ReferenceBackend::data(input_error).size());
    for_each_product(error.images, [&](std::size_t i, std::size_t w, std::size_t o) {
      sums[i] += std::int64_t{from[o]} * mantissas[w];
    });
    backend_.round(point, sums, backend_.exponent(error) + weights.exponent, input_error);
  }

  void weight_gradient(const Values& input, const Values& error, Sums& sums) override {
    auto& own = static_cast<ReferenceSums&>(sums);
    Totals& totals = own.data;
    own.exponent = backend_.exponent(input) + backend_.exponent(error);
    const auto& in = ReferenceBackend::data(input);
    const auto& from = ReferenceBackend::data(error);
    std::ranges::fill(totals, 0);
    for_each_product(error.images, [&](std::size_t i, std::size_t w, std::size_t o) {
      totals[w] += std::int64_t{from[o]} * in[i];
    });
  }

 private:
  Totals products_of(const Values& input, const WeightsState& weights) const {
    const auto& in = ReferenceBackend::data(input);
    const auto mantissas = weights.mantissas.as<std::int8_t>();
    Totals sums(static_cast<std::size_t>(input.images * case_.output.elements()));
    for_each_product(input.images, [&](std::size_t i, std::size_t w, std::size_t o) {
      sums[o] += std::int64_t{in[i]} * mantissas[w];
    });
    return sums;
  }

  // body(place in the input, in the weight, in the output) of every product.
  template <class Body>
  void for_each_product(std::int64_t images, const Body& body) const {
    const WeightShape& weight = case_.weight;
    const std::int64_t outs = weight.out / weight.groups;
    for_each_tap(case_.window, case_.input, case_.output, images, [&](const TapPlace& at) {
      for (std::int64_t o = 0; o < weight.out; ++o) {
        const std::size_t to = index_of(case_.output, at.image, at.oy, at.ox, o);
        const std::size_t from = index_of(case_.input, at.image, at.y, at.x, o / outs * weight.in);
        const auto w = static_cast<std::size_t>((o * weight.taps + at.tap) * weight.in);
        for (std::size_t i = 0; i < static_cast<std::size_t>(weight.in); ++i)
          body(from + i, w + i, to);
      }
    });
  }

  ReferenceBackend& backend_;
  ProductCase case_;
};

class ReferencePool final : public PoolOp {
 public:
  ReferencePool(ReferenceBackend& backend, const PoolCase& pool) : backend_(backend), case_(pool) {
    Totals counts(static_cast<std::size_t>(pool.output.pixels()));
    for_each_tap(pool.window, pool.input, pool.output, 1,
                 [&](const TapPlace& at) { ++counts[window_of(at)]; });
    for (const std::int64_t count : counts) {
      factors_.push_back(
          mean_factor(pool.counts_padding ? pool.window.taps() : std::max<std::int64_t>(count, 1)));
    }
  }

  void forward(const Values& input, ShiftPoint point, const Values& marks,
               const Values& output) override {
    const auto& in = ReferenceBackend::data(input);
    auto& out = ReferenceBackend::data(output);
    if (case_.kind == PoolCase::Kind::mean) {
      Totals sums(out.size());
      for_each_share(input.images, [&](std::size_t i, std::size_t o, const TapPlace& at) {
        sums[o] += in[i] * factors_[window_of(at)];
      });
      return backend_.round(point, sums, backend_.exponent(input) - kMeanBits, output);
    }
    // Of values that a rectifier made only those above zero are marked.
    std::vector<bool> has_value(out.size(), case_.is_rectified);
    auto& taps = ReferenceBackend::data(marks);
    if (case_.is_rectified) std::ranges::fill(taps, static_cast<std::int8_t>(PoolCase::kNoMark));
    std::ranges::fill(out, std::int8_t{0});
    for_each_share(input.images, [&](std::size_t i, std::size_t o, const TapPlace& at) {
      if (has_value[o] && in[i] <= out[o]) return;
      has_value[o] = true;
      out[o] = in[i];
      taps[o] = static_cast<std::int8_t>(static_cast<std::uint8_t>(at.tap));
    });
    backend_.set_exponent(output, backend_.exponent(input));
  }

  void input_error(const Values& error, const Values& marks, ShiftPoint point,
                   const Values& input_error) override {
    const auto& from = ReferenceBackend::data(error);
    Totals sums(ReferenceBackend::data(input_error).size());
    const int exponent = backend_.exponent(error);
    if (case_.kind == PoolCase::Kind::mean) {
      for_each_share(error.images, [&](std::size_t i, std::size_t o, const TapPlace& at) {
        sums[i] += from[o] * factors_[window_of(at)];
      });
      return backend_.round(point, sums, exponent - kMeanBits, input_error);
    }
    const auto& taps = ReferenceBackend::data(marks);
    for_each_share(error.images, [&](std::size_t i, std::size_t o, const TapPlace& at) {
      if (static_cast<std::uint8_t>(taps[o]) == at.tap) sums[i] += from[o];
    });
    if (windows_overlap()) return backend_.round(point, sums, exponent, input_error);
    std::ranges::transform(sums, ReferenceBackend::data(input_error).begin(),
                           [](std::int64_t sum) { return static_cast<std::int8_t>(sum); });
    backend_.set_exponent(input_error, exponent);
  }

 private:
  std::size_t window_of(const TapPlace& at) const {
    return static_cast<std::size_t>(at.oy * case_.output.width + at.ox);
  }

  bool windows_overlap() const {
    Totals readers(static_cast<std::size_t>(case_.input.pixels()));
    for_each_tap(case_.window, case_.input, case_.output, 1, [&](const TapPlace& at) {
      ++readers[static_cast<std::size_t>(at.y * case_.input.width + at.x)];
    });
    return *std::ranges::max_element(readers) > 1;
  }

  template <class Body>
  void for_each_share(std::int64_t images, const Body& body) const {
    for_each_tap(case_.window, case_.input, case_.output, images, [&](const TapPlace& at) {
      for (std::int64_t c = 0; c < case_.input.channels; ++c)
        body(index_of(case_.input, at.image, at.y, at.x, c),
             index_of(case_.output, at.image, at.oy, at.ox, c), at);
    });
  }

  ReferenceBackend& backend_;
  PoolCase case_;
  Totals factors_;  // of every window
};

class ReferencePointwise {
 public:
  ReferencePointwise(ReferenceBackend& backend, std::span<const Values> from, const Values& to)
      : backend_(backend), from_(from), to_(to), out_(ReferenceBackend::data(to)) {
    for (const Values& each : from) exponents_.push_back(backend.exponent(each));
  }

  void operator()(const Rectify& rectify) const {
    const int most = rectify.has_cut ? relu6_cut(exponents_[0]) : 127;
    for_each([&](std::size_t i) { return std::clamp<int>(in(0)[i], 0, most); });
    backend_.set_exponent(to_, exponents_[0]);
  }

  void operator()(const RectifyError& rectify) const {
    const int cut = rectify.has_cut ? relu6_cut(exponents_[1]) : 127;
    for_each([&](std::size_t i) {
      const int passed = in(1)[i];
      return passed <= 0 || (cut < 127 && passed == cut) ? 0 : in(0)[i];
    });
    backend_.set_exponent(to_, exponents_[0]);
  }

  void operator()(const Drop& drop) const {
    RandomKey random = backend_.step().random;
    random.stream = drop.stream;
    const auto features = static_cast<std::size_t>(to_.picture.elements());
    for_each([&](std::size_t i) {
      return draw32(random, i % features) >> (32 - drop.halvings) == 0 ? in(0)[i] : 0;
    });
    backend_.set_exponent(to_, exponents_[0] + drop.halvings);
  }

  void operator()(const AddValues& add) const {
    const Alignment common = align(exponents_);
    Totals sums(out_.size());
    for (std::size_t k = 0; k < from_.size(); ++k) {
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += in(k)[i] * common.factor[k];
    }
    backend_.round(add.point, sums, common.exponent, to_);
  }

  void operator()(const AddBias& add) const {
    const auto& bias = static_cast<const ReferenceWeights&>(*add.bias).state;
    const auto biases = bias.mantissas.as<std::int8_t>();
    const int exponents[] = {exponents_[0], bias.exponent};
    const Alignment common = align(exponents);
    Totals sums;
    for (std::size_t i = 0; i < out_.size(); ++i)
      sums.push_back(in(0)[i] * common.factor[0] + biases[i % biases.size()] * common.factor[1]);
    backend_.round(add.point, sums, common.exponent, to_);
  }

  void operator()(const ConcatValues& concat) const {
    const Alignment common = align(exponents_);
    Totals sums;
    for (std::int64_t pixel = 0; pixel < to_.images * to_.picture.pixels(); ++pixel) {
      for (std::size_t k = 0; k < from_.size(); ++k) {
        const std::int64_t channels = from_[k].picture.channels;
        for (std::int64_t c = 0; c < channels; ++c)
          sums.push_back(in(k)[static_cast<std::size_t>(pixel * channels + c)] * common.factor[k]);
      }
    }
    backend_.round(concat.point, sums, common.exponent, to_);
  }

  void operator()(const MoveBox& box) const {
    const Picture& small = box.to_small ? to_.picture : from_[0].picture;
    const Picture& large = box.to_small ? from_[0].picture : to_.picture;
    std::ranges::fill(out_, std::int8_t{0});
    for (std::int64_t n = 0; n < to_.images; ++n) {
      for (std::int64_t y = 0; y < small.height; ++y) {
        for (std::int64_t x = 0; x < small.width; ++x) {
          for (std::int64_t c = 0; c < small.channels; ++c) {
            const std::size_t there =
                index_of(large, n, box.begin[0] + y * box.step[0], box.begin[1] + x * box.step[1],
                         box.begin[2] + c * box.step[2]);
            const std::size_t here = index_of(small, n, y, x, c);
            if (box.to_small) {
              out_[here] = in(0)[there];
            } else {
              out_[there] = in(0)[here];
            }
          }
        }
      }
    }
    backend_.set_exponent(to_, exponents_[0]);
  }

  void operator()(const CopyValues&) const {
    for_each([&](std::size_t i) { return in(0)[i]; });
    backend_.set_exponent(to_, exponents_[0]);
  }

 private:
  const std::vector<std::int8_t>& in(std::size_t k) const {
    return ReferenceBackend::data(from_[k]);
  }
  template <class Body>
  void for_each(const Body& body) const {
    for (std::size_t i = 0; i < out_.size(); ++i) out_[i] = static_cast<std::int8_t>(body(i));
  }

  ReferenceBackend& backend_;
  std::span<const Values> from_;
  const Values& to_;
  std::vector<std::int8_t>& out_;
  std::vector<int> exponents_;
};

}  // namespace

std::unique_ptr<ProductOp> ReferenceBackend::product(const ProductCase& product) {
  return std::make_unique<ReferenceProduct>(*this, product);
}

std::unique_ptr<PoolOp> ReferenceBackend::pool(const PoolCase& pool) {
  return std::make_unique<ReferencePool>(*this, pool);
}

void ReferenceBackend::pointwise(const PointCase& point, std::span<const Values> from,
                                 const Values& to) {
  std::visit(ReferencePointwise(*this, from, to), point);
}

}  // namespace nibble::inline backend
