// SPDX-License-Identifier: Apache-2.0
// Reads and writes bits of layers.
#include "quantization/layer_bits_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text_file.h"
#include "graph/model_parts.h"
#include "graph/toml_reader.h"
#include "quantization/quantization_points.h"

namespace nibble::inline quantization {
namespace {

constexpr std::string_view kOp = "quantize";

const TomlValue& table_at(TomlReader& reader, std::string_view key) {
  const TomlValue* value = reader.find(key);
  if (value == nullptr) reader.fail(key, "nothing", "a table");
  if (!std::holds_alternative<TomlValue::Table>(value->data)) {
    reader.fail(key, kind_of(*value), "a table");
  }
  return *value;
}

int bits_at(TomlReader& reader, std::string_view key, bool may_be_unsigned) {
  const std::optional<std::string> format = reader.string(key);
  if (!format) return 0;
  const std::optional<int> bits = integer_bits(*format, may_be_unsigned);
  if (!bits) {
    reader.fail(key, fmt::format("'{}'", *format),
                may_be_unsigned ? "uint2 to uint8 or int2 to int8" : "int2 to int8");
  }
  return *bits;
}

bool has_product(const Network& network, std::string_view name) {
  return std::ranges::any_of(
      network.nodes, [&](const Node& node) { return node.name == name && is_product(node.op); });
}

}  // namespace

std::optional<int> integer_bits(std::string_view format, bool may_be_unsigned) {
  if (may_be_unsigned && format.starts_with('u')) format.remove_prefix(1);
  const bool is_known =
      format.size() == 4 && format.starts_with("int") && format[3] >= '2' && format[3] <= '8';
  if (!is_known) return std::nullopt;
  return format[3] - '0';
}

std::map<std::string, LayerBits> parse_layer_bits(std::string_view text, std::string_view source,
                                                  const Network& network) {
  const TomlValue root = parse_toml(text, source, kOp);
  TomlReader whole(root, source, kOp);
  const TomlValue& list = table_at(whole, "layers");
  whole.finish();
  TomlReader names(list, source, kOp, "layers.");
  std::map<std::string, LayerBits> layers;
  for (const TomlEntry& entry : std::get<TomlValue::Table>(list.data)) {
    const TomlValue& table = table_at(names, entry.key);
    if (!has_product(network, entry.key)) {
      names.fail(entry.key, "no such layer", "a conv2d or linear of " + network.name);
    }
    TomlReader reader(table, source, kOp, fmt::format("layers.{}.", entry.key));
    layers[entry.key] = {.weights = bits_at(reader, "weights", false),
                         .activations = bits_at(reader, "activations", true)};
    reader.finish();
  }
  return layers;
}

std::map<std::string, LayerBits> read_layer_bits(const std::filesystem::path& path,
                                                 const Network& network) {
  return parse_layer_bits(read_text_file(path, kOp), path.string(), network);
}

std::string layer_bits_text(const std::map<std::string, LayerBits>& layers) {
  std::string text = layers.empty() ? "[layers]\n" : "";
  for (const auto& [name, bits] : layers) {
    text += fmt::format("[layers.\"{}\"]\n", name);
    if (bits.weights != 0) text += fmt::format("weights = \"int{}\"\n", bits.weights);
    if (bits.activations != 0) text += fmt::format("activations = \"uint{}\"\n", bits.activations);
    text += "\n";
  }
  return text;
}

}  // namespace nibble::inline quantization
