// SPDX-License-Identifier: Apache-2.0
// Convolution by oneDNN, one call a slice.
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>

#include "float_training/convolution_primitives.h"
#include "float_training/onednn.h"
#include "float_training/product_passes.h"
#include "float_training/slice_sums.h"

namespace nibble::inline float_training {
namespace {

using Arguments = std::unordered_map<int, dnnl::memory>;

class ConvolutionPasses final : public ProductPasses {
 public:
  explicit ConvolutionPasses(const LayerSettings& settings)
      : cache_({std::get<Conv2d>(settings.node.op), settings.inputs[0], settings.output}),
        own_(weight_desc(cache_.shape())) {}

  void forward(const Pass& pass, const float* input, const ProductWeights& weights,
               float* output) override {
    const Slices& slices = pass.slices;
    std::array<const ConvolutionPrimitives*, 2> made{};
    std::array<dnnl::memory, 2> packed;
    for_each_size(slices, [&](std::size_t kind, std::int64_t images) {
      made[kind] = &cache_.get(images, threads_a_call(slices));
      packed[kind] =
          forward_weights_.get(made[kind]->forward_desc.weights_desc(), own_, weights.weight);
    });
    for_each_slice(slices, [&](std::int64_t slice) {
      const std::size_t kind = kind_of(slices, slice);
      Arguments args{{DNNL_ARG_SRC, borrow(made[kind]->input, input_at(input, slices, slice))},
                     {DNNL_ARG_WEIGHTS, packed[kind]},
                     {DNNL_ARG_DST, borrow(made[kind]->output, output_at(output, slices, slice))}};
      if (weights.bias != nullptr)
        args.emplace(DNNL_ARG_BIAS,
                     borrow(made[kind]->bias, weights.bias->value.as<float>().data()));
      execute(made[kind]->forward, made[kind]->forward_desc.scratchpad_desc(), std::move(args));
    });
  }

  // Gradients are made of slices twice as large, which halves the sums; as tasks they come first,
  // and the errors, half as long, fill the threads that are left.
  void backward(const Pass& pass, const ProductsBack& wanted) override {
    const Slices& slices = pass.slices;
    Slices pairs = slices;
    pairs.size = slices.is_fast ? slices.size : 2 * slices.size;
    std::optional<GradientParts> parts;
    if (wanted.weight_gradient != nullptr) parts.emplace(*this, pairs, *pass.pool);
    std::optional<ErrorMaker> errors;
    if (wanted.input_error != nullptr) errors.emplace(*this, slices, wanted.weight);
    if (slices.is_fast) {
      for_each_slice(slices, [&](std::int64_t slice) {
        if (parts) parts->make(wanted, slice);
        if (errors) errors->make(wanted, slice);
      });
    } else {
      const std::int64_t gradients = parts ? pairs.count() : 0;
      for_each_task(gradients + (errors ? slices.count() : 0), [&](std::int64_t task) {
        if (task < gradients) {
          parts->make(wanted, task);
        } else {
          errors->make(wanted, task - gradients);
        }
      });
    }
    if (parts) parts->add_up(wanted);
  }

 private:
  bool has_bias() const { return cache_.shape().op.has_bias; }

  // Slices have two sizes at most: 0, the usual one, and 1, that of a shorter last one.
  static std::size_t kind_of(const Slices& slices, std::int64_t slice) {
    return slices.end(slice) - slices.begin(slice) == slices.size ? 0 : 1;
  }
  template <class Body>
  static void for_each_size(const Slices& slices, const Body& body) {
    if (slices.images >= slices.size) body(0, slices.size);
    if (slices.images % slices.size != 0) body(1, slices.images % slices.size);
  }

  template <class T>
  T* input_at(T* data, const Slices& slices, std::int64_t slice) const {
    return data + slices.begin(slice) * cache_.shape().input.elements();
  }
  template <class T>
  T* output_at(T* data, const Slices& slices, std::int64_t slice) const {
    return data + slices.begin(slice) * cache_.shape().output.elements();
  }

  // The primitives of a batch's slices, made before the threads start.
  struct Made {
    Made(ConvolutionPasses& layer, const Slices& cut) : slices(cut) {
      for_each_size(slices, [&](std::size_t kind, std::int64_t images) {
        by_kind[kind] = &layer.cache_.get(images, threads_a_call(slices));
      });
    }
    const ConvolutionPrimitives& of(std::int64_t slice) const {
      return *by_kind[kind_of(slices, slice)];
    }

