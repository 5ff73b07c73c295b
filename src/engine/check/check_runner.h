// SPDX-License-Identifier: Apache-2.0
// Two devices at once: every value that both give is compared, integer by integer.
#pragma once

#include <memory>
#include <string>

#include "engine/runner.h"

namespace nibble::inline engine {

// A runner and its name.
struct NamedRunner {
  std::string name;
  std::unique_ptr<EngineRunner> runner;
};

// Answers as the first does; throws at the first difference, naming layer, place and both integers.
std::unique_ptr<EngineRunner> make_check_runner(const EngineProgram& program, NamedRunner first,
                                                NamedRunner second);

}  // namespace nibble::inline engine
