// SPDX-License-Identifier: Apache-2.0
// Counts with threads that do not take turns, in a loop of parallel_for or by a team, which
// ThreadSanitizer has to report; with "none" each counts for itself, and it has to be silent.
#include <array>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "engine/cpu/thread_team.h"
#include "nibble/core/parallel.h"

namespace {

constexpr int kThreads = 4;
constexpr std::int64_t kTasks = 1000;

}  // namespace

int main(int argc, char** argv) {
  const std::string_view where = argc > 1 ? argv[1] : "none";
  nibble::set_thread_count(kThreads);
  nibble::ThreadTeam team(kThreads);
  std::array<std::int64_t, kTasks> own{};
  std::int64_t shared = 0;
  nibble::parallel_for(kTasks, 1, [&](std::size_t begin, std::size_t) {
    own[begin] = 1;
    if (where == "parallel_for") ++shared;
  });
  for (int round = 0; round < 100; ++round) {
    team.run(kTasks, [&](int, std::int64_t task) {
      ++own[static_cast<std::size_t>(task)];
      if (where == "team") ++shared;
    });
  }
  for (const std::int64_t each : own) shared += each;
  std::printf("%s: %lld\n", where.data(), static_cast<long long>(shared));
  return 0;
}
