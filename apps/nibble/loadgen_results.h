// SPDX-License-Identifier: Apache-2.0
// nibble loadgen score, test01, test04, report: what runs of LoadGen were worth.
#pragma once

namespace CLI {
class App;
}

namespace nibble {

void add_loadgen_results(CLI::App& verb);

}  // namespace nibble
