// SPDX-License-Identifier: Apache-2.0
// Writes networks in JSON and reads them back key by key.
#include "graph/network_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/name.h"
#include "graph/node_error.h"
#include "graph/op_fields.h"
#include "nibble/core/error.h"
#include "nibble/core/limits.h"

namespace nibble::inline graph {
namespace {

using OrderedJson = nlohmann::ordered_json;  // for writing: keys stay in their order
using Parsed = nlohmann::json;               // for reading: no key is searched for one by one

constexpr std::size_t kMostOfNode = 512;  // bytes of JSON, on the average
constexpr int kMaxDepth = 6;

OrderedJson json_of(std::int64_t value) {
  return value;
}
OrderedJson json_of(bool value) {
  return value;
}
OrderedJson json_of(float value) {
  return short_double(value);
}
OrderedJson json_of(Extent2 value) {
  return {value.y, value.x};
}
OrderedJson json_of(const Shape& shape) {
  return std::vector<std::int64_t>(shape.extents().begin(), shape.extents().end());
}
template <class T>
OrderedJson json_of(const std::vector<T>& values) {
  OrderedJson list = OrderedJson::array();
  for (const T& value : values) list.push_back(json_of(value));
  return list;
}
OrderedJson json_of(const Precision& precision) {
  return {{"format", to_string(precision.format)},
          {"rounding", to_string(precision.rounding)},
          {"overflow", to_string(precision.overflow)}};
}

OrderedJson json_of(const Node& node) {
  OrderedJson json = {{"name", node.name}, {"op", name_of(node.op)}, {"inputs", node.inputs}};
  std::visit(
      [&](const auto& op) {
        visit_fields(op, [&](const char* key, auto& member) {
          OrderedJson value = json_of(member);
          if (!may_be_absent(key) || value != 0) json[key] = std::move(value);
        });
      },
      node.op);
  json["value"] = json_of(node.value);
  json["weight"] = json_of(node.weight);
  if (!node.bias.is_float32()) json["bias_value"] = json_of(node.bias);
  return json;
}

// An object whose keys, literals, are taken one by one; all must be there and none may be left.
class ObjectReader {
 public:
  ObjectReader(const Parsed& json, const std::string& place) : json_(json), place_(place) {
    if (!json.is_object()) fail("", json, "an object");
  }

  template <class T>
  void operator()(const char* key, T& member) {
    read(fmt::format(".{}", key), take(key), member);
  }

  template <class T>
  void optional(const char* key, T& member) {
    if (json_.contains(key)) {
      (*this)(key, member);
    } else {
      taken_.emplace_back(key);
    }
  }

  const Parsed& list(const char* key) {
    const Parsed& values = take(key);
    if (!values.is_array()) fail(fmt::format(".{}", key), values, "a list");
    return values;
  }

  void finish() const {
    for (const auto& each : json_.items()) {
      if (std::ranges::find(taken_, each.key()) != taken_.end()) continue;
      throw Error("network", place_ + ": key", in_quotes(each.key()),
                  fmt::format("{}", fmt::join(taken_, ", ")), ErrorKind::input);
    }
  }

 private:
  const Parsed& take(const char* key) {
    taken_.emplace_back(key);
    const auto found = json_.find(key);
    if (found == json_.end()) {
      throw Error("network", fmt::format("{}.{}", place_, key), "nothing", "a value",
                  ErrorKind::input);
    }
    return *found;
  }

  [[noreturn]] void fail(const std::string& key, const Parsed& got,
                         std::string_view expected) const {
    const bool is_short = got.is_primitive() && !got.is_string();
    throw Error("network", place_ + key, is_short ? got.dump() : got.type_name(), expected,
                ErrorKind::input);
  }

  // Errors of other readers with the place in front.
  template <class Body>
  auto wrapped(const std::string& key, Body body) const {
    try {
      return body();
    } catch (const Error& error) {
      throw Error("network", fmt::format("{}{}: {}", place_, key, error.reason()),
                  input_kind(error));
    }
  }

