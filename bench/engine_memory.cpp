// SPDX-License-Identifier: Apache-2.0
// What a program that links the engine alone needs: the time to load a model, and resident memory
// after one run at batch 1 beside weights, values and the 20 MB that it may have on top.
//
//   engine_memory MODEL.nib [THREADS]
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "bench/stopwatch.h"
#include "core/system_field.h"
#include "nibble/engine/engine.h"

namespace nibble {
namespace {

constexpr double kMega = 1e6;
constexpr double kRest = 20;  // MB

// A line of /proc/self/status, in MB.
double resident(const std::string& key) {
  const std::string kibibytes = system_field("/proc/self/status", key, ':');
  return std::strtod(kibibytes.c_str(), nullptr) * 1024 / kMega;
}

void measure(const std::string& path, int threads) {
  std::optional<Engine> engine;
  const std::clock_t before = std::clock();
  const double seconds =
      seconds_of([&] { engine.emplace(Engine::load(path, {.threads = threads})); });
  const double busy = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  std::vector<std::byte> input(engine->input().bytes), output(engine->output().bytes);
  engine->run(input, 1, output);
  const double weights = static_cast<double>(engine->weight_bytes()) / kMega;
  const double arena = static_cast<double>(engine->arena_bytes()) / kMega;
  fmt::print("{}: loaded in {:.0f} ms, {:.0f} of processor time, {} threads\n", engine->name(),
             seconds * 1e3, busy * 1e3, threads);
  fmt::print("resident {:.1f} MB (at most {:.1f} on the way), weights {:.2f}, values {:.2f}, ",
             resident("VmRSS"), resident("VmHWM"), weights, arena);
  fmt::print("limit {:.1f}; an input has {} bytes\n", weights + arena + kRest,
             engine->input().bytes);
}

}  // namespace
}  // namespace nibble

int main(int count, char** arguments) try {
  if (count < 2) {
    fmt::print("engine_memory MODEL.nib [THREADS]: no model, nothing measured\n");
    return 0;
  }
  nibble::measure(arguments[1], count > 2 ? std::atoi(arguments[2]) : 1);
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
