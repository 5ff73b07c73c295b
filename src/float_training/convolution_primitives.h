// SPDX-License-Identifier: Apache-2.0
// oneDNN's three convolutions for one number of images, and weights in the layouts that they like.
#pragma once

#include <cstdint>
#include <dnnl.hpp>
#include <list>
#include <map>
#include <utility>

#include "float_training/layer.h"

namespace nibble::inline float_training {

struct ConvolutionShape {
  Conv2d op;
  Shape input;  // of one example
  Shape output;
};

// (groups, out, in, ky, kx) over memory (out, ky, kx, in / groups); without groups 4-D.
dnnl::memory::desc weight_desc(const ConvolutionShape& shape);

struct ConvolutionPrimitives {
  ConvolutionPrimitives(const ConvolutionShape& shape, std::int64_t images);

  dnnl::memory::desc input;
  dnnl::memory::desc output;
  dnnl::memory::desc bias;
  dnnl::convolution_forward::primitive_desc forward_desc;
  dnnl::convolution_forward forward;
  dnnl::convolution_backward_data::primitive_desc backward_data_desc;
  dnnl::convolution_backward_data backward_data;
  dnnl::convolution_backward_weights::primitive_desc backward_weights_desc;
  dnnl::convolution_backward_weights backward_weights;
};

// Primitives by number of images and of threads, made when first asked for.
class ConvolutionCache {
 public:
  explicit ConvolutionCache(ConvolutionShape shape) : shape_(std::move(shape)) {}
  const ConvolutionPrimitives& get(std::int64_t images, int threads);
  const ConvolutionShape& shape() const { return shape_; }

 private:
  ConvolutionShape shape_;
  std::map<std::pair<std::int64_t, int>, ConvolutionPrimitives> primitives_;
};

// A weight in other layouts, reordered when its version has changed.
class ReorderedWeights {
 public:
  const dnnl::memory& get(const dnnl::memory::desc& wanted, const dnnl::memory::desc& own,
                          const LayerParameter& weight);

 private:
  struct Entry {
    dnnl::memory::desc desc;
    dnnl::memory memory;
    std::uint64_t version = 0;
  };
  std::list<Entry> entries_;
};

}  // namespace nibble::inline float_training
