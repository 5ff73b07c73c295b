// SPDX-License-Identifier: Apache-2.0
// Makes layers of nodes, taken one after the other; what the format cannot express is an error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "foreign/layer_directory/layer.h"
#include "foreign/layer_directory/value_code.h"
#include "nibble/graph/network.h"

namespace nibble::inline foreign {

// A file of a layer directory: its path there and its bytes.
struct WrittenFile {
  std::string path;
  std::string bytes;
};

class NodesToLayers {
 public:
  explicit NodesToLayers(const Model& model);

  // Each takes the nodes of one layer, which must have this name and these inputs, adds its file
  // and its data, and gives the last of the nodes.
  std::size_t take_input();
  std::size_t take_conv(const std::string& name, std::size_t input);
  std::size_t take_relu(const std::string& name, std::size_t input);  // without a file
  std::size_t take_quantize(const std::string& name, std::size_t input);
  std::size_t take_max_pool(const std::string& name, std::size_t input);
  std::size_t take_average_pool(const std::string& name, std::size_t input);
  std::size_t take_linear(const std::string& name, std::size_t input);
  std::size_t take_scale(const std::string& name, std::size_t input);
  std::size_t take_sum(const std::string& name, std::size_t left, std::size_t right);

  bool is_next(std::string_view name) const;
  const Node& node(std::size_t index) const { return model_.network.nodes[index]; }
  ValueCode code_of(std::size_t node) const { return codes_[node]; }

  void add_layer(const std::string& name, const Layer& layer);

  // "[write_layer_directory] node 'x' (op): what: got X, expected Y"
  [[noreturn]] void fail(std::size_t node, std::string_view what, std::string_view got,
                         std::string_view expected) const;

  std::vector<WrittenFile> finished();  // throws where nodes are left

 private:
  const Node& take(const std::string& name, std::string_view op,
                   const std::vector<std::size_t>& inputs);
  template <class AnyOp>
  const AnyOp& take_as(const std::string& name, const std::vector<std::size_t>& inputs);
  std::size_t done(ValueCode code);
  std::size_t parameter_of(std::size_t node, std::string_view kind) const;  // one past: none
  ValueCode narrow_input(std::size_t input) const;
  std::int64_t square(Extent2 extent, std::string_view what) const;
  StoredType weight_type() const;
  void check_multipliers(std::int64_t shift, std::int64_t expected_shift,
                         const std::vector<std::int32_t>& expected) const;

  StoredTensor add_weight(StoredType type);
  StoredTensor add_bias();
  StoredTensor add_data(std::string_view kind, StoredType type,
                        const std::vector<std::int64_t>& extents, std::string bytes);

  const Model& model_;
  std::vector<Parameter> parameters_;
  std::vector<Shape> shapes_;
  std::vector<ValueCode> codes_;  // of the nodes that were taken
  std::vector<WrittenFile> files_;
};

// A quantized residual network in the words of NVIDIA's layer directories.

// What quantization in NVIDIA's form made, as read_layer_directory would give it: the same products
// and factors under the names of the format, rectifiers as layers, the mean by the format's own
// rule, answers divided by floats. Networks of a first convolution, a max pool, four stages of
// bottleneck blocks, each stage's first with a convolution in its shortcut, a mean and a linear
// layer. Throws, naming the layer, where the format has no word for it.
Model directory_form(const Model& integers);

}  // namespace nibble::inline foreign
