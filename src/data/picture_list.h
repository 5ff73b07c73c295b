// SPDX-License-Identifier: Apache-2.0
// Which pictures a data set has and where their bytes lie: files of folders, or members of tar
// archives. Some 60 bytes a picture, so that millions of them take little memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nibble::inline data {

class PictureList {
 public:
  static constexpr std::int32_t kNoLabel = -1;

  // The number of a folder, or of an archive, that add and add_member take.
  std::uint32_t add_place(const std::filesystem::path& folder_or_archive);
  void add(std::uint32_t folder, std::string_view name, std::int32_t label);
  void add_member(std::uint32_t archive, std::string_view name, std::int32_t label,
                  std::uint64_t offset, std::uint64_t bytes);

  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  std::int32_t label(std::size_t index) const { return entries_[index].label; }
  void set_label(std::size_t index, std::int32_t label) { entries_[index].label = label; }
  std::string name(std::size_t index) const;            // a path, or "ARCHIVE: MEMBER"
  std::string_view file_name(std::size_t index) const;  // as it was added

  std::vector<std::byte> bytes(std::size_t index) const;
  // The first bytes, at most `most`.
  std::vector<std::byte> head(std::size_t index, std::size_t most) const;

  PictureList chosen(std::span<const std::int32_t> indices) const;

  // Of names, sizes and labels, as they are on disk now.
  std::uint64_t hash() const;

 private:
  struct Entry {
    std::uint64_t name_at = 0;  // in names_
    std::uint64_t offset = 0;   // of a member
    std::uint64_t bytes = 0;    // of a member
    std::uint32_t name_size = 0;
    std::uint32_t place = 0;
    std::int32_t label = kNoLabel;
    bool is_member = false;
  };

  void add(Entry entry, std::string_view name);
  std::filesystem::path path_of(const Entry& entry) const;

  std::vector<std::string> places_;
  std::string names_;
  std::vector<Entry> entries_;
};

}  // namespace nibble::inline data
