// SPDX-License-Identifier: Apache-2.0
// The system under test of each scenario: how queries become batches.
#pragma once

#include <system_under_test.h>
#include <memory>
#include <string>

#include "loadgen/harness/batch_plan.h"
#include "loadgen/harness/batch_runner.h"
#include "loadgen/scenario.h"

namespace nibble::inline loadgen {

// What all of them share.
struct SystemParts {
  std::string name;
  BatchRunner& runner;
  const SampleLibrary& samples;
  RunFailure& failure;
  BatchPlan plan;
};

// One query at a time, answered in LoadGen's thread: SingleStream, MultiStream.
std::unique_ptr<mlperf::SystemUnderTest> make_stream_system(const SystemParts& parts);

// One query with everything: best batches, in the order in which samples lie in memory.
std::unique_ptr<mlperf::SystemUnderTest> make_offline_system(const SystemParts& parts);

// Samples as they come: the longest waiting first, those that are no longer in time for the plan
// last, in batches that begin when a lane is free and the plan's size is reached or its time is
// over.
std::unique_ptr<mlperf::SystemUnderTest> make_server_system(const SystemParts& parts);

std::unique_ptr<mlperf::SystemUnderTest> make_system(Scenario scenario, const SystemParts& parts);

}  // namespace nibble::inline loadgen
