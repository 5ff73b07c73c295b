// SPDX-License-Identifier: Apache-2.0
// nibble convert: a model of another form as a .nib file, and back.
#include <fmt/format.h>

#include <algorithm>
#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "apps/nibble/verb.h"
#include "core/hash.h"
#include "nibble/core/error.h"
#include "nibble/foreign/layer_directory.h"
#include "nibble/foreign/onnx.h"
#include "nibble/foreign/read_weights.h"
#include "nibble/graph/model_file.h"
#include "nibble/graph/network_text.h"
#include "nibble/quantization/quantize_model.h"
#include "nibble/version.h"

namespace nibble {
namespace {

namespace fs = std::filesystem;

struct ConvertFlags {
  std::string from;
  std::string to;
  std::int64_t input_size = LayerDirectoryOptions{}.input_size;
  std::string network;
  std::vector<float> mean;
  std::vector<float> deviation;
};

bool is_nib(const std::string& path) {
  return path.ends_with(".nib");
}

bool is_onnx(const std::string& path) {
  return path.ends_with(".onnx");
}

bool is_weights(const std::string& path) {
  return path.ends_with(".npz") || path.ends_with(".safetensors");
}

std::uintmax_t bytes_below(const fs::path& path) {
  if (fs::is_regular_file(path)) return fs::file_size(path);
  std::uintmax_t bytes = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

// Quantized ONNX models come as what their integers stand for.
Model in_integers(Model model) {
  const bool is_quantized = std::ranges::any_of(
      model.network.nodes, [](const Node& node) { return is<FakeQuantize>(node.op); });
  if (!is_quantized) return model;
  return integer_network_of(model);
}

Model read_any(const ConvertFlags& flags, std::vector<std::string>& notes) {
  if (is_onnx(flags.from)) {
    return in_integers(read_onnx(flags.from, &notes));
  }
  if (is_weights(flags.from)) {
    Model model{.network = load_network(flags.network), .parameters = {}};
    read_weights(model, flags.from);
    return model;
  }
  if (fs::is_regular_file(flags.from)) {
    throw Error("convert", flags.from, "a file of another kind",
                "an .onnx file, weights (.npz, .safetensors), a layer directory or a .nib model");
  }
  return read_layer_directory(flags.from, {.input_size = flags.input_size});
}

// How bytes of pictures enter; floats are taken as they are.
void set_normalization(Model& model, const ConvertFlags& flags) {
  Input& input = std::get<Input>(model.network.nodes.front().op);
  if (!flags.mean.empty()) input.mean = flags.mean;
  if (!flags.deviation.empty()) input.deviation = flags.deviation;
  (void)infer_shapes(model.network);
}

// Options that FROM has no use for, or needs.
void check_flags(const ConvertFlags& flags, bool is_sized) {
  const bool is_from_nib = is_nib(flags.from);
  if (is_from_nib == is_nib(flags.to)) {
    throw CLI::ValidationError(
        "TO", fmt::format("got {}, expected {}", flags.to,
                          is_from_nib ? "an .onnx file or a folder, as FROM is a .nib"
                                      : "a .nib, as FROM is none"));
  }
  if (is_sized && (is_from_nib || is_onnx(flags.from) || is_weights(flags.from))) {
    throw CLI::ValidationError("--input-size", "only a layer directory does not say it itself");
  }
  if (is_from_nib && (!flags.mean.empty() || !flags.deviation.empty())) {
    throw CLI::ValidationError("--mean, --deviation", "FROM is a .nib, which has its own");
  }
  if (is_weights(flags.from) == flags.network.empty()) {
    throw CLI::ValidationError("--network",
                               "belongs to weights (.npz, .safetensors), and only there");
  }
}

void run(const ConvertFlags& flags, bool is_sized) {
  check_flags(flags, is_sized);
  Model model;
  if (is_nib(flags.from)) {
    model = read_model(flags.from).model;
    if (is_onnx(flags.to)) {
      write_onnx(model, flags.to);
    } else {
      write_layer_directory(model, flags.to);
    }
  } else {
    std::vector<std::string> notes;
    model = read_any(flags, notes);
    set_normalization(model, flags);
    write_model(
        flags.to, model,
        {{"made_by", std::string("nibble convert ") + kVersion}, {"converted_from", flags.from}});
    for (const std::string& note : notes) fmt::print("note: {}\n", note);
  }
  fmt::print("wrote {}: {}, {} layers, {} bytes, weights {}\n", flags.to, model.network.name,
             model.network.nodes.size() - 1, bytes_below(flags.to), hex(weights_hash(model)));
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
  CLI::Option* size =
      verb.add_option("--input-size", flags->input_size,
                      "rows and columns of a picture, which a layer directory does not say")
          ->capture_default_str()
          ->type_name("N");
  verb.add_option("--network", flags->network,
                  "whose weights these are: a name that comes with Nibble, or a .toml file")
      ->type_name("NAME");
  verb.add_option("--mean", flags->mean,
                  "bytes enter as (byte/255 - mean)/deviation: the mean of each channel")
      ->delimiter(',')
      ->type_name("M,...");
  verb.add_option("--deviation", flags->deviation, "and the deviation of each")
      ->delimiter(',')
      ->type_name("D,...");
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
  verb.callback([flags, size] { run(*flags, size->count() > 0); });
}

}  // namespace nibble
