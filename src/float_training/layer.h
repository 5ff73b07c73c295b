// SPDX-License-Identifier: Apache-2.0
// What the tape asks of a layer: forward, backward, and which values it needs again for the latter.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/buffer_pool.h"
#include "float_training/slices.h"
#include "nibble/core/philox.h"
#include "nibble/graph/network.h"
#include "nibble/kernels/accumulate.h"

namespace nibble::inline float_training {

// A trained tensor as layers see it. `version` grows whenever the values change.
struct LayerParameter {
  Tensor value;     // rounded to the weight's format; products may round it to steps once more
  Tensor gradient;  // of the loss times the loss scale
  std::uint64_t version = 0;
};

struct Pass {
  Slices slices;
  bool is_training = false;
  RandomKey random = {};  // seed and step; each user has streams of its own
  BufferPool* pool = nullptr;
};

struct ForwardArguments {
  const Pass& pass;
  std::span<const float* const> inputs;
  float* output;  // the first input itself for layers that work in place
};

struct BackwardArguments {
  const Pass& pass;
  std::span<const float* const> inputs;  // null where the layer does not keep them
  const float* output;                   // null unless it keeps its output
  float* output_error;                   // may be destroyed
  std::span<float* const> input_errors;  // to be written; null where nobody wants it
};

class Layer {
 public:
  virtual ~Layer() = default;
  virtual void forward(const ForwardArguments& arguments) = 0;
  virtual void backward(const BackwardArguments& arguments) = 0;
  // After the way back of all layers: gradients that were not there yet are waited for.
  virtual void finish_backward() {}

  // What backward reads.
  virtual bool keeps_inputs() const { return false; }
  virtual bool keeps_output() const { return false; }

  // Whether output may be the first input's memory, and its error that of the output.
  virtual bool works_in_place() const { return false; }

  // Whether forward is cheap and the same a second time: the output need not be kept for others.
  virtual bool makes_output_again() const { return false; }

  // Whether input_errors[0] may be output_error's memory, where output is not the first input's.
  virtual bool passes_errors_in_place() const { return works_in_place(); }

  // In the order of parameters_of(network).
  virtual std::vector<LayerParameter*> parameters() { return {}; }
};

struct ProductPlace;

// What a layer is made from.
struct LayerSettings {
  const Node& node;
  std::size_t index;          // of the node
  std::vector<Shape> inputs;  // of one example
  Shape output;
  bool output_is_rounded = false;  // the value that backward would see is not what forward made
  const Accumulator* accumulator = nullptr;  // simulated products instead of oneDNN's
  const ProductPlace* place = nullptr;       // products on a device
};

std::unique_ptr<Layer> make_layer(const LayerSettings& settings);

// One a kind of layer; make_layer chooses.
std::unique_ptr<Layer> make_product(const LayerSettings& settings);
std::unique_ptr<Layer> make_pool(const LayerSettings& settings);
std::unique_ptr<Layer> make_global_average_pool(const LayerSettings& settings);
std::unique_ptr<Layer> make_batch_norm(const LayerSettings& settings);
std::unique_ptr<Layer> make_bias(const LayerSettings& settings);
std::unique_ptr<Layer> make_rectifier(const LayerSettings& settings);
std::unique_ptr<Layer> make_fake_quantize(const LayerSettings& settings);
std::unique_ptr<Layer> make_dropout(const LayerSettings& settings);
std::unique_ptr<Layer> make_add(const LayerSettings& settings);
std::unique_ptr<Layer> make_concat(const LayerSettings& settings);
std::unique_ptr<Layer> make_window(const LayerSettings& settings);  // slice and pad
std::unique_ptr<Layer> make_flatten(const LayerSettings& settings);

}  // namespace nibble::inline float_training
