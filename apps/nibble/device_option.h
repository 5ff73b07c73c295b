// SPDX-License-Identifier: Apache-2.0
// --device, as every verb that computes on integers has it.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace nibble {

void add_device_option(CLI::App& verb, std::string& device);

}  // namespace nibble
