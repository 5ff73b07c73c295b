// SPDX-License-Identifier: Apache-2.0
// LoadGen waits for each answer: there is nothing to gain by another thread.
#include "loadgen/harness/systems.h"

namespace nibble::inline loadgen {
namespace {

class StreamSystem final : public mlperf::SystemUnderTest {
 public:
  explicit StreamSystem(const SystemParts& parts) : parts_(parts) {}

  const std::string& Name() override { return parts_.name; }
  void IssueQuery(const std::vector<mlperf::QuerySample>& query) override {
    parts_.failure.stop_if_failed();
    parts_.runner.run(query, {});
  }
  void FlushQueries() override { parts_.failure.stop_if_failed(); }

 private:
  SystemParts parts_;
};

}  // namespace

std::unique_ptr<mlperf::SystemUnderTest> make_stream_system(const SystemParts& parts) {
  return std::make_unique<StreamSystem>(parts);
}

std::unique_ptr<mlperf::SystemUnderTest> make_system(Scenario scenario, const SystemParts& parts) {
  switch (scenario) {
    case Scenario::offline:
      return make_offline_system(parts);
    case Scenario::server:
      return make_server_system(parts);
    case Scenario::single_stream:
    case Scenario::multi_stream:
      break;
  }
  return make_stream_system(parts);
}

}  // namespace nibble::inline loadgen
