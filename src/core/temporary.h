// SPDX-License-Identifier: Apache-2.0
// A file or folder under a temporary name: it goes away unless it gets its name, whatever ends the
// process, and what a killed process left is found and swept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace nibble::inline core {

class Temporary {
 public:
  enum class Kind : std::uint8_t { file, folder };

  // .nibble-PROCESS-NUMBER.tmp in the folder; an error names the target. It is locked while this
  // object lives: what nobody holds has lost its writer. The first in a folder sweeps it.
  Temporary(const std::filesystem::path& folder, Kind kind, const std::filesystem::path& target);
  ~Temporary();  // removes what was not renamed
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  const std::filesystem::path& path() const { return path_; }
  int descriptor() const { return descriptor_; }  // of a file to write; -1 after rename_to

  // Closes the descriptor, renames and syncs the folder that holds the target.
  void rename_to(const std::filesystem::path& target);

 private:
  bool take_lock() const;

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::size_t place_;  // in the list of what remove_temporaries removes
};

// Removes temporaries whose writer is gone. Those of other users and what cannot be locked stay.
void sweep_temporaries(const std::filesystem::path& folder);

// Removes those of this process. Only calls that POSIX allows in a signal handler.
void remove_temporaries();

// Devices, pipes and some file systems have nothing to sync, which is no error.
void sync_descriptor(int descriptor, const std::filesystem::path& path);
void sync_folder(const std::filesystem::path& folder);  // its entries, after a rename

// "[write] cannot ACTION PATH: REASON"
[[noreturn]] void fail_write(const char* action, const std::filesystem::path& path, int code);

}  // namespace nibble::inline core
