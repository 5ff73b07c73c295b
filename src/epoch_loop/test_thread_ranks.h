// SPDX-License-Identifier: Apache-2.0
// Ranks that are threads of one process, for tests.
#pragma once

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include "nibble/cluster/communicator.h"

namespace nibble::inline epoch_loop {

// What the ranks share.
class Assembly {
 public:
  explicit Assembly(int size) : given_(static_cast<std::size_t>(size)), barrier_(size) {}

  int size() const { return static_cast<int>(given_.size()); }
  void wait() { barrier_.arrive_and_wait(); }

  // Every rank reads what all have given, before any of them goes on.
  template <class Read>
  void exchange(int rank, std::span<const std::byte> bytes, const Read& read) {
    given_[static_cast<std::size_t>(rank)].assign(bytes.begin(), bytes.end());
    wait();
    for (const std::vector<std::byte>& each : given_) read(each);
    wait();
  }

 private:
  std::vector<std::vector<std::byte>> given_;
  std::barrier<> barrier_;
};

class ThreadRank final : public Communicator {
 public:
  ThreadRank(int rank, Assembly& meeting) : rank_(rank), meeting_(meeting) {}

  int rank() const override { return rank_; }
  int size() const override { return meeting_.size(); }
  void sum(std::span<std::int32_t> values) override { fold(values, std::plus<>()); }
  void sum(std::span<std::int64_t> values) override { fold(values, std::plus<>()); }
  void max(std::span<std::int64_t> values) override {
    fold(values, [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
  }
  void broadcast(std::span<std::byte> bytes, int root) override {
    int next = 0;
    const std::vector<std::byte> own(bytes.begin(), bytes.end());
    meeting_.exchange(rank_, own, [&](const std::vector<std::byte>& each) {
      if (next++ == root) std::ranges::copy(each, bytes.begin());
    });
  }
  void barrier() override { meeting_.wait(); }

 private:
  template <class T, class Combine>
  void fold(std::span<T> values, const Combine& combine) {
    bool is_first = true;
    const std::vector<T> own(values.begin(), values.end());
    meeting_.exchange(rank_, std::as_bytes(std::span(own)),
                      [&](const std::vector<std::byte>& each) {
                        for (std::size_t i = 0; i < values.size(); ++i) {
                          T value;
                          std::memcpy(&value, each.data() + i * sizeof(T), sizeof(T));
                          values[i] = is_first ? value : combine(values[i], value);
                        }
                        is_first = false;
                      });
  }

  int rank_;
  Assembly& meeting_;
};

}  // namespace nibble::inline epoch_loop
