// SPDX-License-Identifier: Apache-2.0
// Loops over threads whose chunks depend on the problem alone, never on the number of threads.
#pragma once

#include <cstddef>
#include <functional>

namespace nibble::inline core {

// Calls body(begin, end) for the chunks [k·grain, min((k+1)·grain, count)). Chunk k goes to a
// thread fixed by k and the thread count. The first exception of a chunk is rethrown after all have
// ended.
void parallel_for(std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t begin, std::size_t end)>& body);

// Calls body(task) for the tasks 0 to count - 1, each on the next thread that is free: for work of
// uneven size whose results do not depend on where it runs. Exceptions as above.
void parallel_tasks(std::size_t count, const std::function<void(std::size_t task)>& body);

constexpr int kMostThreads = 1024;

// What parallel_for uses: set_thread_count, else OMP_NUM_THREADS, else all cores; at most
// kMostThreads.
int thread_count();
void set_thread_count(int threads);  // 0: back to the default

// Throws Error where the system does not let this process start a team of so many threads, the
// calling one included: the runtimes of OpenMP would end the process. Loops ask by themselves;
// whoever lets another library start a team asks first.
void require_threads(int threads);

}  // namespace nibble::inline core
