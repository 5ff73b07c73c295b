// SPDX-License-Identifier: Apache-2.0
// Ranks as threads over one piece of memory.
#include "cluster/shared_board.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace nibble::inline cluster {
namespace {

constexpr std::size_t kSizes[] = {0, 1, 3, 128, 129, 1000, 131072, 131073, 300001, 2};

struct alignas(64) BoardLine {
  std::byte bytes[64] = {};
};

// What number i of a call is at a rank.
std::int64_t number_at(int rank, std::size_t i, int call) {
  return (static_cast<std::int64_t>(i) * 7919 + rank * 104729 + call * 31) % 2000003 - 1000001;
}

template <class Number>
std::vector<Number> numbers_at(int rank, std::size_t size, int call) {
  std::vector<Number> numbers(size);
  for (std::size_t i = 0; i < size; ++i) numbers[i] = static_cast<Number>(number_at(rank, i, call));
  return numbers;
}

void run_rank(SharedBoard board, int rank, int ranks) {
  int call = 0;
  for (int round = 0; round < 3; ++round) {
    for (const std::size_t size : kSizes) {
      auto narrow = numbers_at<std::int32_t>(rank, size, call);
      auto wide = numbers_at<std::int64_t>(rank, size, call);
      auto largest = wide;
      board.sum(narrow);
      board.sum(wide);
      board.max(largest);
      for (std::size_t i = 0; i < size; ++i) {
        std::int64_t sum = 0;
        std::int64_t most = INT64_MIN;
        for (int r = 0; r < ranks; ++r) {
          sum += number_at(r, i, call);
          most = std::max(most, number_at(r, i, call));
        }
        ASSERT_EQ(narrow[i], sum) << i << " of " << size;
        ASSERT_EQ(wide[i], sum) << i << " of " << size;
        ASSERT_EQ(largest[i], most) << i << " of " << size;
      }
      ++call;
    }
  }
}

TEST(SharedBoard, GivesAllRanksWhatAllHave) {
  for (const int ranks : {1, 2, 3, 5}) {
    std::vector<BoardLine> memory(SharedBoard::bytes_for(ranks) / sizeof(BoardLine) + 1);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back(
          [&, rank] { run_rank(SharedBoard(memory[0].bytes, rank, ranks), rank, ranks); });
    for (std::thread& thread : threads) thread.join();
  }
}

}  // namespace
}  // namespace nibble::inline cluster
