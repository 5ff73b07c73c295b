// SPDX-License-Identifier: Apache-2.0
// oneDNN's three convolutions for one number of images, and weights in the layouts that they like.
#include "float_training/convolution_primitives.h"

#include <tuple>

#include "float_training/onednn.h"
#include "nibble/core/parallel.h"

namespace nibble::inline float_training {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;

constexpr auto kFloat = memory::data_type::f32;

memory::dims dims_of(const Extent2& extent) {
  return {extent.y, extent.x};
}

// oneDNN counts the pixels between taps.
memory::dims dilation_of(const Conv2d& op) {
  return {op.dilation.y - 1, op.dilation.x - 1};
}

memory::desc any_layout(const memory::desc& desc) {
  return {desc.dims(), kFloat, memory::format_tag::any};
}

}  // namespace

memory::desc weight_desc(const ConvolutionShape& shape) {
  const auto& [op, input, output] = shape;
  const std::int64_t in = input[2] / op.groups;
  const std::int64_t row = op.kernel.x * in;
  const std::int64_t filter = op.kernel.y * row;
  if (op.groups == 1) {
    return {{op.channels, in, op.kernel.y, op.kernel.x}, kFloat, memory::dims{filter, 1, row, in}};
  }
  const std::int64_t out = op.channels / op.groups;
  return {{op.groups, out, in, op.kernel.y, op.kernel.x},
          kFloat,
          memory::dims{out * filter, filter, 1, row, in}};
}

ConvolutionPrimitives::ConvolutionPrimitives(const ConvolutionShape& shape, std::int64_t images)
    : input(picture_desc(images, shape.input)),
      output(picture_desc(images, shape.output)),
      bias(shape.op.has_bias ? memory::desc({shape.op.channels}, kFloat, memory::format_tag::x)
                             : memory::desc()) {
  const Conv2d& op = shape.op;
  const memory::desc weights = any_layout(weight_desc(shape));
  const memory::dims stride = dims_of(op.stride);
  const memory::dims dilation = dilation_of(op);
  const memory::dims padding = dims_of(op.padding);

  forward_desc = {{prop_kind::forward_training, algorithm::convolution_direct, input, weights, bias,
                   output, stride, dilation, padding, padding},
                  attributes(),
                  cpu_engine()};
  forward = dnnl::convolution_forward(forward_desc);
  backward_data_desc = {
      {algorithm::convolution_direct, input, weights, output, stride, dilation, padding, padding},
      attributes(),
      cpu_engine(),
      forward_desc};
  backward_data = dnnl::convolution_backward_data(backward_data_desc);
  backward_weights_desc = {{algorithm::convolution_direct, input, weights, bias, output, stride,
                            dilation, padding, padding},
                           attributes(),
                           cpu_engine(),
                           forward_desc};
  backward_weights = dnnl::convolution_backward_weights(backward_weights_desc);
}

const ConvolutionPrimitives& ConvolutionCache::get(std::int64_t images, int threads) {
  const auto key = std::make_pair(images, threads);
  const auto found = primitives_.find(key);
  if (found != primitives_.end()) return found->second;
  const ThreadLimit limit(threads);  // oneDNN plans for the threads it sees here
  return primitives_
      .emplace(std::piecewise_construct, std::forward_as_tuple(key),
               std::forward_as_tuple(shape_, images))
      .first->second;
}

const memory& ReorderedWeights::get(const memory::desc& wanted, const memory::desc& own,
                                    const LayerParameter& weight) {
  Entry* entry = nullptr;
  for (Entry& each : entries_) {
    if (each.desc == wanted) entry = &each;
  }
  if (entry == nullptr) {
    entries_.push_back({wanted, memory(wanted, cpu_engine()), weight.version - 1});
    entry = &entries_.back();
  }
  if (entry->version != weight.version) {
    const ThreadLimit all(thread_count());  // moving numbers changes none
    memory from = borrow(own, weight.value.as<float>().data());
    reorder(from, entry->memory);
    entry->version = weight.version;
  }
  return entry->memory;
}

}  // namespace nibble::inline float_training
