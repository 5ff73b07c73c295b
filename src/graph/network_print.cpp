// SPDX-License-Identifier: Apache-2.0
// Writes networks in TOML: one line a layer, and only what differs from the usual.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "graph/network_json.h"
#include "graph/op_fields.h"
#include "nibble/graph/network_text.h"

namespace nibble::inline graph {
namespace {

std::string text_of(std::int64_t value) {
  return std::to_string(value);
}
std::string text_of(bool value) {
  return value ? "true" : "false";
}
std::string text_of(float value) {
  return fmt::format("{}", short_double(value));
}
std::string text_of(Extent2 value) {
  return value.y == value.x ? text_of(value.y) : fmt::format("[{}, {}]", value.y, value.x);
}
// JSON's escapes are TOML's. Names were checked, so that this is UTF-8 without control characters.
std::string text_of(const std::string& value) {
  return nlohmann::json(value).dump();
}
template <class T>
std::string text_of(const std::vector<T>& values) {
  std::string text = "[";
  for (const T& value : values) text += (text.size() > 1 ? ", " : "") + text_of(value);
  return text + "]";
}
std::string text_of(const Shape& shape) {
  return text_of(std::vector<std::int64_t>(shape.extents().begin(), shape.extents().end()));
}

// A table in braces, key by key.
class Line {
 public:
  template <class T>
  void add(std::string_view key, const T& value) {
    text_ += fmt::format("{}{} = {}", text_.empty() ? "" : ", ", key, text_of(value));
  }

  void add(const std::string& prefix, const Precision& precision) {
    const Precision usual;
    if (precision.format != usual.format) add(prefix + "format", to_string(precision.format));
    if (precision.rounding != usual.rounding) {
      add(prefix + "rounding", to_string(precision.rounding));
    }
    if (precision.overflow != usual.overflow) {
      add(prefix + "overflow", std::string(to_string(precision.overflow)));
    }
  }

  std::string in_braces() const { return "{ " + text_ + " }"; }

 private:
  std::string text_;
};

// Members whose usual value is that of a fresh operation; the stride of a pool is its kernel's.
template <class AnyOp>
void add_fields(Line& line, const AnyOp& op) {
  AnyOp usual;
  if constexpr (std::is_same_v<AnyOp, MaxPool> || std::is_same_v<AnyOp, AveragePool>) {
    usual.stride = op.kernel;
  }
  std::vector<std::string> usual_texts;
  visit_fields(usual,
               [&](std::string_view, auto& member) { usual_texts.push_back(text_of(member)); });
  std::size_t index = 0;
  visit_fields(op, [&](std::string_view key, auto& member) {
    const bool is_usual = text_of(member) == usual_texts[index++];
    if (!is_usual || key == "kernel" || key == "share") line.add(key, member);
  });
}

std::string input_text(const Node& node) {
  const Input& op = std::get<Input>(node.op);
  std::string text;
  if (node.name == "input" && node.value == Precision{}) {
    text = fmt::format("input = {}\n", text_of(op.shape));
  } else {
    Line line;
    line.add("name", node.name);
    line.add("shape", op.shape);
    line.add("", node.value);
    text = fmt::format("input = {}\n", line.in_braces());
  }
  if (!op.mean.empty()) text += fmt::format("mean = {}\n", text_of(op.mean));
  if (!op.deviation.empty()) text += fmt::format("deviation = {}\n", text_of(op.deviation));
  return text;
}

std::string layer_text(const Network& network, std::size_t index) {
  const Node& node = network.nodes[index];
  Line line;
  line.add("op", std::string(name_of(node.op)));
  line.add("name", node.name);
  if (node.inputs != std::vector<std::size_t>{index - 1}) {
    std::vector<std::string> from;
    for (const std::size_t input : node.inputs) from.push_back(network.nodes[input].name);
    if (from.size() == 1) {
      line.add("from", from.front());
    } else {
      line.add("from", from);
    }
  }
  std::visit([&](const auto& op) { add_fields(line, op); }, node.op);
  line.add("", node.value);
  line.add("weight_", node.weight);
  return line.in_braces();
}

}  // namespace

std::string to_toml(const Network& network) {
  (void)infer_shapes(network);  // what is written can be read
  std::string text = fmt::format("name = {}\n", text_of(network.name));
  text += input_text(network.nodes.front());
  if (!network.class_names.empty()) {
    text += fmt::format("classes = {}\n", text_of(network.class_names));
  }
  text += "layers = [\n";
  for (std::size_t i = 1; i < network.nodes.size(); ++i) {
    text += fmt::format("  {},\n", layer_text(network, i));
  }
  return text + "]\n";
}

}  // namespace nibble::inline graph
