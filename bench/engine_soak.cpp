// SPDX-License-Identifier: Apache-2.0
// Batches of mixed sizes from several threads for a long time: every answer must be the one that an
// example has by itself, and memory, the host's and the GPU's, must stay.
//
//   engine_soak MODEL.nib [DEVICE [SECONDS [THREADS]]]
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "core/system_field.h"
#include "nibble/core/error.h"
#include "nibble/core/philox.h"
#include "nibble/engine/cuda_engine.h"
#include "nibble/engine/engine.h"
#include "tasks/random_examples.h"

namespace nibble {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kMostExamples = 48;
constexpr std::int64_t kPlanned = 32;  // larger batches run in pieces
constexpr std::size_t kUnderWay = 4;   // batches of a thread
constexpr double kMostGrowth = 0.02;   // of memory, once all sizes have been there

struct SoakFlags {
  std::string model;
  std::string device = "cpu";
  double seconds = 10;
  int threads = 4;
};

struct HeldMegabytes {
  double resident = 0;   // of this process
  double on_device = 0;  // of all that use the GPU; 0: there is none

  bool has_grown_to(const HeldMegabytes& later) const {
    return later.resident > (1 + kMostGrowth) * resident ||
           later.on_device > (1 + kMostGrowth) * on_device;
  }
};

struct SoakCounts {
  std::atomic<std::int64_t> batches{0};
  std::atomic<std::int64_t> examples{0};
  std::atomic<std::int64_t> wrong{0};  // batches
};

class Soak {
 public:
  explicit Soak(const SoakFlags& flags)
      : engine_(Engine::load(flags.model, {.device = flags.device,
                                           .max_batch = kPlanned,
                                           .threads = flags.device == "cpu" ? 1 : 0,
                                           .lanes = 3})),
        input_(random_examples(engine_.input(), kMostExamples)),
        wanted_(engine_.output().bytes * kMostExamples) {
    for (std::size_t i = 0; i < kMostExamples; ++i) {
      engine_.run(std::span(input_).subspan(i * engine_.input().bytes, engine_.input().bytes), 1,
                  std::span(wanted_).subspan(i * engine_.output().bytes, engine_.output().bytes));
    }
  }

  // Until `end`; thread `number` draws sizes of its own.
  void work(Clock::time_point end, std::uint64_t number) {
    struct Trial {
      std::size_t first = 0;
      std::size_t size = 0;
      std::vector<std::byte> answers = {};
      PendingRun pending = {};
    };
    std::vector<Trial> trials(kUnderWay);
    for (std::size_t i = 0; Clock::now() < end; ++i) {
      Trial& trial = trials[i % kUnderWay];
      if (i >= kUnderWay) check(trial);
      const std::uint32_t dice = draw32({number, 1, 0}, i);
      trial.size = 1 + dice % kMostExamples;
      trial.first = dice / kMostExamples % (kMostExamples - trial.size + 1);
      trial.answers.assign(trial.size * engine_.output().bytes, std::byte{});
      trial.pending = engine_.submit(std::span(input_).subspan(trial.first * engine_.input().bytes,
                                                               trial.size * engine_.input().bytes),
                                     static_cast<std::int64_t>(trial.size), trial.answers);
    }
    for (Trial& trial : trials) {
      if (trial.size > 0) check(trial);
    }
  }

  HeldMegabytes held() const {
    return {std::strtod(system_field("/proc/self/status", "VmRSS", ':').c_str(), nullptr) * 1024e-6,
            1e-6 * static_cast<double>(engine_.device_bytes_in_use())};
  }
  const SoakCounts& counts() const { return counts_; }
  const std::string& name() const { return engine_.name(); }

 private:
  template <class Trial>
  void check(Trial& trial) {
    trial.pending.get();
    const auto wanted =
        wanted_.begin() + static_cast<std::ptrdiff_t>(trial.first * engine_.output().bytes);
    if (!std::equal(trial.answers.begin(), trial.answers.end(), wanted)) ++counts_.wrong;
    ++counts_.batches;
    counts_.examples += static_cast<std::int64_t>(trial.size);
  }

  Engine engine_;
  std::vector<std::byte> input_;
  std::vector<std::byte> wanted_;
  SoakCounts counts_;
};

void run(const SoakFlags& flags) {
  Soak soak(flags);
  const auto begin = Clock::now();
  const auto round = [&](double seconds) {  // of all threads
    std::vector<std::thread> threads;
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(seconds));
    for (int i = 0; i < flags.threads; ++i)
      threads.emplace_back([&, i] { soak.work(end, static_cast<std::uint64_t>(i)); });
    for (std::thread& each : threads) each.join();
  };
  // A while until all sizes have been there and threads have the heaps that they keep.
  round(std::max(std::min(0.2 * flags.seconds, 5.0), 0.05 * flags.seconds));
  const HeldMegabytes before = soak.held();
  round(flags.seconds);
  const HeldMegabytes after = soak.held();
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const SoakCounts& counts = soak.counts();
  fmt::print(
      "{} on {}: {} batches, {} examples of {} threads in {:.0f} s, {} wrong; resident "
      "{:.1f} MB, {:.1f} at the end",
      soak.name(), flags.device, counts.batches.load(), counts.examples.load(), flags.threads,
      seconds, counts.wrong.load(), before.resident, after.resident);
  if (after.on_device > 0)
    fmt::print("; on the device {:.1f} MB, {:.1f} at the end", before.on_device, after.on_device);
  fmt::print("\n");
  if (counts.wrong.load() > 0) throw Error("soak", "answers", "others", "those of single examples");
  if (before.has_grown_to(after))
    throw Error("soak", "memory", "more and more", "as much as before");
}

}  // namespace
}  // namespace nibble

int main(int count, char** arguments) try {
  if (count < 2) {
    fmt::print("engine_soak MODEL.nib [DEVICE [SECONDS [THREADS]]]: no model, nothing run\n");
    return 0;
  }
  nibble::register_cuda_engine();
  nibble::SoakFlags flags{.model = arguments[1]};
  if (count > 2) flags.device = arguments[2];
  if (count > 3) flags.seconds = std::atof(arguments[3]);
  if (count > 4) flags.threads = std::atoi(arguments[4]);
  nibble::run(flags);
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
