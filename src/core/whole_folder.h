// SPDX-License-Identifier: Apache-2.0
// A folder whose files appear together or not at all: written under another name, then renamed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/temporary.h"

namespace nibble::inline core {

enum class ExistingFiles : std::uint8_t {
  refused,  // a place where something is, but for an empty folder
  kept,     // those of the same names are replaced
};

class WholeFolder {
 public:
  WholeFolder(const std::filesystem::path& target, ExistingFiles existing);
  ~WholeFolder();  // without commit nothing has happened
  WholeFolder(const WholeFolder&) = delete;
  WholeFolder& operator=(const WholeFolder&) = delete;

  // Where the files are to be written.
  const std::filesystem::path& path() const { return temporary_->path(); }

  // A new file; its name may begin with folders. Synced by commit.
  void write(const std::string& name, std::string_view bytes) const;

  void commit();

 private:
  void move_files() const;

  std::filesystem::path target_;
  bool is_there_;
  std::filesystem::path made_;  // the first folder above the target that was missing; may be empty
  std::optional<Temporary> temporary_;
};

}  // namespace nibble::inline core
