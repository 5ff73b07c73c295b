// SPDX-License-Identifier: Apache-2.0
// A GPU of tests on which nothing runs: it counts memory and launches, so that what the host asks
// of a GPU can be looked at without one. A program that links test_still_gpu.cpp has it in the
// place of CUDA's runtime (CMakeLists.txt: still_gpu_test).
#pragma once

#include <cstddef>

namespace nibble::still_gpu {

struct Counts {
  std::size_t allocated = 0;  // bytes, now
  std::size_t launches = 0;   // of kernels, outside of graphs
  std::size_t replays = 0;    // of graphs
  std::size_t recorded = 0;   // kernels of the graph that was recorded last
};
Counts counts();

}  // namespace nibble::still_gpu
