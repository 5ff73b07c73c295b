// SPDX-License-Identifier: Apache-2.0
// A batch that is run in parts, one after the other, because memory holds no more: the parts meet
// as ranks do, and the numbers are those of one batch.
//
//   BatchParts parts(cluster);
//   do {
//     for (each part) { parts.begin_part(); … a forward pass with .cluster = &parts … }
//   } while (!parts.end_pass());
//
// A rank waits for the others where sums or maxima meet; a part cannot wait for those that come
// after it. It goes on with what all parts together had in the pass before. A pass in which every
// meeting gives what was believed of it is the one batch: the first meeting does not depend on
// beliefs, the next one only on the first, and so on. So each pass settles one meeting more at
// least: of shifts, which seldom differ between parts, all at once; of statistics one batch norm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nibble/cluster/communicator.h"

namespace nibble::inline integer_step {

class BatchParts final : public Communicator {
 public:
  // `ranks`: those that share the batch, each with parts of its own share; null: alone.
  explicit BatchParts(Communicator* ranks) : ranks_(ranks) {}

  void begin_part() { next_ = 0; }
  bool end_pass();  // whether all is settled: the last part's numbers are those of one batch

  int rank() const override { return ranks_ == nullptr ? 0 : ranks_->rank(); }
  int size() const override { return ranks_ == nullptr ? 1 : ranks_->size(); }
  void sum(std::span<std::int32_t> values) override;
  void sum(std::span<std::int64_t> values) override;
  void max(std::span<std::int64_t> values) override;
  void broadcast(std::span<std::byte> bytes, int root) override;
  void barrier() override {}

 private:
  enum class Join : std::uint8_t { sum, max };

  struct Meeting {
    Join join = Join::sum;
    std::vector<std::int64_t> believed = {};  // of all parts; empty in the first pass
    std::vector<std::int64_t> found = {};     // of the parts of this pass so far
  };

  Meeting& meet(std::span<const std::int64_t> values, Join join);

  Communicator* ranks_;
  std::vector<Meeting> meetings_;  // in the order of a forward pass
  std::size_t next_ = 0;
};

}  // namespace nibble::inline integer_step
