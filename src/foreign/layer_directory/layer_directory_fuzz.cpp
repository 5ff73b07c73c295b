// SPDX-License-Identifier: Apache-2.0
// Fuzz target: a layer directory in which one file is another one, and is read or throws Error. The
// first line of an input names the file, the rest is what stands in it.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/test_fuzz_target.h"
#include "foreign/layer_directory/test_toy_layers.h"
#include "nibble/core/error.h"
#include "nibble/foreign/layer_directory.h"

namespace {

using namespace nibble;

// The sound directory on the disk.
struct Sound {
  Sound() { toy.write_to(folder.path()); }
  ToyLayers toy;
  TemporaryFolder folder;
};

}  // namespace

NIBBLE_FUZZ_TARGET(layer_directory) {
  static const Sound sound;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = input.find('\n');
  if (end == input.npos) return 0;
  const auto file = sound.toy.files.find(std::string(input.substr(0, end)));
  if (file == sound.toy.files.end()) return 0;
  sound.folder.put(file->first, std::string(input.substr(end + 1)));
  try {
    const Model model = read_layer_directory(sound.folder.path(), {.input_size = kToySize});
    if (parameters_of(model.network).size() != model.parameters.size()) std::abort();
  } catch (const Error&) {
  }
  sound.folder.put(file->first, file->second);
  return 0;
}
