// SPDX-License-Identifier: Apache-2.0
// A batch cut into slices that depend on its size alone.
#include "float_training/slices.h"

#include <omp.h>

#include <cstddef>

#include "nibble/core/parallel.h"

namespace nibble::inline float_training {
namespace {

// Enough for the cores of most machines; more would make the sums over slices costly.
constexpr std::int64_t kSlices = 16;

}  // namespace

Slices cut_batch(std::int64_t images, std::int64_t batch, bool is_fast) {
  const std::int64_t size = is_fast ? images : (batch + kSlices - 1) / kSlices;
  return {.images = images, .size = std::max<std::int64_t>(size, 1), .is_fast = is_fast};
}

ThreadLimit::ThreadLimit(int threads) : before_(omp_get_max_threads()) {
  omp_set_num_threads(threads);
}

ThreadLimit::~ThreadLimit() {
  omp_set_num_threads(before_);
}

int threads_a_call(const Slices& slices) {
  return slices.is_fast ? thread_count() : 1;
}

void for_each_slice(const Slices& slices, const std::function<void(std::int64_t slice)>& body) {
  if (!slices.is_fast) return for_each_task(slices.count(), body);
  require_threads(thread_count());
  const ThreadLimit all(thread_count());
  for (std::int64_t slice = 0; slice < slices.count(); ++slice) body(slice);
}

void for_each_task(std::int64_t tasks, const std::function<void(std::int64_t task)>& body) {
  parallel_tasks(static_cast<std::size_t>(tasks), [&](std::size_t task) {
    const ThreadLimit one(1);
    body(static_cast<std::int64_t>(task));
  });
}

}  // namespace nibble::inline float_training
