// SPDX-License-Identifier: Apache-2.0
// Dynamic batches: whoever brings a sample, frees a lane or sees that the time is over begins the
// next batch.
#include <algorithm>
#include <condition_variable>
#include <thread>

#include "loadgen/harness/systems.h"

namespace nibble::inline loadgen {
namespace {

class ServerSystem final : public mlperf::SystemUnderTest {
 public:
  explicit ServerSystem(const SystemParts& parts) : parts_(parts) {
    parts_.runner.on_free([this] { begin_batches(); });
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
    const LoadClock::time_point now = LoadClock::now();
    bool is_first = false;
    {
      const std::lock_guard lock(mutex_);
      is_first = first_ == waiting_.size();
      for (const mlperf::QuerySample& sample : query) waiting_.push_back({sample, now});
      is_flushed_ = false;
    }
    begin_batches();
    // Behind others its time cannot be over sooner: waking the clock for it would cost
    // microseconds.
    if (is_first && clock_.joinable()) has_news_.notify_one();
  }

  // No sample comes after this one: none needs to wait for others.
  void FlushQueries() override {
    {
      std::unique_lock lock(mutex_);
      is_flushed_ = true;
    }
    begin_batches();
    {
      std::unique_lock lock(mutex_);
      is_empty_.wait(lock, [&] { return first_ == waiting_.size(); });
    }
    parts_.runner.wait_for_all();
    parts_.failure.stop_if_failed();
  }

 private:
  struct Waiting {
    mlperf::QuerySample sample;
    LoadClock::time_point since;
  };

  // Samples are taken and given to the engine in the order in which they came.
  void begin_batches() {
    const std::lock_guard lock(mutex_);
    while (is_ready() && parts_.runner.has_free_slot()) {
      const std::size_t count = samples_of_next();
      batch_.clear();
      for (std::size_t i = 0; i < count; ++i) batch_.push_back(waiting_[first_ + i].sample);
      const LoadClock::time_point since = waiting_[first_].since;
      first_ += count;
      const std::size_t left = waiting_.size() - first_;
      if (left == 0 || first_ > 4096) {  // what was taken goes, seldom enough
        waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(first_));
        first_ = 0;
      }
      parts_.runner.submit(batch_, {.issued = since, .samples = left});
      if (left == 0) is_empty_.notify_all();
    }
  }

  std::size_t samples_of_next() const {
    const std::size_t most = std::min(waiting_.size() - first_, parts_.plan.most_samples);
    const std::vector<std::size_t>& sizes = parts_.plan.sizes;
    return sizes.empty() ? most : *(std::ranges::upper_bound(sizes, most) - 1);
  }

  bool is_ready() const {
    const std::size_t count = waiting_.size() - first_;
    if (count == 0) return false;
    return is_flushed_ || count >= parts_.plan.most_samples ||
           LoadClock::now() >= waiting_[first_].since + parts_.plan.longest_wait;
  }

  void watch_the_clock() {
    std::unique_lock lock(mutex_);
    while (!is_ending_) {
      if (first_ == waiting_.size()) {
        has_news_.wait(lock);
        continue;
      }
      const auto deadline = waiting_[first_].since + parts_.plan.longest_wait;
      const bool is_over = LoadClock::now() >= deadline;
      has_news_.wait_until(lock, is_over ? LoadClock::now() + parts_.plan.longest_wait : deadline);
      lock.unlock();
      begin_batches();
      lock.lock();
    }
  }

  SystemParts parts_;
  std::mutex mutex_;
  std::condition_variable has_news_;
  std::condition_variable is_empty_;
  std::vector<Waiting> waiting_;
  std::size_t first_ = 0;  // of those that still wait
  std::vector<mlperf::QuerySample> batch_;
  bool is_flushed_ = false;
  bool is_ending_ = false;
  std::thread clock_;
};

}  // namespace

std::unique_ptr<mlperf::SystemUnderTest> make_server_system(const SystemParts& parts) {
  return std::make_unique<ServerSystem>(parts);
}

}  // namespace nibble::inline loadgen
