// SPDX-License-Identifier: Apache-2.0
// nibble data preprocess: pictures as tensors of the MLPerf harness.
#include "apps/nibble/verb_parts.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "inference/tensor_folder.h"
#include "nibble/graph/model_file.h"
#include "nibble/inference/answer_engine.h"
#include "tasks/shared_options.h"

namespace nibble {
namespace {

struct PreprocessFlags {
  std::string model;
  std::string data;
  std::string split = "test";
  std::string out;
  bool skips_broken = false;
  int threads = 0;
};

void preprocess(const PreprocessFlags& flags) {
  use_threads(flags.threads);
  const AnswerEngine engine(read_model(flags.model).model, {});
  const ExampleReader reader(engine.network(), engine.engine().input());
  const TensorFolderResult result =
      write_tensor_folder({.data = flags.data,
                           .split = flags.split == "train" ? Split::train : Split::test,
                           .out = flags.out,
                           .skips_broken = flags.skips_broken},
                          reader);
  fmt::print("{} tensors in {}: {} written, {} were there with the right hash{}\n",
             result.written + result.kept, flags.out, result.written, result.kept,
             result.renewed > 0 ? fmt::format(", {} with a wrong one", result.renewed) : "");
}

}  // namespace

void add_data_preprocess(CLI::App& data) {
  CLI::App& verb = *data.add_subcommand(
      "preprocess", "pictures as tensors of the MLPerf harness, for runs that do not decode");
  const auto flags = std::make_shared<PreprocessFlags>();
  add_model_option(verb, flags->model, "; what it takes is written")->required();
  verb.add_option("--data", flags->data,
                  "pictures: a folder with val_map.txt there or beside it, folders of classes,\n"
                  "archives (.tar), or pictures without classes")
      ->required();
  verb.add_option("--split", flags->split, "test or train, of folders that have both")
      ->check(CLI::IsMember({"test", "train"}));
  verb.add_option("--out", flags->out, "folder for NAME.npy, val_map.txt and hashes.txt")
      ->type_name("DIR")
      ->required();
  add_skip_broken_option(verb, flags->skips_broken);
  add_threads_option(verb, flags->threads);
  verb.footer(
      "Of each picture the shorter side becomes 256/224 of what the network takes and the middle\n"
      "is cut out; where all have the size that it takes, and no val_map.txt names them, they "
      "stay\n"
      "as they are. The same command again goes on where it stopped: tensors whose hash, and that "
      "of\n"
      "their picture, is in hashes.txt stay, all others are made anew.\n\n"
      "Examples:\n"
      "  nibble data preprocess r50.nib --data imagenet/val --out imagenet/tensors\n"
      "  nibble loadgen r50.nib --data imagenet/tensors --out runs/offline");
  verb.callback([flags] { preprocess(*flags); });
}

}  // namespace nibble
