// SPDX-License-Identifier: Apache-2.0
// The communicator of ranks that share memory.
#pragma once

#include "cluster/local.h"
#include "cluster/shared_board.h"
#include "nibble/cluster/communicator.h"

namespace nibble::inline cluster {

class BoardCommunicator final : public Communicator {
 public:
  // As SharedBoard's.
  BoardCommunicator(std::byte* memory, int rank, int ranks)
      : board_(memory, rank, ranks), rank_(rank), ranks_(ranks) {}

  int rank() const override { return rank_; }
  int size() const override { return ranks_; }
  void sum(std::span<std::int32_t> values) override { board_.sum(values); }
  void sum(std::span<std::int64_t> values) override { board_.sum(values); }
  void max(std::span<std::int64_t> values) override { board_.max(values); }
  void start_max(std::span<std::int64_t> values) override { board_.start_max(values); }
  void finish_max() override { board_.finish_max(); }
  void start_sum(std::span<std::int32_t> values) override { board_.start_sum(values); }
  void start_sum(std::span<std::int64_t> values) override { board_.start_sum(values); }
  void finish_sums() override { board_.finish(); }
  void broadcast(std::span<std::byte> bytes, int root) override {
    check_root(root, ranks_);
    board_.broadcast(bytes, root);
  }
  void barrier() override { board_.meet(); }

 private:
  SharedBoard board_;
  int rank_;
  int ranks_;
};

}  // namespace nibble::inline cluster
