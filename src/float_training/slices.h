// SPDX-License-Identifier: Apache-2.0
// A batch cut into slices that depend on its size alone: each slice is one thread's work, and sums
// over slices are made in their order, so that no result depends on the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

namespace nibble::inline float_training {

struct Slices {
  std::int64_t images = 0;
  std::int64_t size = 1;  // images a slice; the last may be shorter
  bool is_fast = false;   // one slice, and the vendor's library uses all threads

  std::int64_t count() const { return (images + size - 1) / size; }
  std::int64_t begin(std::int64_t slice) const { return slice * size; }
  std::int64_t end(std::int64_t slice) const { return std::min(begin(slice) + size, images); }
};

// The slices of a batch: `batch` is the size that the run asked for, `images` what this one holds.
Slices cut_batch(std::int64_t images, std::int64_t batch, bool is_fast);

// Holds OpenMP, and with it the vendor's library, to a number of threads while it lives.
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int before_;
};

// How many threads one call of the vendor's library may use: all in a fast pass, else one.
int threads_a_call(const Slices& slices);

// Calls body(slice) for all slices, on several threads, the vendor's library held to one thread in
// each; a fast pass runs its one slice with all of them.
void for_each_slice(const Slices& slices, const std::function<void(std::int64_t slice)>& body);

// The same for independent tasks, always one thread each.
void for_each_task(std::int64_t tasks, const std::function<void(std::int64_t task)>& body);

}  // namespace nibble::inline float_training
