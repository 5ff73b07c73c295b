// SPDX-License-Identifier: Apache-2.0
// Unpacks what deflate packed: gzip data piece by piece, so that the reader decides how much it
// takes, and entries of zip archives whole.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace nibble::inline data {

inline bool is_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1F} && bytes[1] == std::byte{0x8B};
}

class Gunzip {
 public:
  // Borrows the bytes; `name` is used in errors.
  Gunzip(std::span<const std::byte> bytes, const std::string& name);
  ~Gunzip();
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  // Fills `out`; fewer bytes than asked for mean the end, and that its checksum was right. Throws
  // when the packed data is broken or cut short, or gives more than the limit 'inflation' allows.
  // Members one after the other are one stream.
  std::size_t read(std::span<std::byte> out);

  // How many bytes all calls of read may give.
  std::size_t most() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Throws unless all of `packed` is one stream of exactly `size` bytes. Memory grows with what
// arrives; `name` is used in errors.
std::vector<std::byte> inflate_all(std::span<const std::byte> packed, std::size_t size,
                                   const std::string& name);

}  // namespace nibble::inline data
