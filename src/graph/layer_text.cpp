// SPDX-License-Identifier: Apache-2.0
// Reads layers of the TOML form; docs/networks.md says what each key means.
#include "graph/layer_text.h"

#include <cmath>
#include <limits>

#include "graph/node_error.h"
#include "graph/op_fields.h"
#include "graph/shapes.h"
#include "nibble/core/error.h"

namespace nibble::inline graph {
namespace {

// Keys that are absent leave the member as it is.
class FieldReader {
 public:
  explicit FieldReader(TomlReader& layer) : layer_(layer) {}

  void operator()(std::string_view key, std::int64_t& member) const {
    if (const auto value = layer_.integer(key, range_of(key))) {
      member = *value;
    } else if (member == 0 && !may_be_zero(key)) {
      layer_.fail(key, "nothing", "an integer");
    }
  }
  void operator()(std::string_view key, Extent2& member) const {
    const TomlValue* value = layer_.find(key);
    if (value == nullptr) return;
    if (!std::holds_alternative<TomlValue::Array>(value->data)) {
      const std::int64_t both = *layer_.integer(key, range_of(key));
      member = {both, both};
      return;
    }
    const std::vector<std::int64_t> list = *layer_.integers(key, range_of(key));
    if (list.size() != 2) {
      layer_.fail(key, std::to_string(list.size()) + " numbers", "an integer, or [rows, columns]");
    }
    member = {list[0], list[1]};
  }
  void operator()(std::string_view key, bool& member) const {
    if (const auto value = layer_.boolean(key)) member = *value;
  }
  void operator()(std::string_view key, float& member) const {
    const auto value = layer_.number(key);
    if (!value) return;
    if (!(std::abs(*value) <= std::numeric_limits<float>::max())) {
      layer_.fail(key, std::to_string(*value), "a finite number");
    }
    member = static_cast<float>(*value);
  }
  void operator()(std::string_view key, std::vector<std::int64_t>& member) const {
    if (auto value = layer_.integers(key, range_of(key))) member = std::move(*value);
  }
  // The input stands outside of the layers.
  void operator()(std::string_view, Shape&) const {}
  void operator()(std::string_view, std::vector<float>&) const {}

 private:
  static bool may_be_zero(std::string_view key) {
    return key == "padding" || key == "begin" || key == "end" || key == "before" ||
           key == "after" || key == "shift" || key == "weight_steps";
  }
  static IntegerRange range_of(std::string_view key) {
    if (key == "low" || key == "high" || key == "first") {
      return {.least = -kMaxInteger, .most = kMaxInteger};
    }
    return {.least = may_be_zero(key) ? 0 : 1, .most = kMaxNumber};
  }

  TomlReader& layer_;
};

Conv2d read_depthwise(TomlReader& layer, const Shape& in) {
  if (in.rank() != 3) {
    layer.fail("op", "depthwise on " + in.to_string(), "a picture (height, width, channels)");
  }
  Conv2d op{.channels = in[2]};
  if (const auto multiplier = layer.integer("multiplier", {.least = 1, .most = kMaxNumber})) {
    if (layer.find("channels") != nullptr) {
      layer.fail("multiplier", "channels beside it", "one of the two");
    }
    op.channels = in[2] * *multiplier;
  }
  const FieldReader read(layer);
  visit_fields(op, [&](std::string_view key, auto& member) {
    if (key != "groups") read(key, member);
  });
  op.groups = in[2];
  return op;
}

// What depends on the other numbers or on the input.
void fill_absent(Op& op, TomlReader& layer, const Shape& in) {
  if (auto* pool = std::get_if<MaxPool>(&op); pool != nullptr && layer.find("stride") == nullptr) {
    pool->stride = pool->kernel;
  }
  if (auto* pool = std::get_if<AveragePool>(&op);
      pool != nullptr && layer.find("stride") == nullptr) {
    pool->stride = pool->kernel;
  }
  if (auto* slice = std::get_if<Slice>(&op)) {
    if (layer.find("begin") == nullptr) slice->begin.assign(in.rank(), 0);
    if (layer.find("end") == nullptr) slice->end.assign(in.rank(), 0);
    if (layer.find("step") == nullptr) slice->step.assign(in.rank(), 1);
  }
  if (auto* pad = std::get_if<Pad>(&op)) {
    if (layer.find("before") == nullptr) pad->before.assign(in.rank(), 0);
    if (layer.find("after") == nullptr) pad->after.assign(in.rank(), 0);
  }
}

}  // namespace

Op read_op(TomlReader& layer, std::string_view name, const Shape& in) {
  if (name == "depthwise") return read_depthwise(layer, in);
  std::optional<Op> op = op_of(name);
  if (!op || is<Input>(*op)) layer.fail("op", in_quotes(name), "an operation, such as conv2d");
  std::visit([&](auto& each) { visit_fields(each, FieldReader(layer)); }, *op);
  fill_absent(*op, layer, in);
  return *std::move(op);
}

Precision read_precision(TomlReader& table, const std::string& prefix) {
  Precision precision;
  const auto read = [&](const char* word, auto parse, auto& member) {
    const std::string key = prefix + word;
    const auto text = table.string(key);
    if (!text) return;
    try {
      member = parse(*text);
    } catch (const Error& error) {
      table.fail(key, error.reason(), input_kind(error));
    }
  };
  read("format", parse_format, precision.format);
  read("rounding", parse_rounding, precision.rounding);
  read("overflow", parse_overflow, precision.overflow);
  return precision;
}

std::string_view name_stem(std::string_view op) {
  if (op == "conv2d" || op == "depthwise") return "conv";
  if (op.ends_with("_pool")) return "pool";
  if (op == "relu6") return "relu";
  if (op == "batch_norm") return "norm";
  if (op == "softmax_cross_entropy" || op == "squared_error") return "loss";
  return op;
}

}  // namespace nibble::inline graph
