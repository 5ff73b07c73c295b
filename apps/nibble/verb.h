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

void add_train(CLI::App& app);
void add_eval(CLI::App& app);
void add_sweep(CLI::App& app);
void add_quantize(CLI::App& app);

void add_place(CLI::App& app);
void add_report(CLI::App& app);
void add_compare(CLI::App& app);
void add_run(CLI::App& app);
void add_bench(CLI::App& app);
void add_tune(CLI::App& app);
void add_loadgen(CLI::App& app);
void add_describe(CLI::App& app);
void add_convert(CLI::App& app);
void add_emit(CLI::App& app);
void add_data(CLI::App& app);
void add_doctor(CLI::App& app);
void add_signature(CLI::App& app);

}  // namespace nibble
