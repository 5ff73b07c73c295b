// SPDX-License-Identifier: Apache-2.0
// For tests: an emitted network in a folder of its own, compiled and run.
#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "core/test_support.h"
#include "nibble/emit/emit.h"

namespace nibble::inline emit {

class EmittedProgram {
 public:
  explicit EmittedProgram(const EmittedNetwork& network) {
    for (const EmittedFile& file : network.files) folder_.put(file.name, file.text);
  }

  // Compiles the self-test and runs it: what was said, nothing where every answer is right.
  std::string failure(const std::string& compiler) const {
    const std::string command = fmt::format(
        "cd '{}' && {} -std=c99 -Wall -Wextra -Wpedantic -Wconversion -Werror -o check *.c > log "
        "2>&1 && ./check > log 2>&1",
        folder_.path().string(), compiler);
    return std::system(command.c_str()) == 0 ? "" : command + "\n" + folder_.content_of("log");
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace nibble::inline emit
