// SPDX-License-Identifier: Apache-2.0
// Convolution and linear layers: one gathers windows, the other has a single window over all.
#include <algorithm>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/gather_product.h"
#include "backend/cpu/patches.h"
#include "backend/cpu/weight_gradient.h"
#include "laws/batch_norm.h"
#include "laws/integer_laws.h"

namespace nibble::inline backend {
namespace {

// The same memory with one tap.
WeightShape unfolded(const WeightShape& shape) {
  return {.out = shape.out, .taps = 1, .in = shape.taps * shape.in};
}

// Weights as one of the products reads them, packed again where they have changed.
class FreshWeights {
 public:
  FreshWeights(const WeightShape& shape, PackedWeights::Direction direction)
      : packed_(shape, direction) {}

  const PackedWeights& of(const CpuWeights& weights) {
    if (version_ != weights.version() || weights_ != &weights) {
      packed_.pack(weights.mantissas());
      weights_ = &weights;
      version_ = weights.version();
    }
    return packed_;
  }

 private:
  PackedWeights packed_;
  const CpuWeights* weights_ = nullptr;
  std::uint64_t version_ = 0;
};

class CpuProduct final : public ProductOp {
 public:
  CpuProduct(CpuBackend& backend, const ProductCase& product)
      : backend_(backend),
        case_(product),
        ahead_(TapMap::forward(product.window, product.input, product.output)),
        back_(TapMap::backward(product.window, product.input, product.output)),
        is_thin_(is_thin(product.input, product.weight)),
        unfolded_(is_thin_ ? TapMap::forward({}, product.output, product.output) : ahead_),
        unfolded_shape_(is_thin_ ? unfolded(product.weight) : product.weight),
        forward_weights_(unfolded_shape_, PackedWeights::Direction::forward),
        backward_weights_(product.weight, PackedWeights::Direction::backward) {}

  void forward(const Values& input, const Weights& weight, const Weights* bias, ShiftPoint point,
               const Values& output) override {
    const BlockTensor own = block(input);
    if (is_thin_) patches_ = unfold(case_.window, case_.output, own, pool(), patch_memory_);
    SumScale scale{.exponent = own.exponent + cpu_weights(weight).exponent()};
    std::vector<std::int64_t> addend;
    if (bias != nullptr) {
      scale = product_scale(scale.exponent, cpu_weights(*bias).exponent());
      addend = cpu_weights(*bias).lifted(scale.bias_lift);
    }
    run(unfolded_, forward_weights_.of(cpu_weights(weight)), is_thin_ ? patches_ : own, point,
        scale, addend, output);
    keep_patches();
  }

  void forward_sums(const Values& input, const Weights& weight, const FrozenLine* line,
                    const Values& output) override {
    const BlockTensor own = block(input);
    if (is_thin_) patches_ = unfold(case_.window, case_.output, own, pool(), patch_memory_);
    const auto& weights = cpu_weights(weight);
    const NormedSums sums(weight, case_.weight.out, line);
    multiply(unfolded_, forward_weights_.of(weights), is_thin_ ? patches_ : own, {}, {},
             block(output), sums.job());
    backend_.set_exponent(output, sums.exponent(own.exponent + weights.exponent()));
    keep_patches();
  }

  void input_error(const Values& error, const Weights& weight, ShiftPoint point,
                   const Values& input_error) override {
    go_back(error, weight, point, input_error, [] {});
  }

  void backward(const Values& input, const Values& error, const Weights& weight, ShiftPoint point,
                const Values& input_error, Sums& sums) override {
    go_back(error, weight, point, input_error, [&] { weight_gradient(input, error, sums); });
  }

  void weight_gradient(const Values& input, const Values& error, Sums& sums) override {
    const BlockTensor own = block(input);
    const BlockTensor errors = block(error);
    GradientSums& gradient = static_cast<CpuSums&>(sums).gradient;
    if (is_thin_ && !has_patches_)
      patches_ = unfold(case_.window, case_.output, own, pool(), patch_memory_);
    WeightGradient{.meetings = unfolded_,
                   .shape = unfolded_shape_,
                   .input = is_thin_ ? patches_ : own,
                   .error = errors,
                   .all_images = backend_.step().all_images,
                   .pool = &pool()}
        .run(gradient);
    gradient.exponent = own.exponent + errors.exponent;
    has_patches_ = false;
    patch_memory_.release();
  }

 private:
  BlockTensor block(const Values& values) const { return backend_.block(values); }
  BufferPool& pool() const { return backend_.buffers(); }

  void go_back(const Values& error, const Weights& weight, ShiftPoint point,
               const Values& input_error, const std::function<void()>& meanwhile) {
    const BlockTensor own = block(error);
    const SumScale scale{.exponent = own.exponent + cpu_weights(weight).exponent()};
    run(back_, backward_weights_.of(cpu_weights(weight)), own, point, scale, {}, input_error,
        meanwhile);
  }

  void run(
      const TapMap& meetings, const PackedWeights& weights, const BlockTensor& source,
      ShiftPoint point, const SumScale& scale, std::span<const std::int64_t> addend,
      const Values& output, const std::function<void()>& meanwhile = [] {}) {
    backend_.round(
        point, scale.exponent, output,
        [&](const RoundingJob& job, const BlockTensor& result) {
          return multiply(meetings, weights, source, scale, addend, result, job);
        },
        meanwhile);
  }

  SumsOutcome multiply(const TapMap& meetings, const PackedWeights& weights,
                       const BlockTensor& source, const SumScale& scale,
                       std::span<const std::int64_t> addend, const BlockTensor& result,
                       const RoundingJob& job) {
    return GatherProduct{.meetings = meetings,
                         .weights = weights,
                         .source = source,
                         .result = result,
                         .first_image = backend_.step().first_image,
                         .addend = addend,
                         .lift = scale.product_lift,
                         .pool = &pool()}
        .run(job);
  }

  // Of the way forward, for the gradient.
  void keep_patches() {
    has_patches_ = is_thin_ && backend_.step().is_training;
    if (!has_patches_) patch_memory_.release();
  }

  CpuBackend& backend_;
  ProductCase case_;
  TapMap ahead_;
  TapMap back_;
  bool is_thin_;
  TapMap unfolded_;  // for the products that read the input: as it is, or unfolded
  WeightShape unfolded_shape_;
  FreshWeights forward_weights_;
  FreshWeights backward_weights_;
  BlockTensor patches_;  // of the way forward, for the gradient
  Buffer patch_memory_;
  bool has_patches_ = false;
};

}  // namespace

std::unique_ptr<ProductOp> make_cpu_product(CpuBackend& backend, const ProductCase& product) {
  const WeightShape& shape = product.weight;
  const bool is_depthwise = shape.in == 1 && shape.out == shape.groups;
  // Products read 4 channels at once: groups of others are filled up with zeros as one product.
  const bool is_whole = shape.in % 4 == 0 && shape.out / shape.groups % 4 == 0;
  if (shape.groups > 1 && (is_depthwise || is_whole))
    return make_cpu_grouped_product(backend, product);
  return std::make_unique<CpuProduct>(backend, product);
}

}  // namespace nibble::inline backend
