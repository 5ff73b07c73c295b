// SPDX-License-Identifier: Apache-2.0
// A model of another form as a .nib file, and back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nibble/foreign/layer_directory.h"
#include "nibble/graph/model_file.h"

namespace CLI {
class App;
}

namespace nibble::inline tasks {

struct ConvertFlags {
  std::string from;
  std::optional<std::string> to;  // none: nothing is written
  std::int64_t input_size = LayerDirectoryOptions{}.input_size;
  std::string network;
  std::vector<float> mean;
  std::vector<float> deviation;
};

// All but where from and where to.
void add_convert_options(CLI::App& verb, ConvertFlags& flags);

struct Converted {
  ModelFile file;
  std::vector<std::string> notes;  // what was left out on the way
};

// `verb` knows which options were given.
Converted convert_model(const CLI::App& verb, const ConvertFlags& flags);

}  // namespace nibble::inline tasks
