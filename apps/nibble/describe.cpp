// SPDX-License-Identifier: Apache-2.0
// nibble describe: the layers of a network or a model with shapes, parameters, products, formats.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "apps/nibble/verb.h"
#include "apps/nibble/verb_parts.h"
#include "core/hash.h"
#include "core/name.h"
#include "graph/batch_norm.h"
#include "graph/integer_form.h"
#include "graph/model_parts.h"
#include "nibble/core/error.h"
#include "nibble/graph/integer_bounds.h"
#include "nibble/graph/model_file.h"
#include "nibble/graph/network_text.h"
#include "tasks/json.h"
#include "tasks/open_model.h"

namespace nibble {
namespace {

struct DescribeFlags {
  std::string model;
  bool is_json = false;
  bool has_tables = false;
  bool has_operations = false;
  bool is_markdown = false;
};

// One line of the table.
struct Layer {
  const Node* node = nullptr;
  Shape output;
  std::vector<Parameter> tensors;
  std::int64_t parameters = 0;  // all but
  std::int64_t kept = 0;        // means and variances of batch norms
  std::int64_t products = 0;
};

struct Description {
  Network network;
  std::optional<ModelFile> file;  // of a .nib
  std::vector<Layer> layers;
  Layer total;
};

std::vector<Layer> layers_of(const Network& network) {
  const std::vector<Shape> shapes = infer_shapes(network);
  const std::vector<std::int64_t> products = multiply_accumulates(network);
  std::vector<Layer> layers(network.nodes.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    layers[i].node = &network.nodes[i];
    layers[i].output = shapes[i];
    layers[i].products = products[i];
  }
  for (Parameter& parameter : parameters_of(network)) {
    Layer& layer = layers[parameter.node];
    const bool is_moment = parameter.kind == "mean" || parameter.kind == "variance";
    (is_moment ? layer.kept : layer.parameters) += parameter.shape.elements();
    layer.tensors.push_back(std::move(parameter));
  }
  return layers;
}

Layer total_of(const std::vector<Layer>& layers) {
  Layer total;
  for (const Layer& layer : layers) {
    total.parameters += layer.parameters;
    total.kept += layer.kept;
    total.products += layer.products;
  }
  return total;
}

std::string with_commas(std::int64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

std::string count_or_dash(std::int64_t number) {
  return number == 0 ? "-" : with_commas(number);
}

std::string extents_of(const Shape& shape) {
  std::string text;
  for (const std::int64_t extent : shape.extents()) {
    text += fmt::format("{}{}", text.empty() ? "" : "x", extent);
  }
  return text.empty() ? "1" : text;
}

std::string words_of(const Precision& precision) {
  std::string text = to_string(precision.format);
  if (precision.rounding != Rounding{}) text += " " + to_string(precision.rounding);
  if (precision.overflow != Overflow::native) {
    text += fmt::format(" {}", to_string(precision.overflow));
  }
  return text;
}

// Of the value, and of the weight where there is one in another format. What no format rounds is
// exact where the network computes with integers.
std::string formats_of(const Node& node, bool is_of_integers) {
  const bool is_exact = is_of_integers && node.value.is_float32();
  const std::string value = is_exact ? "integers" : words_of(node.value);
  return is_product(node.op) && node.weight != node.value
             ? fmt::format("{}, weight {}", value, words_of(node.weight))
             : value;
}

void print_table(const std::vector<std::array<std::string, 6>>& rows) {
  std::array<std::size_t, 6> widths{};
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows) {
    fmt::print("{:<{}}  {:<{}}  {:<{}}  {:>{}}  {:>{}}  {}\n", row[0], widths[0], row[1], widths[1],
               row[2], widths[2], row[3], widths[3], row[4], widths[4], row[5]);
  }
}

// Whether values are integers by the formats of the layers.
bool is_integer_network(const Network& network) {
  const auto* grid = std::get_if<GridElement>(&network.nodes[0].value.format.element);
  return grid != nullptr && grid->is_integer;
}

std::string range_of(const Interval& interval) {
  return interval == Interval{} ? "-" : fmt::format("{} … {}", interval.low, interval.high);
}

// Of the network as the engine runs it. The model's weights are taken.
struct Certificate {
  Network network;
  std::vector<NodeBounds> bounds;
};

std::optional<Certificate> certificate_of(Description& about) {
  if (!about.file || !is_integer_network(about.network)) return std::nullopt;
  const Model form = integer_form(std::move(about.file->model));
  return Certificate{form.network, prove_bounds(form)};
}

int bits_needed(const NodeBounds& bounds) {
  return std::max(
      {bounds.value.signed_bits(), bounds.partial.signed_bits(), bounds.product.signed_bits()});
}

void print_certificate(const Certificate& certificate) {
  fmt::print("\nCertificate: whatever the input, numbers stay within\n\n");
  std::vector<std::array<std::string, 6>> rows = {
      {"name", "op", "value", "sums on the way", "products", "bits"}};
  int most = 0;
  for (std::size_t i = 0; i < certificate.bounds.size(); ++i) {
    const NodeBounds& bounds = certificate.bounds[i];
    const Node& node = certificate.network.nodes[i];
    most = std::max(most, bits_needed(bounds));
    rows.push_back({node.name, std::string(name_of(node.op)), range_of(bounds.value),
                    range_of(bounds.partial), range_of(bounds.product),
                    std::to_string(bits_needed(bounds))});
  }
  print_table(rows);
  fmt::print(
      "\n{} bits hold every number: {}.\n", most,
      most <= 32 ? "32-bit arithmetic is exact" : "64-bit arithmetic is used where 32 do not do");
}

void print_text(Description& about) {
  const bool is_of_integers = is_integer_network(about.network);
  std::vector<std::array<std::string, 6>> rows = {
      {"name", "op", "output", "parameters", "MACs", "formats"}};
  for (const Layer& layer : about.layers) {
    rows.push_back({layer.node->name, std::string(name_of(layer.node->op)),
                    extents_of(layer.output), count_or_dash(layer.parameters),
                    count_or_dash(layer.products), formats_of(*layer.node, is_of_integers)});
  }
  rows.push_back({"total", "", "", with_commas(about.total.parameters),
                  with_commas(about.total.products), ""});
  fmt::print("{}\n\n", about.network.name);
  print_table(rows);
  if (about.total.kept > 0) {
    fmt::print("\n{} means and variances of batch norms are not counted.\n",
               with_commas(about.total.kept));
  }
  if (!about.file) return;
  fmt::print("\nweights {}\n", hex(weights_hash(about.file->model)));
  for (const auto& [key, value] : about.file->origin)
    fmt::print("{}: {}\n", well_formed(key), well_formed(value));
  const std::string held = held_norms_warning(held_norms(about.file->model));
  if (!held.empty()) fmt::print("warning: {}\n", held);
  if (const auto certificate = certificate_of(about)) print_certificate(*certificate);
}

Json json_of(const Interval& interval) {
  return {interval.low, interval.high};
}

Json json_of(const Certificate& certificate) {
  Json list = Json::array();
  for (std::size_t i = 0; i < certificate.bounds.size(); ++i) {
    const NodeBounds& bounds = certificate.bounds[i];
    list.push_back({{"name", certificate.network.nodes[i].name},
                    {"value", json_of(bounds.value)},
                    {"sums", json_of(bounds.partial)},
                    {"products", json_of(bounds.product)},
                    {"bits", bits_needed(bounds)}});
  }
  return list;
}

Json json_of(const Precision& precision) {
  return {{"format", to_string(precision.format)},
          {"rounding", to_string(precision.rounding)},
          {"overflow", to_string(precision.overflow)}};
}

Json json_of(const Layer& layer, const Network& network) {
  Json inputs = Json::array();
  for (const std::size_t input : layer.node->inputs) inputs.push_back(network.nodes[input].name);
  Json tensors = Json::array();
  for (const Parameter& p : layer.tensors) {
    tensors.push_back(
        {{"name", p.name}, {"shape", p.shape.extents()}, {"is_trained", p.is_trained}});
  }
  return {{"name", layer.node->name},
          {"op", name_of(layer.node->op)},
          {"inputs", std::move(inputs)},
          {"output", layer.output.extents()},
          {"parameters", layer.parameters},
          {"multiply_accumulates", layer.products},
          {"value", json_of(layer.node->value)},
          {"weight", json_of(layer.node->weight)},
          {"tensors", std::move(tensors)}};
}

void print_json(Description& about) {
  Json layers = Json::array();
  for (const Layer& layer : about.layers) layers.push_back(json_of(layer, about.network));
  Json json = {{"name", about.network.name},
               {"input", input_of(about.network).shape.extents()},
               {"classes", about.network.class_names},
               {"parameters", about.total.parameters},
               {"running_moments", about.total.kept},
               {"multiply_accumulates", about.total.products},
               {"weights_hash", about.file ? Json(hex(weights_hash(about.file->model))) : Json()},
               {"origin", about.file ? Json(about.file->origin) : Json()},
               {"layers", std::move(layers)}};
  if (about.file && is_integer_network(about.network) && has_batch_norm(about.network)) {
    json["held_channels"] = Json::object();
    for (const HeldNorm& each : held_norms(about.file->model))
      json["held_channels"][each.name] = each.channels;
  }
  if (const auto certificate = certificate_of(about)) json["certificate"] = json_of(*certificate);
  fmt::print("{}\n", json.dump(2));
}

// A file that is no model is refused by the reader of models, which says what it is.
bool is_model_file(const std::string& name) {
  if (name.ends_with(".nib")) return true;
  if (name.ends_with(".toml")) return false;
  const std::vector<NamedNetwork> networks = named_networks();
  std::error_code ignored;
  return std::ranges::find(networks, name, &NamedNetwork::name) == networks.end() &&
         std::filesystem::exists(name, ignored);
}

void describe_model(const DescribeFlags& flags) {
  Description about;
  if (is_model_file(flags.model)) {
    about.file = read_model(model_file_of(flags.model));
    about.network = about.file->model.network;
  } else {
    about.network = load_network(flags.model);
  }
  if (flags.has_tables) {
    if (!about.file || !is_integer_network(about.network)) {
      throw Error("describe", "--tables", flags.model, "a .nib model of integers");
    }
    const Model form = integer_form(std::move(about.file->model));
    if (flags.is_json) return fmt::print("{}\n", rescale_tables_json(form));
    return fmt::print("{}", rescale_tables(form));
  }
  about.layers = layers_of(about.network);
  about.total = total_of(about.layers);
  if (flags.is_json) {
    print_json(about);
  } else {
    print_text(about);
  }
}

void describe_operations(const DescribeFlags& flags) {
  print_operations(flags.is_json       ? TableForm::json
                   : flags.is_markdown ? TableForm::markdown
                                       : TableForm::text);
}

void list_networks(bool is_json) {
  Json list = Json::array();
  if (!is_json) {
    fmt::print("{:<22} {:<10} {:>7} {:>11} {:>14}\n", "name", "input", "layers", "parameters",
               "MACs");
  }
  for (const NamedNetwork& each : named_networks()) {
    const Network network = load_network(each.name);
    const Layer total = total_of(layers_of(network));
    const Shape& input = input_of(network).shape;
    if (is_json) {
      list.push_back({{"name", each.name},
                      {"input", input.extents()},
                      {"layers", network.nodes.size() - 1},
                      {"parameters", total.parameters},
                      {"multiply_accumulates", total.products}});
      continue;
    }
    fmt::print("{:<22} {:<10} {:>7} {:>11} {:>14}\n", each.name, extents_of(input),
               network.nodes.size() - 1, with_commas(total.parameters),
               with_commas(total.products));
  }
  if (is_json) fmt::print("{}\n", list.dump(2));
}

}  // namespace

void add_describe(CLI::App& app) {
  CLI::App& verb = *app.add_subcommand("describe", "show the layers of a network or a model");
  const auto flags = std::make_shared<DescribeFlags>();
  CLI::Option* model =
      verb.add_option("MODEL", flags->model,
                      "a network that comes with Nibble, a .toml network, a .nib model or the\n"
                      "folder of a run; without it the networks are listed")
          ->type_name("");
  CLI::Option* tables = verb.add_flag(
      "--tables", flags->has_tables,
      "of a model of integers: multiplier and shift of every channel, as CMSIS-NN has them");
  CLI::Option* operations =
      verb.add_flag("--operations", flags->has_operations,
                    "what can be done with each operation: trained, run, emitted, read, written")
          ->excludes(model)
          ->excludes(tables);
  CLI::Option* json = verb.add_flag("--json", flags->is_json, "print JSON");
  verb.add_flag("--markdown", flags->is_markdown, "of --operations: print docs/operations.md")
      ->needs(operations)
      ->excludes(json);
  verb.footer(
      "Parameters do not count the means and variances of batch norms; MACs are\n"
      "multiply-accumulates for one example.\n"
      "Formats are those of a layer's value and, where it differs, of its weight.\n"
      "Of a model of integers the certificate follows: between which numbers every value, every\n"
      "sum and every product lies, proven from the weights.\n\n"
      "A network of your own is a few lines of TOML (docs/networks.md):\n"
      "  input = [28, 28, 1]\n"
      "  layers = [ { op = \"flatten\" },\n"
      "             { op = \"linear\", features = 100, bias = true }, { op = \"relu\" },\n"
      "             { op = \"linear\", features = 10, bias = true },\n"
      "             { op = \"softmax_cross_entropy\" } ]\n\n"
      "Examples:\n"
      "  nibble describe                       the networks that come with Nibble\n"
      "  nibble describe resnet20              one of them\n"
      "  nibble describe mine.toml             one of your own\n"
      "  nibble describe --operations          what can be done with each operation\n"
      "  nibble describe out/model.nib --json  a trained one, with the hash of its weights");
  verb.callback([flags] {
    if (flags->has_operations) {
      describe_operations(*flags);
    } else if (flags->model.empty()) {
      if (flags->has_tables) throw CLI::RequiredError("MODEL");
      list_networks(flags->is_json);
    } else {
      describe_model(*flags);
    }
  });
}

}  // namespace nibble
