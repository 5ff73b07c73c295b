// SPDX-License-Identifier: Apache-2.0
// nibble convert: a model of another form as a .nib file, and back.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "apps/nibble/verb.h"
#include "nibble/core/hash.h"
#include "nibble/graph/layer_directory.h"
#include "nibble/graph/model_file.h"
#include "nibble/version.h"

namespace nibble {
namespace {

namespace fs = std::filesystem;

struct Flags {
  std::string from;
  std::string to;
  std::int64_t input_size = LayerDirectoryOptions{}.input_size;
};

bool is_nib(const std::string& path) {
  return path.ends_with(".nib");
}

std::uintmax_t bytes_below(const fs::path& path) {
  if (fs::is_regular_file(path)) return fs::file_size(path);
  std::uintmax_t bytes = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

void run(const Flags& flags, bool is_sized) {
  const bool is_from_nib = is_nib(flags.from);
  if (is_from_nib == is_nib(flags.to)) {
    throw CLI::ValidationError(
        "TO", fmt::format("got {}, expected a {}", flags.to,
                          is_from_nib ? "folder, as FROM is a .nib" : ".nib, as FROM is none"));
  }
  if (is_from_nib && is_sized) {
    throw CLI::ValidationError("--input-size", "a .nib says it itself");
  }
  Model model;
  if (is_from_nib) {
    model = read_model(flags.from).model;
    write_layer_directory(model, flags.to);
  } else {
    model = read_layer_directory(flags.from, {.input_size = flags.input_size});
    write_model(
        flags.to, model,
        {{"made_by", std::string("nibble convert ") + kVersion}, {"converted_from", flags.from}});
  }
  fmt::print("wrote {}: {}, {} layers, {} bytes, weights {}\n", flags.to, model.network.name,
             model.network.nodes.size() - 1, bytes_below(flags.to), hex(weights_hash(model)));
}

}  // namespace

void add_convert(CLI::App& app) {
  CLI::App& verb = *app.add_subcommand("convert", "turn a layer directory into a .nib, or back");
  const auto flags = std::make_shared<Flags>();
  verb.add_option("FROM", flags->from, "a layer directory (one file a layer) or a .nib model")
      ->required()
      ->type_name("");
  verb.add_option("TO", flags->to, "a .nib model, or a new folder where FROM is a .nib")
      ->required()
      ->type_name("");
  CLI::Option* size =
      verb.add_option("--input-size", flags->input_size,
                      "rows and columns of a picture, which a layer directory does not say")
          ->capture_default_str()
          ->type_name("N");
  verb.footer(
      "A layer directory is the form of NVIDIA's INT4 ResNet-50: a folder with a file 'model',\n"
      "one text file a layer, and the numbers in npdata/. The network that comes out computes\n"
      "with integers alone; the way back gives the same files, byte for byte.\n\n"
      "Examples:\n"
      "  nibble convert resnet50-int4/model resnet50.nib\n"
      "  nibble convert resnet50.nib copy/model\n"
      "  nibble convert tiny/model tiny.nib --input-size 32");
  verb.callback([flags, size] { run(*flags, size->count() > 0); });
}

}  // namespace nibble
