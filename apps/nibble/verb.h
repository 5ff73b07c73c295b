// SPDX-License-Identifier: Apache-2.0
// The verbs of the command: each adds its subcommand, whose callback does the work.
#pragma once

namespace CLI {
class App;
}

namespace nibble {

void add_formats(CLI::App& app);
void add_round(CLI::App& app);
void add_encode(CLI::App& app);
void add_decode(CLI::App& app);
void add_signature(CLI::App& app);
void add_data(CLI::App& app);
void add_doctor(CLI::App& app);

}  // namespace nibble
