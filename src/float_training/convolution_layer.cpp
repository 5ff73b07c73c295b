// SPDX-License-Identifier: Apache-2.0
// Convolution by oneDNN, one call a slice.
#include <array>
#include <unordered_map>
#include <utility>

#include "float_training/convolution_primitives.h"
#include "float_training/layer.h"
#include "float_training/onednn.h"
#include "float_training/simulated_layer.h"
#include "float_training/slice_sums.h"
#include "float_training/weight_quantizer.h"

namespace nibble::inline float_training {
namespace {

using Arguments = std::unordered_map<int, dnnl::memory>;

class ConvolutionLayer final : public Layer {
 public:
  explicit ConvolutionLayer(const LayerSettings& settings)
      : cache_({std::get<Conv2d>(settings.node.op), settings.inputs[0], settings.output}),
        own_(weight_desc(cache_.shape())),
        weight_(settings.node) {}

  bool keeps_inputs() const override { return true; }

  std::vector<LayerParameter*> parameters() override {
    std::vector<LayerParameter*> list = weight_.parameters();
    if (has_bias()) list.push_back(&bias_);
    return list;
  }

  void forward(const ForwardArguments& arguments) override {
    const Slices& slices = arguments.pass.slices;
    std::array<const ConvolutionPrimitives*, 2> made{};
    std::array<dnnl::memory, 2> packed;
    const LayerParameter& weight = weight_.used();
    for_each_size(slices, [&](std::size_t kind, std::int64_t images) {
      made[kind] = &cache_.get(images, threads_a_call(slices));
      packed[kind] = forward_weights_.get(made[kind]->forward_desc.weights_desc(), own_, weight);
    });
    for_each_slice(slices, [&](std::int64_t slice) {
      const std::size_t kind = kind_of(slices, slice);
      Arguments args{
          {DNNL_ARG_SRC, borrow(made[kind]->input, input_at(arguments.inputs[0], slices, slice))},
          {DNNL_ARG_WEIGHTS, packed[kind]},
          {DNNL_ARG_DST, borrow(made[kind]->output, output_at(arguments.output, slices, slice))}};
      if (has_bias())
        args.emplace(DNNL_ARG_BIAS, borrow(made[kind]->bias, bias_.value.as<float>().data()));
      execute(made[kind]->forward, made[kind]->forward_desc.scratchpad_desc(), std::move(args));
    });
  }

