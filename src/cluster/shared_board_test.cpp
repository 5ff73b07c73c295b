// SPDX-License-Identifier: Apache-2.0
// Ranks as threads over one piece of memory.
#include "cluster/shared_board.h"

#include <gtest/gtest.h>

#include <span>
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

// Sums that end together, some of which fill buckets of their own, with maxima between them.
void run_late_sums(SharedBoard board, int rank, int ranks) {
  constexpr std::size_t kLateSizes[] = {3, 100, 40'000, 1'500'000, 0, 7};
  std::vector<std::vector<std::int32_t>> narrow;
  std::vector<std::vector<std::int64_t>> wide;
  for (const std::size_t size : kLateSizes) {
    narrow.push_back(numbers_at<std::int32_t>(rank, size, 1));
    wide.push_back(numbers_at<std::int64_t>(rank, size, 2));
  }
  for (std::size_t i = 0; i < narrow.size(); ++i) {
    board.start_sum(narrow[i]);
    board.start_sum(wide[i]);
    std::int64_t largest[] = {rank, -rank};
    board.start_max(largest);
    ASSERT_EQ(largest[0], rank) << "before it is finished";
    board.finish_max();
    ASSERT_EQ(largest[0], ranks - 1);
    ASSERT_EQ(largest[1], 0);
  }
  board.finish();
  for (std::size_t i = 0; i < narrow.size(); ++i) {
    for (std::size_t k = 0; k < narrow[i].size(); ++k) {
      std::int64_t sums[] = {0, 0};
      for (int r = 0; r < ranks; ++r) {
        sums[0] += number_at(r, k, 1);
        sums[1] += number_at(r, k, 2);
      }
      ASSERT_EQ(narrow[i][k], sums[0]) << k << " of " << i;
      ASSERT_EQ(wide[i][k], sums[1]) << k << " of " << i;
    }
  }
}

void run_broadcasts(SharedBoard board, int rank, int ranks) {
  for (int root = 0; root < ranks; ++root) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{5}, std::size_t{700'000}}) {
      auto values = numbers_at<std::int64_t>(rank, size, root);
      board.broadcast(std::as_writable_bytes(std::span(values)), root);
      ASSERT_EQ(values, numbers_at<std::int64_t>(root, size, root));
    }
  }
}

template <class Run>
void run_all(int ranks, const Run& run) {
  std::vector<BoardLine> memory(SharedBoard::bytes_for(ranks) / sizeof(BoardLine) + 1);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back(
        [&, rank] { run(SharedBoard(memory[0].bytes, rank, ranks), rank, ranks); });
  for (std::thread& thread : threads) thread.join();
}

TEST(SharedBoard, GivesAllRanksWhatAllHave) {
  for (const int ranks : {1, 2, 3, 5}) run_all(ranks, run_rank);
}

TEST(SharedBoard, AddsUpWhileRanksGoOn) {
  for (const int ranks : {1, 2, 3}) run_all(ranks, run_late_sums);
}

TEST(SharedBoard, GivesAllRanksWhatOneHas) {
  for (const int ranks : {1, 2, 3}) run_all(ranks, run_broadcasts);
}

}  // namespace
}  // namespace nibble::inline cluster
