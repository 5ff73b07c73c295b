// SPDX-License-Identifier: Apache-2.0
// Fuzz targets: layers as text, whole layer directories.
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "core/test_fuzz_target.h"
#include "foreign/layer_directory/layer.h"
#include "foreign/layer_directory/test_toy_layers.h"
#include "nibble/core/error.h"
#include "nibble/foreign/layer_directory.h"

// Any text either is a layer or throws Error; what is one survives its text form.
NIBBLE_FUZZ_TARGET(layer_record) {
  using namespace nibble;
  std::optional<Layer> layer;
  try {
    layer = parse_layer(parse_record({reinterpret_cast<const char*>(data), size}, "fuzz"));
  } catch (const Error&) {
    return 0;
  }
  // From here on nothing may throw.
  const std::string text = to_text(*layer);
  if (parse_layer(parse_record(text, "text")) != *layer) std::abort();
  return 0;
}

namespace {

using namespace nibble;

// The sound directory on the disk.
struct Sound {
  Sound() { toy.write_to(folder.path()); }
  ToyLayers toy;
  TemporaryFolder folder;
};

}  // namespace

// A layer directory in which one file is another one, and is read or throws Error. The
// first line of an input names the file, the rest is what stands in it.
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
