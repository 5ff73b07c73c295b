// SPDX-License-Identifier: Apache-2.0
// Who computes.
#include "apps/nibble/device_option.h"

#include <CLI/CLI.hpp>

namespace nibble {

void add_device_option(CLI::App& verb, std::string& device) {
  verb.add_option("--device", device,
                  "who computes; the integers do not depend on it (cpu):\n"
                  "cpu; cuda or cuda:1, a GPU; reference, the definitions, slowly;\n"
                  "check(cpu,reference), both at once, which ends at the first difference");
}

}  // namespace nibble