  void read(const std::string& key, const Parsed& json, std::int64_t& member) const {
    if (!json.is_number_integer() ||
        (json.is_number_unsigned() &&
         json.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX))) {
      fail(key, json, "a 64-bit integer");
    }
    member = json.get<std::int64_t>();
  }
  void read(const std::string& key, const Parsed& json, std::size_t& member) const {
    std::int64_t value = 0;
    read(key, json, value);
    if (value < 0) fail(key, json, "0 or more");
    member = static_cast<std::size_t>(value);
  }
  void read(const std::string& key, const Parsed& json, bool& member) const {
    if (!json.is_boolean()) fail(key, json, "true or false");
    member = json.get<bool>();
  }
  void read(const std::string& key, const Parsed& json, float& member) const {
    if (!json.is_number() || !(std::abs(json.get<double>()) <= std::numeric_limits<float>::max())) {
      fail(key, json, "a finite number");
    }
    member = static_cast<float>(json.get<double>());
  }
  void read(const std::string& key, const Parsed& json, std::string& member) const {
    if (!json.is_string()) fail(key, json, "a string");
    member = json.get<std::string>();
  }
  template <class T>
  void read(const std::string& key, const Parsed& json, std::vector<T>& member) const {
    if (!json.is_array()) fail(key, json, "a list");
    member.clear();
    for (const Parsed& each : json) {
      T value{};
      read(key, each, value);
      member.push_back(std::move(value));
    }
  }
  void read(const std::string& key, const Parsed& json, Extent2& member) const {
    std::vector<std::int64_t> list;
    read(key, json, list);
    if (list.size() != 2) fail(key, json, "two integers");
    member = {list[0], list[1]};
  }
  void read(const std::string& key, const Parsed& json, Shape& member) const {
    std::vector<std::int64_t> list;
    read(key, json, list);
    member = wrapped(key, [&] { return Shape(list); });
  }
  void read(const std::string& key, const Parsed& json, Precision& member) const {
    std::string format;
    std::string rounding;
    std::string overflow;
    ObjectReader object(json, place_ + key);
    object("format", format);
    object("rounding", rounding);
    object("overflow", overflow);
    object.finish();
    member.format = wrapped(key, [&] { return parse_format(format); });
    member.rounding = wrapped(key, [&] { return parse_rounding(rounding); });
    member.overflow = wrapped(key, [&] { return parse_overflow(overflow); });
  }

  const Parsed& json_;
  std::string place_;
  std::vector<std::string_view> taken_;
};

Node node_from(const Parsed& json, const std::string& place) {
  ObjectReader object(json, place);
  Node node{.name = "", .op = {}};
  std::string op;
  object("name", node.name);
  object("op", op);
  object("inputs", node.inputs);
  const std::optional<Op> known = op_of(op);
  if (!known)
    throw Error("network", place + ".op", in_quotes(op), "a known operation", ErrorKind::input);
  node.op = *known;
  const auto read_field = [&](const char* key, auto& member) {
    may_be_absent(key) ? object.optional(key, member) : object(key, member);
  };
  std::visit([&](auto& each) { visit_fields(each, read_field); }, node.op);
  object("value", node.value);
  object("weight", node.weight);
  object.optional("bias_value", node.bias);
  object.finish();
  return node;
}

// How many brackets are open at a time, outside of strings.
int depth_of(std::string_view text) {
  int depth = 0;
  int most = 0;
  bool is_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_string && c == '\\') ++i;
    if (c == '"') is_string = !is_string;
    if (is_string) continue;
    if (c == '[' || c == '{') most = std::max(most, ++depth);
    if (c == ']' || c == '}') --depth;
  }
  return most;
}

Parsed parsed(std::string_view text, const std::string& source) {
  const std::size_t most = static_cast<std::size_t>(limits().nodes) * kMostOfNode;
  if (text.size() > most) {
    throw Error(
        "network", source, fmt::format("{} bytes", text.size()),
        fmt::format("at most {} for each node that limit 'nodes' allows, {}", kMostOfNode, most),
        ErrorKind::limit);
  }
  // A callback of the parser could ask that too, but it looks at a whole list after each item.
  if (depth_of(text) > kMaxDepth)
    throw Error("network", source, "deep nesting", "a network", ErrorKind::input);
  try {
    return Parsed::parse(text.begin(), text.end());
  } catch (const Parsed::parse_error& error) {
    throw Error("network", fmt::format("{}: no JSON at byte {}", source, error.byte),
                ErrorKind::input);
  } catch (const Parsed::exception&) {  // a number beyond all types
    throw Error("network", fmt::format("{}: no JSON that can be read", source), ErrorKind::input);
  }
}

}  // namespace

std::string to_json(const Network& network) {
  OrderedJson nodes = OrderedJson::array();
  for (const Node& node : network.nodes) nodes.push_back(json_of(node));
  const OrderedJson json = {
      {"name", network.name}, {"class_names", network.class_names}, {"nodes", std::move(nodes)}};
  try {
    return json.dump();
  } catch (const OrderedJson::exception&) {
    throw Error("network", "text", "bytes that are no UTF-8", "UTF-8", ErrorKind::input);
  }
}

Network network_from_json(std::string_view text, const std::string& source) {
  const Parsed json = parsed(text, source);
  Network network;
  ObjectReader object(json, source);
  object("name", network.name);
  object("class_names", network.class_names);
  const Parsed& nodes = object.list("nodes");
  object.finish();
  for (const Parsed& node : nodes) {
    network.nodes.push_back(
        node_from(node, fmt::format("{}: nodes[{}]", source, network.nodes.size())));
  }
  try {
    (void)infer_shapes(network);
  } catch (const Error& error) {
    throw Error("network", fmt::format("{}: {}", source, error.reason()), input_kind(error));
  }
  return network;
}

double short_double(float x) {
  // Through a double a decimal is rounded twice, which in rare cases leads elsewhere.
  const double rounded = std::strtod(fmt::format("{}", x).c_str(), nullptr);
  return static_cast<float>(rounded) == x ? rounded : static_cast<double>(x);
}

}  // namespace nibble::inline graph
