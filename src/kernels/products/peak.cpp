// SPDX-License-Identifier: Apache-2.0
// Which registers to multiply.
#include "kernels/products/peak.h"

#include <chrono>
#include <numeric>
#include <vector>

#include "nibble/core/parallel.h"

namespace nibble::inline kernels {

std::int64_t run_peak(Isa isa) {
#ifdef __x86_64__
  if (isa == Isa::avx512vnni) return avx512vnni::run_peak(100'000);
  if (isa == Isa::amx) return amx::run_peak(20'000);
#endif
  static_cast<void>(isa);
  return 0;
}

double peak_of_threads(Isa isa) {
  using Clock = std::chrono::steady_clock;
  const auto threads = static_cast<std::size_t>(thread_count());
  std::vector<double> speeds(threads);
  parallel_for(threads, 1, [&](std::size_t k, std::size_t) {
    const auto start = Clock::now();
    const std::int64_t operations = run_peak(isa);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    speeds[k] = static_cast<double>(operations) / seconds;
  });
  return std::accumulate(speeds.begin(), speeds.end(), 0.0);
}

}  // namespace nibble::inline kernels
