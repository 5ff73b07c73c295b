// SPDX-License-Identifier: Apache-2.0
// Reads networks in TOML, layer after layer, with the shapes known so far.
#include "nibble/graph/network_text.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "graph/layer_text.h"
#include "graph/node_error.h"
#include "graph/shapes.h"
#include "graph/toml_reader.h"
#include "nibble/core/error.h"
#include "nibble/core/limits.h"

namespace nibble::inline graph {
namespace {

constexpr std::string_view kOp = "network";

std::vector<float> floats_of(TomlReader& table, std::string_view key) {
  std::vector<float> floats;
  for (const double x : table.numbers(key).value_or(std::vector<double>())) {
    if (!(std::abs(x) <= std::numeric_limits<float>::max())) {
      table.fail(key, fmt::format("{}", x), "finite numbers");
    }
    floats.push_back(static_cast<float>(x));
  }
  return floats;
}

class NetworkReader {
 public:
  NetworkReader(const TomlValue& root, std::string_view source)
      : source_(source), top_(root, source, kOp) {}

  Network read() {
    network_.name =
        top_.string("name").value_or(well_formed(std::filesystem::path(source_).stem().string()));
    read_input();
    if (auto classes = top_.strings("classes")) network_.class_names = std::move(*classes);
    const TomlValue* layers = top_.find("layers");
    const auto* list = layers == nullptr ? nullptr : std::get_if<TomlValue::Array>(&layers->data);
    if (list == nullptr) {
      top_.fail("layers", layers == nullptr ? "nothing" : kind_of(*layers), "a list of tables");
    }
    top_.finish();
    read_layers(*list);
    try {
      (void)infer_shapes(network_);  // what concerns more than one layer
    } catch (const Error& error) {
      throw Error(kOp, fmt::format("{}: {}", source_, error.reason()), input_kind(error));
    }
    return std::move(network_);
  }

 private:
  // A list of extents, or a table that has more to say.
  void read_input() {
    const TomlValue* value = top_.find("input");
    if (value == nullptr) top_.fail("input", "nothing", "[height, width, channels] or [features]");
    Node node{.name = "input", .op = Input{}};
    Input& op = std::get<Input>(node.op);
    op.mean = floats_of(top_, "mean");
    op.deviation = floats_of(top_, "deviation");
    if (std::holds_alternative<TomlValue::Table>(value->data)) {
      TomlReader table(*value, source_, kOp, "input.");
      node.name = table.string("name").value_or("input");
      op.shape = shape_from(table, "shape");
      node.value = read_precision(table, "");
      table.finish();
    } else {
      op.shape = shape_from(top_, "input");
    }
    add(std::move(node), top_, "input");
  }

  static Shape shape_from(TomlReader& table, std::string_view key) {
    const auto extents = table.integers(key, {.least = 1, .most = kMaxNumber});
    if (!extents || (extents->size() != 1 && extents->size() != 3)) {
      table.fail(key, extents ? fmt::format("{} extents", extents->size()) : "nothing",
                 "[height, width, channels] or [features]");
    }
    return Shape(*extents);
  }

  void read_layers(const TomlValue::Array& list) {
    const std::int64_t most = limits().nodes - 1;  // and the input
    if (std::cmp_greater(list.size(), most)) {
      top_.fail("layers", fmt::format("{} layers", list.size()), at_most("nodes", most),
                ErrorKind::limit);
    }
    std::vector<TomlReader> layers;
    layers.reserve(list.size());
    for (const TomlValue& value : list) {
      layers.emplace_back(value, source_, kOp, fmt::format("layers[{}].", layers.size()));
      if (const auto name = layers.back().string("name")) taken_.insert(*name);
    }
    for (TomlReader& layer : layers) read_layer(layer);
  }

  void read_layer(TomlReader& layer) {
    const auto op = layer.string("op");
    if (!op) layer.fail("op", "nothing", "an operation, such as conv2d");
    Node node{.name = name_for(layer, *op), .op = {}};
    node.inputs = inputs_of(layer);
    node.op = read_op(layer, *op, shapes_[node.inputs.front()]);
    node.value = read_precision(layer, "");
    if (has_weight(node.op)) node.weight = read_precision(layer, "weight_");
    layer.finish();
    add(std::move(node), layer, "op");
  }

  // The n-th layer of a kind is called by n, whether or not those before it have names.
  std::string name_for(TomlReader& layer, std::string_view op) {
    const std::string stem(name_stem(op));
    const int number = ++counts_[stem];
    if (auto name = layer.string("name")) return *std::move(name);
    std::string name = stem == "loss" ? stem : fmt::format("{}{}", stem, number);
    while (taken_.contains(name)) name += '_';
    taken_.insert(name);
    return name;
  }

  std::vector<std::size_t> inputs_of(TomlReader& layer) {
    const TomlValue* from = layer.find("from");
    if (from == nullptr) return {network_.nodes.size() - 1};
    std::vector<std::string> names;
    if (std::holds_alternative<TomlValue::Array>(from->data)) {
      names = *layer.strings("from");
    } else {
      names.push_back(*layer.string("from"));
    }
    std::vector<std::size_t> inputs;
    for (const std::string& name : names) {
      const auto found = index_.find(name);
      if (found == index_.end()) {
        layer.fail("from", in_quotes(name), "the name of an earlier layer");
      }
      inputs.push_back(found->second);
    }
    if (inputs.empty()) layer.fail("from", "an empty list", "names of earlier layers");
    return inputs;
  }

  void add(Node node, const TomlReader& place, std::string_view key) {
    try {
      check_node(node, network_.nodes.size());
      std::vector<Shape> inputs;
      for (const std::size_t input : node.inputs) inputs.push_back(shapes_[input]);
      shapes_.push_back(shape_of(node, inputs));
    } catch (const Error& error) {
      place.fail(key, error.reason(), input_kind(error));
    }
    if (!index_.emplace(node.name, network_.nodes.size()).second) {
      place.fail("name", in_quotes(node.name), "a name that is not taken");
    }
    network_.nodes.push_back(std::move(node));
  }

  std::string source_;
  TomlReader top_;
  Network network_;
  std::vector<Shape> shapes_;
  std::unordered_map<std::string, std::size_t> index_;
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> counts_;
};

}  // namespace

Network parse_network(std::string_view toml, std::string_view source) {
  const TomlValue root = parse_toml(toml, source, kOp);
  return NetworkReader(root, source).read();
}

}  // namespace nibble::inline graph
