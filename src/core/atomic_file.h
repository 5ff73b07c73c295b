// SPDX-License-Identifier: Apache-2.0
// A file that appears whole or not at all: written beside its target, then renamed over it.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <memory>

namespace nibble::inline core {

class AtomicFile {
 public:
  // Creates the temporary file. Devices and pipes cannot be renamed over and are written in place.
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();  // without commit the temporary file goes and the old one stays
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  std::ostream& stream();

  // Writes what is buffered, syncs and renames; throws when any write since the start has failed.
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Refuses a path that cannot be written, before hours of work. Leaves nothing.
void check_writable(const std::filesystem::path& path);

}  // namespace nibble::inline core
