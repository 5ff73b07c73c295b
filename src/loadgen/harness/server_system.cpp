// SPDX-License-Identifier: Apache-2.0
// Dynamic batches: whoever brings a sample, frees a lane or sees that the time is over begins the
// next batch.
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "loadgen/harness/short_slices.h"
#include "loadgen/harness/systems.h"
#include "loadgen/harness/waiting_samples.h"

namespace nibble::inline loadgen {
namespace {

class ServerSystem final : public mlperf::SystemUnderTest {
 public:
  explicit ServerSystem(const SystemParts& parts) : parts_(parts), waiting_(parts_.plan) {
    parts_.runner.on_free([this] {
      const std::lock_guard lock(mutex_);
      begin_batches();
    });
    if (parts_.plan.longest_wait.count() > 0) clock_ = std::thread([this] { watch_the_clock(); });
  }
  ~ServerSystem() override {
    {
      const std::lock_guard lock(mutex_);
      is_ending_ = true;
    }
    has_news_.notify_all();
    if (clock_.joinable()) clock_.join();
    parts_.runner.wait_for_all();
    parts_.runner.on_free([] {});
  }

  const std::string& Name() override { return parts_.name; }

  void IssueQuery(const std::vector<mlperf::QuerySample>& query) override {
    if (parts_.failure.must_stop()) return FlushQueries();
    if (!std::exchange(has_short_slices_, true)) take_short_slices();
    bool wakes_clock = false;
    {
      const std::lock_guard lock(mutex_);
      waiting_.add(query, LoadClock::now());
      has_come_ = true;
      begin_batches();
      wakes_clock = std::exchange(is_clock_asleep_, false);
    }
    if (wakes_clock) has_news_.notify_all();
  }

  void FlushQueries() override {
    {
      std::unique_lock lock(mutex_);
      waiting_.flush();
      begin_batches();
      is_empty_.wait(lock, [&] { return waiting_.is_empty(); });
    }
    parts_.runner.wait_for_all();
    parts_.failure.stop_if_failed();
  }

 private:
  // Samples are taken and given to the engine in one order: under the lock.
  void begin_batches() {
    for (;;) {
      const LoadClock::time_point now = LoadClock::now();
      if (!waiting_.is_ready(now) || !parts_.runner.has_free_slot()) return;
      const WaitedBatch& batch = waiting_.take(now);
      parts_.runner.submit(batch.samples, {.issued = batch.issued, .samples = waiting_.size()});
      if (waiting_.is_empty()) is_empty_.notify_all();
    }
  }

  // Samples that come and batches that end look at the time, too: this is for what they miss. It
  // ticks as long as samples come, as waking it for each batch costs more than it gains, so that a
  // sample may wait for twice the plan's time.
  void watch_the_clock() {
    std::unique_lock lock(mutex_);
    while (!is_ending_) {
      if (waiting_.is_empty() && !std::exchange(has_come_, false)) {
        is_clock_asleep_ = true;
        has_news_.wait(lock, [&] { return is_ending_ || !is_clock_asleep_; });
      } else {
        has_news_.wait_for(lock, parts_.plan.longest_wait, [&] { return is_ending_; });
        begin_batches();
      }
    }
  }

  SystemParts parts_;
  std::mutex mutex_;
  std::condition_variable has_news_;  // for the clock
  std::condition_variable is_empty_;
  WaitingSamples waiting_;
  bool has_short_slices_ = false;  // of LoadGen's thread
  bool has_come_ = false;          // a sample, since the clock last ticked
  bool is_clock_asleep_ = false;
  bool is_ending_ = false;
  std::thread clock_;
};

}  // namespace

std::unique_ptr<mlperf::SystemUnderTest> make_server_system(const SystemParts& parts) {
  return std::make_unique<ServerSystem>(parts);
}

}  // namespace nibble::inline loadgen
