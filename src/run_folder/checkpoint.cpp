// SPDX-License-Identifier: Apache-2.0
// Checkpoints as safetensors: words and identity in the metadata, a hash over everything.
#include "run_folder/checkpoint.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/hash.h"
#include "core/name.h"
#include "nibble/core/error.h"

namespace nibble::inline run_folder {
namespace {

namespace fs = std::filesystem;

constexpr char kVersionKey[] = "nibble.checkpoint";
constexpr char kVersionOfFile[] = "1";
constexpr char kKindKey[] = "kind";
constexpr char kHashKey[] = "hash";
constexpr std::string_view kMatchPrefix = "match.";
constexpr std::string_view kWordPrefix = "word.";

Words with_prefix(const SafetensorsMetadata& metadata, std::string_view prefix) {
  Words words;
  for (const auto& [key, value] : metadata) {
    if (key.starts_with(prefix)) words[key.substr(prefix.size())] = value;
  }
  return words;
}

std::string field_of(const SafetensorsMetadata& metadata, const char* key, const fs::path& path) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) {
    throw Error("checkpoint", path.string() + ": " + key, "none", "a checkpoint of nibble",
                ErrorKind::input);
  }
  return found->second;
}

void check_field(const fs::path& path, const std::string& field, const std::string* got,
                 const std::string* expected) {
  if (got != nullptr && expected != nullptr && *got == *expected) return;
  throw Error("checkpoint", path.string() + " is of another run: " + field,
              got != nullptr ? in_quotes(*got) : "none",
              expected != nullptr ? in_quotes(*expected) : "none", ErrorKind::input);
}

// Gives the fields that could not be compared.
std::vector<std::string> check_identity(const fs::path& path, const SafetensorsMetadata& metadata,
                                        const CheckpointIdentity& identity) {
  const std::string kind = field_of(metadata, kKindKey, path);
  check_field(path, kKindKey, &kind, &identity.kind);
  const Words stored = with_prefix(metadata, kMatchPrefix);
  const auto value_in = [](const Words& words, const std::string& field) {
    const auto found = words.find(field);
    return found == words.end() ? nullptr : &found->second;
  };
  std::vector<std::string> lacking;
  for (const auto& [field, value] : identity.must_match) {
    if (identity.may_lack.contains(field) && !stored.contains(field)) {
      lacking.push_back(field);
    } else {
      check_field(path, field, value_in(stored, field), &value);
    }
  }
  for (const auto& [field, value] : stored) {
    check_field(path, field, &value, value_in(identity.must_match, field));
  }
  return lacking;
}

}  // namespace

const Tensor& Checkpoint::tensor(const std::string& name, DType dtype, const Shape& shape) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const NamedTensor& named) { return named.name == name; });
  if (found == tensors.end())
    throw Error("checkpoint", "tensor " + name, "none", "one", ErrorKind::input);
  const Tensor& tensor = found->tensor;
  if (tensor.dtype() != dtype || tensor.shape() != shape) {
    const auto text = [](DType type, const Shape& extents) {
      return std::string(name_of(type)) + " " + extents.to_string();
    };
    throw Error("checkpoint", "tensor " + name, text(tensor.dtype(), tensor.shape()),
                text(dtype, shape), ErrorKind::input);
  }
  return tensor;
}

void save_checkpoint(const fs::path& path, const CheckpointIdentity& identity, const Words& words,
                     std::span<const NamedTensorView> tensors) {
  SafetensorsMetadata metadata{{kVersionKey, kVersionOfFile}, {kKindKey, identity.kind}};
  for (const auto& [field, value] : identity.must_match) {
    metadata[std::string(kMatchPrefix) + field] = value;
  }
  for (const auto& [name, value] : words) metadata[std::string(kWordPrefix) + name] = value;
  metadata[kHashKey] = content_hash(metadata, {tensors.begin(), tensors.end()}, kHashKey);
  write_safetensors(path, metadata, tensors);
}

Checkpoint load_checkpoint(const fs::path& path, const CheckpointIdentity& identity) {
  Safetensors file = read_safetensors(path);
  const std::string version = field_of(file.metadata, kVersionKey, path);
  if (version != kVersionOfFile) {
    throw Error("checkpoint", path.string() + ": " + kVersionKey, in_quotes(version),
                in_quotes(kVersionOfFile), ErrorKind::input);
  }
  const std::string stored_hash = field_of(file.metadata, kHashKey, path);
  const std::string hash = content_hash(file.metadata, views_of(file.tensors), kHashKey);
  if (hash != stored_hash) {
    throw Error("checkpoint", path.string() + " is damaged: hash", hash, stored_hash,
                ErrorKind::input);
  }
  std::vector<std::string> lacking = check_identity(path, file.metadata, identity);
  return {.words = with_prefix(file.metadata, kWordPrefix),
          .tensors = std::move(file.tensors),
          .lacking = std::move(lacking)};
}

std::string digest_of(std::string_view text) {
  return hex(hash_of(std::as_bytes(std::span(text))));
}

}  // namespace nibble::inline run_folder
