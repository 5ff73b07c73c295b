// SPDX-License-Identifier: Apache-2.0
// A scenario as LoadGen has it.
#pragma once

#include <test_settings.h>

#include "loadgen/scenario.h"

namespace nibble::inline loadgen {

constexpr mlperf::TestScenario official_scenario(Scenario scenario) {
  switch (scenario) {
    case Scenario::single_stream:
      return mlperf::TestScenario::SingleStream;
    case Scenario::multi_stream:
      return mlperf::TestScenario::MultiStream;
    case Scenario::server:
      return mlperf::TestScenario::Server;
    case Scenario::offline:
      break;
  }
  return mlperf::TestScenario::Offline;
}

}  // namespace nibble::inline loadgen
