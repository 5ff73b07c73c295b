// SPDX-License-Identifier: Apache-2.0
// nibble data preprocess: pictures as tensors of the MLPerf harness.
#pragma once

namespace CLI {
class App;
}

namespace nibble {

void add_data_preprocess(CLI::App& data);

}  // namespace nibble
