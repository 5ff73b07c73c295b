// SPDX-License-Identifier: Apache-2.0
// nibble convert: a model of another form as a .nib file, and back.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "apps/nibble/verb.h"
#include "core/hash.h"
#include "tasks/convert_model.h"

namespace nibble {
namespace {

namespace fs = std::filesystem;

std::uintmax_t bytes_below(const fs::path& path) {
  if (fs::is_regular_file(path)) return fs::file_size(path);
  std::uintmax_t bytes = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

void run(const CLI::App& verb, const ConvertFlags& flags) {
  const Converted made = convert_model(verb, flags);
  const Model& model = made.file.model;
  for (const std::string& note : made.notes) fmt::print("note: {}\n", note);
  fmt::print("wrote {}: {}, {} layers, {} bytes, weights {}\n", *flags.to, model.network.name,
             model.network.nodes.size() - 1, bytes_below(*flags.to), hex(weights_hash(model)));
}

}  // namespace

void add_convert(CLI::App& app) {
  CLI::App& verb = *app.add_subcommand(
      "convert", "turn an ONNX file, weights or a layer directory into a .nib, or back");
  const auto flags = std::make_shared<ConvertFlags>();
  verb.add_option("FROM", flags->from,
                  "an .onnx file, weights (.npz, .safetensors), a layer directory or a .nib model")
      ->required()
      ->type_name("");
  verb.add_option("TO", flags->to, "a .nib model; where FROM is one an .onnx file or a new folder")
      ->required()
      ->type_name("");
  add_convert_options(verb, *flags);
  verb.footer(
      "ONNX files of opset 9 to 21 become float networks, or networks of integers where they are\n"
      "quantized (QDQ, QLinear); docs/onnx.md lists their operations. A network of integers "
      "becomes\n"
      "an ONNX file with QuantizeLinear and DequantizeLinear that ONNX Runtime runs.\n"
      "Weights have PyTorch's names and the order of its axes.\n"
      "A layer directory is the form of NVIDIA's INT4 ResNet-50: a folder with a file 'model',\n"
      "one text file a layer, and the numbers in npdata/. The network that comes out computes\n"
      "with integers alone; the way back gives the same files, byte for byte.\n\n"
      "Examples:\n"
      "  nibble convert resnet18.onnx resnet18.nib --mean 0.485,0.456,0.406 \\\n"
      "    --deviation 0.229,0.224,0.225\n"
      "  nibble convert quantized.nib quantized.onnx\n"
      "  nibble convert resnet20.npz resnet20.nib --network resnet20\n"
      "  nibble convert resnet50-int4/model resnet50.nib\n"
      "  nibble convert resnet50.nib copy/model\n"
      "  nibble convert tiny/model tiny.nib --input-size 32");
  verb.callback([flags, &verb] { run(verb, *flags); });
}

}  // namespace nibble
