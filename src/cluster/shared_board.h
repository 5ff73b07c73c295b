// SPDX-License-Identifier: Apache-2.0
// Sums and maxima over ranks that share memory: each rank writes what it has, adds up its share of
// all, and reads the shares of the others. Nothing passes through a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

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
  void broadcast(std::span<std::byte> bytes, int root);
  void meet();  // what was written before it is read after it

  // As max, in two parts: others are waited for in the second. Between them nothing else is called.
  void start_max(std::span<std::int64_t> values);
  void finish_max();

  // As sum, in buckets: waits for others only where a bucket is full. Values are those of all ranks
  // after finish(), and stay where they are until then.
  void start_sum(std::span<std::int32_t> values);
  void start_sum(std::span<std::int64_t> values);
  void finish();

 private:
  enum class Join : std::uint8_t { sum32, sum64, max64 };

  // Numbers of this rank that lie in the bucket.
  struct Piece {
    std::byte* values;
    std::size_t offset;  // bytes in the bucket
    std::size_t bytes;
    Join join;
  };

  template <class Number>
  void join(std::span<Number> values, Join join);
  template <class Number>
  void start(std::span<Number> values, Join join);
  void arrive();
  void await_all() const;
  void start_few(std::span<std::byte> values);
  void finish_few(std::span<std::byte> values, Join join);
  static void join_with(Join join, std::byte* own, const std::byte* theirs, std::size_t bytes);
  void add_share(const Piece& piece) const;
  void copy_others(const Piece& piece, const std::byte* from, std::byte* to) const;
  std::size_t border(const Piece& piece, int rank) const;  // where the share of a rank begins

  std::byte* bucket(int rank) const;  // what a rank has
  std::byte* few_entry(int rank) const;
  std::byte* result() const;

  std::byte* memory_;
  int rank_;
  int ranks_;
  std::uint32_t meetings_ = 0;
  std::span<std::int64_t> maxima_;  // started, not finished
  std::vector<Piece> pieces_;       // started, not finished
  std::size_t used_ = 0;            // of the bucket
};

}  // namespace nibble::inline cluster
