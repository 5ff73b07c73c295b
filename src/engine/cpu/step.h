// SPDX-License-Identifier: Apache-2.0
// What the CPU runs one after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "engine/cpu/thread_team.h"

namespace nibble::inline engine {

// The memory of one run.
struct RunFrame {
  std::byte* arena = nullptr;
  std::int64_t batch = 0;
  ThreadTeam& team;
  std::span<std::byte* const> scratch;  // one a worker, as large as the steps asked for
  std::span<std::int64_t> marks;        // one a worker, for a step to note what its scratch holds
};

// Where workers share a step: whoever is through takes tasks of others.
inline constexpr std::int64_t kTasksPerWorker = 4;

class CpuStep {
 public:
  virtual ~CpuStep() = default;
  virtual void run(const RunFrame& frame) const = 0;
  virtual std::string shape() const { return {}; }  // of a product: what its speed depends on
  virtual bool is_wide() const { return false; }    // 64 bits where 32 cannot be proven enough
  virtual std::size_t scratch_bytes() const { return 0; }
  virtual std::size_t weight_bytes() const { return 0; }
};

}  // namespace nibble::inline engine
