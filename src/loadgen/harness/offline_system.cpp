// SPDX-License-Identifier: Apache-2.0
// One query, cut into batches of neighbours.
#include <algorithm>

#include "loadgen/harness/systems.h"

namespace nibble::inline loadgen {
namespace {

class OfflineSystem final : public mlperf::SystemUnderTest {
 public:
  explicit OfflineSystem(const SystemParts& parts) : parts_(parts) {}

  const std::string& Name() override { return parts_.name; }

  // In performance mode samples come as they were loaded, again and again. In accuracy mode each
  // comes once, in any order, as the first batch shows: sorted, they are neighbours again.
  void IssueQuery(const std::vector<mlperf::QuerySample>& query) override {
    if (is_in_order(next_batch(query))) return run_all(query);
    std::vector<mlperf::QuerySample> sorted = query;
    std::ranges::sort(sorted, {}, [&](const mlperf::QuerySample& sample) {
      return parts_.samples.place_of(sample.index);
    });
    run_all(sorted);
  }

  void FlushQueries() override {
    parts_.runner.wait_for_all();
    parts_.failure.stop_if_failed();
  }

 private:
  std::span<const mlperf::QuerySample> next_batch(
      std::span<const mlperf::QuerySample> query) const {
    return query.first(std::min(query.size(), parts_.plan.most_samples));
  }

  bool is_in_order(std::span<const mlperf::QuerySample> query) const {
    const auto follows = [&](const mlperf::QuerySample& one, const mlperf::QuerySample& next) {
      return parts_.samples.place_of(next.index) ==
             parts_.samples.place_after(parts_.samples.place_of(one.index));
    };
    return std::ranges::adjacent_find(query, std::not_fn(follows)) == query.end();
  }

  void run_all(std::span<const mlperf::QuerySample> query) {
    const LoadClock::time_point issued = LoadClock::now();
    while (!query.empty()) {
      if (parts_.failure.must_stop()) return FlushQueries();
      const auto batch = next_batch(query);
      query = query.subspan(batch.size());
      const BatchRunner::Waiting waiting{.issued = {&issued, 1}, .samples = query.size()};
      if (parts_.plan.runs_in_place) {
        parts_.runner.run(batch, waiting);
      } else {
        parts_.runner.submit(batch, waiting);
      }
    }
  }

  SystemParts parts_;
};

}  // namespace

std::unique_ptr<mlperf::SystemUnderTest> make_offline_system(const SystemParts& parts) {
  return std::make_unique<OfflineSystem>(parts);
}

}  // namespace nibble::inline loadgen
