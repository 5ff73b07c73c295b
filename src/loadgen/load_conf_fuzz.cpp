// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any text either is a configuration whose known keys have values that LoadGen takes
// as they are written, or throws Error; what may be set may be read again.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/test_fuzz_target.h"
#include "loadgen/load_conf.h"
#include "nibble/core/error.h"

NIBBLE_FUZZ_TARGET(load_conf) {
  using namespace nibble;
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const Scenario scenario : {Scenario::offline, Scenario::server}) {
    LoadConf conf("", "resnet50", scenario);
    try {
      LoadConf(text, "resnet50", scenario).check("fuzz");
      conf.set(text);
    } catch (const Error&) {
      continue;
    }
    conf.check("what was set");  // throws nothing
    if (!conf.has(text.substr(0, text.find('=')))) std::abort();
  }
  return 0;
}