    Slices slices;
    std::array<const ConvolutionPrimitives*, 2> by_kind{};
  };

  // The gradient of each slice, all in the layout that the first one likes.
  class GradientParts {
   public:
    GradientParts(ConvolutionPasses& layer, const Slices& slices, BufferPool& pool)
        : layer_(layer),
          made_(layer, slices),
          layout_(made_.of(0).backward_weights_desc.diff_weights_desc()),
          stride_(static_cast<std::int64_t>(layout_.get_size() / sizeof(float))),
          channels_(layer.has_bias() ? layer.cache_.shape().op.channels : 0),
          weights_(pool.take<float>(slices.count() * stride_)),
          biases_(pool.take<float>(slices.count() * channels_)) {}

    void make(const ProductsBack& wanted, std::int64_t slice) const {
      const ConvolutionPrimitives& primitives = made_.of(slice);
      const dnnl::memory target = borrow(layout_, weights_.as<float>() + slice * stride_);
      const dnnl::memory::desc own = primitives.backward_weights_desc.diff_weights_desc();
      const dnnl::memory gradient = own == layout_ ? target : dnnl::memory(own, cpu_engine());
      Arguments args{
          {DNNL_ARG_SRC,
           borrow(primitives.input, layer_.input_at(wanted.input, made_.slices, slice))},
          {DNNL_ARG_DIFF_DST,
           borrow(primitives.output, layer_.output_at(wanted.error, made_.slices, slice))},
          {DNNL_ARG_DIFF_WEIGHTS, gradient}};
      if (layer_.has_bias()) {
        args.emplace(DNNL_ARG_DIFF_BIAS,
                     borrow(primitives.bias, biases_.as<float>() + slice * channels_));
      }
      execute(primitives.backward_weights, primitives.backward_weights_desc.scratchpad_desc(),
              std::move(args));
      if (own != layout_) reorder(gradient, target);
    }

    void add_up(const ProductsBack& wanted) const {
      const std::int64_t count = made_.slices.count();
      sum_slices(weights_.as<float>(), count, stride_, stride_, weights_.as<float>());
      reorder(borrow(layout_, weights_.as<float>()), borrow(layer_.own_, wanted.weight_gradient));
      if (wanted.bias_gradient == nullptr) return;
      sum_slices(biases_.as<float>(), count, channels_, channels_, wanted.bias_gradient);
    }

   private:
    const ConvolutionPasses& layer_;
    Made made_;
    dnnl::memory::desc layout_;
    std::int64_t stride_;
    std::int64_t channels_;
    Buffer weights_;
    Buffer biases_;
  };

  // The error of the input, slice by slice.
  class ErrorMaker {
   public:
    ErrorMaker(ConvolutionPasses& layer, const Slices& slices, const LayerParameter& weight)
        : layer_(layer), made_(layer, slices) {
      for_each_size(slices, [&](std::size_t kind, std::int64_t) {
        weights_[kind] = layer.backward_weights_.get(
            made_.by_kind[kind]->backward_data_desc.weights_desc(), layer.own_, weight);
      });
    }

    void make(const ProductsBack& wanted, std::int64_t slice) const {
      const ConvolutionPrimitives& primitives = made_.of(slice);
      execute(
          primitives.backward_data, primitives.backward_data_desc.scratchpad_desc(),
          {{DNNL_ARG_DIFF_DST,
            borrow(primitives.output, layer_.output_at(wanted.error, made_.slices, slice))},
           {DNNL_ARG_WEIGHTS, weights_[kind_of(made_.slices, slice)]},
           {DNNL_ARG_DIFF_SRC,
            borrow(primitives.input, layer_.input_at(wanted.input_error, made_.slices, slice))}});
    }

   private:
    const ConvolutionPasses& layer_;
    Made made_;
    std::array<dnnl::memory, 2> weights_;
  };

  ConvolutionCache cache_;
  dnnl::memory::desc own_;  // the layout of the weight itself
  ReorderedWeights forward_weights_;
  ReorderedWeights backward_weights_;
};

}  // namespace

std::unique_ptr<ProductPasses> make_convolution_passes(const LayerSettings& settings) {
  return std::make_unique<ConvolutionPasses>(settings);
}

}  // namespace nibble::inline float_training
