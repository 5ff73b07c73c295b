// SPDX-License-Identifier: Apache-2.0
// Who computes.
#include "apps/nibble/device_option.h"

#include <CLI/CLI.hpp>

#include "nibble/core/device_name.h"
#include "nibble/core/error.h"

namespace nibble {

void add_device_option(CLI::App& verb, std::string& device) {
  verb.add_option("--device", device,
                  "who computes; the integers do not depend on it (cpu):\n"
                  "cpu; reference, the definitions, slowly; check(cpu,reference), both at once,\n"
                  "which ends at the first difference")
      ->check([](const std::string& text) -> std::string {
        try {
          parse_device(text);
        } catch (const Error& error) {
          return error.what();
        }
        return {};
      });
}

}  // namespace nibble
