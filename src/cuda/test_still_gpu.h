// SPDX-License-Identifier: Apache-2.0
// A GPU of tests on which nothing runs: it counts memory, launches and waits, so that what the host
// asks of a GPU can be looked at without one. A program has it in the place of CUDA's runtime by
// nibble_use_still_gpu (cmake/NibbleHelpers.cmake).
#pragma once

#include <cstddef>
#include <functional>

namespace nibble::still_gpu {

struct Counts {
  std::size_t allocated = 0;   // bytes, now
  std::size_t launches = 0;    // of kernels, outside of graphs
  std::size_t replays = 0;     // of graphs
  std::size_t recorded = 0;    // kernels of the graph that was recorded last
  std::size_t recordings = 0;  // graphs that were made
  std::size_t uploads = 0;     // of graphs, ahead of replays
  std::size_t graphs = 0;      // that are there now
  std::size_t captures = 0;    // that have begun and not ended
  std::size_t captured = 0;    // what captures gave, and is there now
  std::size_t waits = 0;       // of the host: for a stream, an event, or a copy of unpinned memory
  std::size_t sent = 0;        // bytes of the host, to the GPU
};
Counts counts();

inline constexpr std::size_t kMemory = std::size_t{139} << 30;  // of an H200
void set_memory(std::size_t bytes = kMemory);                   // from now on

inline constexpr std::size_t kManyGraphs = std::size_t{1} << 20;
void set_most_graphs(std::size_t count = kManyGraphs);  // at a time, from now on

// From now on so many calls succeed, and all after them fail, until fail_no_more().
enum class Call { make_graph, copy, launch };
void fail_after(Call call, std::size_t successes);
void fail_no_more();

// Called by whoever waits for a stream, or has made a graph, from now on.
void on_wait(std::function<void()> call);
void on_graph(std::function<void()> call);

}  // namespace nibble::still_gpu
