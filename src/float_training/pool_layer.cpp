// SPDX-License-Identifier: Apache-2.0
// Max and average pooling by oneDNN, one call a slice.
#include <dnnl.hpp>
#include <map>
#include <utility>
#include <vector>

#include "float_training/layer.h"
#include "float_training/onednn.h"

namespace nibble::inline float_training {
namespace {

using dnnl::memory;

struct PoolShape {
  dnnl::algorithm algorithm = dnnl::algorithm::pooling_max;
  Extent2 kernel;
  Extent2 stride;
  Extent2 padding;
};

PoolShape shape_of(const Op& op) {
  if (const auto* pool = std::get_if<MaxPool>(&op)) {
    return {dnnl::algorithm::pooling_max, pool->kernel, pool->stride, pool->padding};
  }
  const auto& pool = std::get<AveragePool>(op);
  return {pool.counts_padding ? dnnl::algorithm::pooling_avg_include_padding
                              : dnnl::algorithm::pooling_avg_exclude_padding,
          pool.kernel, pool.stride, pool.padding};
}

struct PoolPrimitives {
  memory::desc input;
  memory::desc output;
  memory::desc workspace;  // where the largest was; empty for averages
  dnnl::pooling_forward forward;
  memory::desc forward_scratchpad;
  dnnl::pooling_backward backward;
  memory::desc backward_scratchpad;
};

class PoolLayer final : public Layer {
 public:
  explicit PoolLayer(const LayerSettings& settings)
      : shape_(shape_of(settings.node.op)), input_(settings.inputs[0]), output_(settings.output) {}

  void forward(const ForwardArguments& arguments) override {
    const Slices& slices = arguments.pass.slices;
    workspaces_.assign(static_cast<std::size_t>(slices.count()), memory());
    prepare(slices);
    for_each_slice(slices, [&](std::int64_t slice) {
      const PoolPrimitives& made = primitives_of(slices, slice);
      memory& workspace = workspaces_[static_cast<std::size_t>(slice)];
      if (!made.workspace.is_zero()) workspace = memory(made.workspace, cpu_engine());
      execute(made.forward, made.forward_scratchpad,
              {{DNNL_ARG_SRC,
                borrow(made.input, arguments.inputs[0] + slices.begin(slice) * input_.elements())},
               {DNNL_ARG_DST,
                borrow(made.output, arguments.output + slices.begin(slice) * output_.elements())},
               {DNNL_ARG_WORKSPACE, workspace}});
    });
    if (!arguments.pass.is_training) workspaces_.clear();
  }

  void backward(const BackwardArguments& arguments) override {
    if (arguments.input_errors[0] == nullptr) return;
    const Slices& slices = arguments.pass.slices;
    for_each_slice(slices, [&](std::int64_t slice) {
      const PoolPrimitives& made = primitives_of(slices, slice);
      execute(
          made.backward, made.backward_scratchpad,
          {{DNNL_ARG_DIFF_DST,
            borrow(made.output, arguments.output_error + slices.begin(slice) * output_.elements())},
           {DNNL_ARG_DIFF_SRC, borrow(made.input, arguments.input_errors[0] +
                                                      slices.begin(slice) * input_.elements())},
           {DNNL_ARG_WORKSPACE, workspaces_[static_cast<std::size_t>(slice)]}});
    });
    workspaces_.clear();
  }

 private:
  void prepare(const Slices& slices) {
    const int threads = threads_a_call(slices);
    for (const std::int64_t slice : {std::int64_t{0}, slices.count() - 1}) {
      const std::int64_t images = slices.end(slice) - slices.begin(slice);
      if (!primitives_.contains({images, threads}))
        primitives_.emplace(std::make_pair(images, threads), make(images, threads));
    }
  }

  const PoolPrimitives& primitives_of(const Slices& slices, std::int64_t slice) const {
    return primitives_.at({slices.end(slice) - slices.begin(slice), threads_a_call(slices)});
  }

  PoolPrimitives make(std::int64_t images, int threads) const {
    const ThreadLimit limit(threads);
    const memory::desc input = picture_desc(images, input_);
    const memory::desc output = picture_desc(images, output_);
    const memory::dims stride{shape_.stride.y, shape_.stride.x};
    const memory::dims kernel{shape_.kernel.y, shape_.kernel.x};
    const memory::dims before{shape_.padding.y, shape_.padding.x};
    // Rows and columns that no window reaches count as negative padding.
    const memory::dims after{
        (output_[0] - 1) * shape_.stride.y + shape_.kernel.y - input_[0] - shape_.padding.y,
        (output_[1] - 1) * shape_.stride.x + shape_.kernel.x - input_[1] - shape_.padding.x};
    const dnnl::pooling_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, shape_.algorithm, input, output, stride, kernel, before,
         after},
        attributes(), cpu_engine());
    const dnnl::pooling_backward::primitive_desc backward(
        {shape_.algorithm, input, output, stride, kernel, before, after}, attributes(),
        cpu_engine(), forward);
    return {input,
            output,
            forward.workspace_desc(),
            dnnl::pooling_forward(forward),
            forward.scratchpad_desc(),
            dnnl::pooling_backward(backward),
            backward.scratchpad_desc()};
  }

  PoolShape shape_;
  Shape input_;
  Shape output_;
  std::map<std::pair<std::int64_t, int>, PoolPrimitives> primitives_;
  std::vector<memory> workspaces_;  // one a slice, between forward and backward
};

}  // namespace

std::unique_ptr<Layer> make_pool(const LayerSettings& settings) {
  return std::make_unique<PoolLayer>(settings);
}

}  // namespace nibble::inline float_training
