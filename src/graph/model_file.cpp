// SPDX-License-Identifier: Apache-2.0
// Reads and writes .nib files; docs/networks.md is the format.
#include "nibble/graph/model_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/hash.h"
#include "core/warning.h"
#include "graph/foreign_file.h"
#include "graph/network_json.h"
#include "graph/node_error.h"
#include "graph/parameters.h"
#include "nibble/core/error.h"
#include "nibble/core/safetensors.h"

namespace nibble::inline graph {
namespace {

using Json = nlohmann::json;

constexpr const char* kVersionKey = "nibble_format";
constexpr const char* kVersion = "1";
constexpr const char* kNetworkKey = "network";
constexpr const char* kHashKey = "weights_hash";
constexpr const char* kContentKey = "content_hash";
constexpr const char* kOriginKey = "origin";
constexpr std::array kKeys{kVersionKey, kNetworkKey, kHashKey, kContentKey, kOriginKey};
constexpr std::size_t kMaxOrigin = std::size_t{1} << 20;

[[noreturn]] void fail(const std::string& name, std::string_view what, std::string_view got,
                       std::string_view expected) {
  throw Error("read_model", fmt::format("{}: {}", name, what), got, expected, ErrorKind::input);
}

const std::string& metadata_of(const Safetensors& file, const char* key, const std::string& name) {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end()) {
    fail(name, fmt::format("metadata {}", key), "nothing", "a .nib model, which has it");
  }
  return found->second;
}

Origin origin_from(const std::string& text, const std::string& name) {
  Origin origin;
  const Json json = text.size() <= kMaxOrigin ? Json::parse(text, nullptr, false) : Json();
  const bool is_object = json.is_object();
  if (!is_object) fail(name, "metadata origin", "something else", "an object of strings in JSON");
  for (const auto& [key, value] : json.items()) {
    const std::string what = "metadata origin." + well_formed(key);
    if (!value.is_string()) fail(name, what, value.type_name(), "a string");
    const auto& words = value.get_ref<const std::string&>();
    if (!is_printable(key) || !is_printable(words)) {
      fail(name, what, in_quotes(words), "words without control characters");
    }
    origin.emplace(key, words);
  }
  return origin;
}

// The tensors of the file in the order of the network; the file may have another.
std::vector<Tensor> ordered(std::vector<NamedTensor> tensors, const Network& network,
                            const std::string& name) {
  std::map<std::string_view, Tensor*> by_name;
  for (NamedTensor& each : tensors) by_name.emplace(each.name, &each.tensor);
  const std::vector<Parameter> parameters = parameters_of(network);
  std::vector<Tensor> list;
  for (const Parameter& parameter : parameters) {
    const auto found = by_name.find(parameter.name);
    if (found == by_name.end()) fail(name, "tensor " + parameter.name, "nothing", "one");
    if (!fits(network, parameter, *found->second)) {
      fail(name, "shape of " + parameter.name, found->second->shape().to_string(),
           parameter.shape.to_string());
    }
    list.push_back(std::move(*found->second));
    by_name.erase(found);
  }
  if (!by_name.empty()) {
    fail(name, "tensor", in_quotes(by_name.begin()->first), "those of the network only");
  }
  return list;
}

// An unknown key may be content_hash with a wrong bit, so none is taken. Files of older versions
// have no such hash, and their networks cannot be checked.
bool check_content(const Safetensors& file, const std::string& name) {
  for (const auto& [key, value] : file.metadata) {
    if (std::ranges::find(kKeys, key) == kKeys.end())
      fail(name, "metadata", in_quotes(key), fmt::format("{}", fmt::join(kKeys, ", ")));
  }
  const auto stored = file.metadata.find(kContentKey);
  if (stored == file.metadata.end()) return false;
  const std::string got = content_hash(file.metadata, views_of(file.tensors), kContentKey);
  if (got != stored->second)
    fail(name + " is damaged", kContentKey, got, in_quotes(stored->second));
  return true;
}

ModelFile model_from(Safetensors file, const std::string& name) {
  if (const std::string& version = metadata_of(file, kVersionKey, name); version != kVersion) {
    fail(name, fmt::format("metadata {}", kVersionKey), in_quotes(version), in_quotes(kVersion));
  }
  ModelFile result;
  result.has_content_hash = check_content(file, name);
  result.model.network = network_from_json(metadata_of(file, kNetworkKey, name), name);
  result.origin = origin_from(metadata_of(file, kOriginKey, name), name);
  const std::string expected = metadata_of(file, kHashKey, name);
  result.model.parameters = ordered(std::move(file.tensors), result.model.network, name);
  const std::string got = hex(weights_hash(result.model));
  if (got != expected) fail(name, "hash of the weights", got, in_quotes(expected));
  if (!result.has_content_hash) {
    warn(
        fmt::format("{} has no {}: damage to its network would not be seen (made by an older "
                    "version; written anew it has one)",
                    name, kContentKey));
  }
  return result;
}

}  // namespace

void write_model(const std::filesystem::path& path, const Model& model, const Origin& origin) {
  const std::vector<Parameter> parameters = checked_parameters(model);
  std::vector<NamedTensorView> tensors;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    tensors.push_back({parameters[i].name, model.parameters[i].view()});
  }
  SafetensorsMetadata metadata = {{kVersionKey, kVersion},
                                  {kNetworkKey, to_json(model.network)},
                                  {kHashKey, hex(weights_hash(model))}};
  Json words = Json::object();  // of paths, too, which may hold any bytes
  for (const auto& [key, value] : origin) words[well_formed(key)] = well_formed(value);
  metadata[kOriginKey] = words.dump();
  metadata[kContentKey] = content_hash(metadata, tensors, kContentKey);
  write_safetensors(path, metadata, tensors);
}

ModelFile read_model(const std::filesystem::path& path) {
  refuse_foreign_file(path);
  return model_from(read_safetensors(path), path.string());
}

ModelFile parse_model(std::span<const std::byte> bytes, const std::string& name) {
  return model_from(parse_safetensors(bytes, name), name);
}

}  // namespace nibble::inline graph