  // Gradients are made of slices twice as large, which halves the sums; as tasks they come first,
  // and the errors, half as long, fill the threads that are left.
  void backward(const BackwardArguments& arguments) override {
    const Slices& slices = arguments.pass.slices;
    Slices pairs = slices;
    pairs.size = slices.is_fast ? slices.size : 2 * slices.size;
    const GradientParts parts(*this, pairs, *arguments.pass.pool);
    const ErrorMaker errors(*this, slices, arguments.input_errors[0]);
    if (slices.is_fast) {
      for_each_slice(slices, [&](std::int64_t slice) {
        parts.make(arguments, slice);
        errors.make(arguments, slice);
      });
    } else {
      for_each_task(pairs.count() + errors.count(), [&](std::int64_t task) {
        if (task < pairs.count()) {
          parts.make(arguments, task);
        } else {
          errors.make(arguments, task - pairs.count());
        }
      });
    }
    parts.add_up(*this);
    weight_.finish_gradient();
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
    Made(ConvolutionLayer& layer, const Slices& cut) : slices(cut) {
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
    GradientParts(ConvolutionLayer& layer, const Slices& slices, BufferPool& pool)
        : layer_(layer),
          made_(layer, slices),
          layout_(made_.of(0).backward_weights_desc.diff_weights_desc()),
          stride_(static_cast<std::int64_t>(layout_.get_size() / sizeof(float))),
          channels_(layer.has_bias() ? layer.cache_.shape().op.channels : 0),
          weights_(pool.take<float>(slices.count() * stride_)),
          biases_(pool.take<float>(slices.count() * channels_)) {}

    void make(const BackwardArguments& arguments, std::int64_t slice) const {
      const ConvolutionPrimitives& primitives = made_.of(slice);
      const dnnl::memory target = borrow(layout_, weights_.as<float>() + slice * stride_);
      const dnnl::memory::desc own = primitives.backward_weights_desc.diff_weights_desc();
      const dnnl::memory gradient = own == layout_ ? target : dnnl::memory(own, cpu_engine());
      Arguments args{
          {DNNL_ARG_SRC,
           borrow(primitives.input, layer_.input_at(arguments.inputs[0], made_.slices, slice))},
          {DNNL_ARG_DIFF_DST, borrow(primitives.output, layer_.output_at(arguments.output_error,
                                                                         made_.slices, slice))},
          {DNNL_ARG_DIFF_WEIGHTS, gradient}};
      if (layer_.has_bias()) {
        args.emplace(DNNL_ARG_DIFF_BIAS,
                     borrow(primitives.bias, biases_.as<float>() + slice * channels_));
      }
      execute(primitives.backward_weights, primitives.backward_weights_desc.scratchpad_desc(),
              std::move(args));
      if (own != layout_) reorder(gradient, target);
    }

    void add_up(ConvolutionLayer& layer) const {
      const std::int64_t count = made_.slices.count();
      sum_slices(weights_.as<float>(), count, stride_, stride_, weights_.as<float>());
      reorder(borrow(layout_, weights_.as<float>()),
              borrow(layer.own_, layer.weight_.gradient().data()));
      if (!layer.has_bias()) return;
      sum_slices(biases_.as<float>(), count, channels_, channels_,
                 layer.bias_.gradient.as<float>().data());
    }

   private:
    const ConvolutionLayer& layer_;
    Made made_;
    dnnl::memory::desc layout_;
    std::int64_t stride_;
    std::int64_t channels_;
    Buffer weights_;
    Buffer biases_;
  };

  // The error of the input, slice by slice; nothing where nobody wants it.
  class ErrorMaker {
   public:
    ErrorMaker(ConvolutionLayer& layer, const Slices& slices, float* input_error)
        : layer_(layer), made_(layer, slices), input_error_(input_error) {
      if (input_error == nullptr) return;
      const LayerParameter& weight = layer.weight_.used();
      for_each_size(slices, [&](std::size_t kind, std::int64_t) {
        weights_[kind] = layer.backward_weights_.get(
            made_.by_kind[kind]->backward_data_desc.weights_desc(), layer.own_, weight);
      });
    }

    std::int64_t count() const { return input_error_ == nullptr ? 0 : made_.slices.count(); }

    void make(const BackwardArguments& arguments, std::int64_t slice) const {
      if (input_error_ == nullptr) return;
      const ConvolutionPrimitives& primitives = made_.of(slice);
      execute(
          primitives.backward_data, primitives.backward_data_desc.scratchpad_desc(),
          {{DNNL_ARG_DIFF_DST, borrow(primitives.output, layer_.output_at(arguments.output_error,
                                                                          made_.slices, slice))},
           {DNNL_ARG_WEIGHTS, weights_[kind_of(made_.slices, slice)]},
           {DNNL_ARG_DIFF_SRC,
            borrow(primitives.input, layer_.input_at(input_error_, made_.slices, slice))}});
    }

   private:
    const ConvolutionLayer& layer_;
    Made made_;
    float* input_error_;
    std::array<dnnl::memory, 2> weights_;
  };

  ConvolutionCache cache_;
  dnnl::memory::desc own_;  // the layout of the weight itself
  WeightQuantizer weight_;
  LayerParameter bias_;
  ReorderedWeights forward_weights_;
  ReorderedWeights backward_weights_;
};

}  // namespace

std::unique_ptr<Layer> make_convolution(const LayerSettings& settings) {
  if (settings.accumulator != nullptr) return make_simulated(settings);
  return std::make_unique<ConvolutionLayer>(settings);
}

}  // namespace nibble::inline float_training
