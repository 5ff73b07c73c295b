// SPDX-License-Identifier: Apache-2.0
// Sums and maxima over ranks that share memory: each rank writes what it has, adds up its share of
// all, and reads the shares of the others. Nothing passes through a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace nibble::inline cluster {

class SharedBoard {
 public:
  // Bytes that ranks share, zero at first.
  static std::size_t bytes_for(int ranks);

  // `memory` is the same for all ranks, aligned to 64 bytes.
  SharedBoard(std::byte* memory, int rank, int ranks);

  void sum(std::span<std::int32_t> values);
  void sum(std::span<std::int64_t> values);
  void max(std::span<std::int64_t> values);

 private:
  template <class Number, class Join>
  void reduce(std::span<Number> values, const Join& join);
  template <class Number, class Join>
  void reduce_piece(std::span<Number> values, const Join& join);
  template <class Number, class Join>
  void reduce_few(std::span<Number> values, const Join& join);
  void meet();

  std::byte* entry(int rank) const;  // what a rank has
  std::byte* few_entry(int rank) const;
  std::byte* result() const;

  std::byte* memory_;
  int rank_;
  int ranks_;
  std::uint32_t meetings_ = 0;
};

}  // namespace nibble::inline cluster
