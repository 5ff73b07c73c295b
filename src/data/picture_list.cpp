// SPDX-License-Identifier: Apache-2.0
// Names in one piece of memory, bytes from disk when they are asked for.
#include "data/picture_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/hash.h"
#include "data/file_bytes.h"
#include "nibble/core/limits.h"

namespace nibble::inline data {
namespace {

constexpr std::string_view kOp = "read_picture";

}  // namespace

std::uint32_t PictureList::add_place(const std::filesystem::path& folder_or_archive) {
  places_.push_back(folder_or_archive.string());
  return static_cast<std::uint32_t>(places_.size() - 1);
}

void PictureList::add(Entry entry, std::string_view name) {
  entry.name_at = names_.size();
  entry.name_size = static_cast<std::uint32_t>(name.size());
  names_ += name;
  entries_.push_back(entry);
}

void PictureList::add(std::uint32_t folder, std::string_view name, std::int32_t label) {
  add(Entry{.place = folder, .label = label}, name);
}

void PictureList::add_member(std::uint32_t archive, std::string_view name, std::int32_t label,
                             std::uint64_t offset, std::uint64_t bytes) {
  add(Entry{.offset = offset, .bytes = bytes, .place = archive, .label = label, .is_member = true},
      name);
}

std::string_view PictureList::file_name(std::size_t index) const {
  const Entry& entry = entries_[index];
  return std::string_view(names_).substr(entry.name_at, entry.name_size);
}

std::string PictureList::name(std::size_t index) const {
  const Entry& entry = entries_[index];
  if (!entry.is_member) return path_of(entry).string();
  return fmt::format("{}: {}", places_[entry.place], file_name(index));
}

std::filesystem::path PictureList::path_of(const Entry& entry) const {
  const std::filesystem::path place(places_[entry.place]);
  return entry.is_member ? place : place / names_.substr(entry.name_at, entry.name_size);
}

std::vector<std::byte> PictureList::bytes(std::size_t index) const {
  const Entry& entry = entries_[index];
  if (!entry.is_member) return read_file_bytes(path_of(entry), kOp);
  check_limit("memory", static_cast<std::int64_t>(entry.bytes), kOp, "bytes of " + name(index));
  return head(index, static_cast<std::size_t>(entry.bytes));
}

std::vector<std::byte> PictureList::head(std::size_t index, std::size_t most) const {
  const Entry& entry = entries_[index];
  const std::filesystem::path path = path_of(entry);
  if (!entry.is_member) return read_file_head(path, most, kOp);
  std::vector<std::byte> bytes(std::min<std::size_t>(static_cast<std::size_t>(entry.bytes), most));
  FileReader(path, kOp).read(entry.offset, bytes);
  return bytes;
}

PictureList PictureList::chosen(std::span<const std::int32_t> indices) const {
  PictureList part;
  part.places_ = places_;
  for (const std::int32_t each : indices) {
    const auto index = static_cast<std::size_t>(each);
    part.add(entries_[index], file_name(index));
  }
  return part;
}

std::uint64_t PictureList::hash() const {
  Hasher hasher;
  for (std::size_t i = 0; i < size(); ++i) {
    const Entry& entry = entries_[i];
    const std::uint64_t bytes = entry.is_member ? entry.bytes : file_size_of(path_of(entry), kOp);
    const std::string folder = std::filesystem::path(places_[entry.place]).filename().string();
    hasher.add(folder);
    hasher.add(file_name(i));
    const std::array<std::uint64_t, 2> numbers = {bytes, static_cast<std::uint64_t>(entry.label)};
    hasher.add(std::span<const std::uint64_t>(numbers));
  }
  return hasher.value();
}

}  // namespace nibble::inline data
