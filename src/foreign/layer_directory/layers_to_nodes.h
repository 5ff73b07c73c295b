// SPDX-License-Identifier: Apache-2.0
// Makes nodes of layers: checks what a layer says against what enters it, and takes its numbers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "foreign/layer_directory/layer_folder.h"
#include "foreign/layer_directory/value_code.h"
#include "nibble/graph/network.h"

namespace nibble::inline foreign {

class LayersToNodes {
 public:
  explicit LayersToNodes(LayerFolder& folder) : folder_(folder) {}

  // Each adds the nodes of one layer and gives the last of them. A layer's file and, but for the
  // activation, its node have the same name.
  std::size_t add_input(std::int64_t size);
  std::size_t add_conv(const std::string& name, std::size_t input);
  std::size_t add_relu(const std::string& file, const std::string& node, std::size_t input);
  std::size_t add_quantize(const std::string& name, std::size_t input);
  std::size_t add_max_pool(const std::string& name, std::size_t input);
  std::size_t add_average_pool(const std::string& name, std::size_t input);  // and the flattening
  std::size_t add_linear(const std::string& name, std::size_t input);
  std::size_t add_scale(const std::string& name, std::size_t input);
  std::size_t add_sum(const std::string& name, std::size_t left, std::size_t right,
                      const LayerRecord& record);

  ValueCode code_of(std::size_t node) const { return codes_[node]; }
  const Node& node(std::size_t index) const { return model_.network.nodes[index]; }

  Model finished(std::string name);

 private:
  std::size_t add_node(Node node, ValueCode code, const LayerRecord& record);
  void check_filter_mode(const LayerRecord& record, std::string_view mode, ValueCode input,
                         StoredType weight) const;
  void add_weight(const LayerRecord& record, const StoredTensor& tensor, const Shape& shape);
  void add_tensor(const LayerRecord& record, std::string_view key, const StoredTensor& tensor);

  LayerFolder& folder_;
  Model model_;
  std::vector<Shape> shapes_;
  std::vector<ValueCode> codes_;
};

}  // namespace nibble::inline foreign
