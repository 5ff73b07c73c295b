// SPDX-License-Identifier: Apache-2.0
// nibble emit: an integer network as a folder of plain C.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "apps/nibble/verb.h"
#include "apps/nibble/verb_parts.h"
#include "nibble/graph/model_file.h"
#include "tasks/emit_folder.h"
#include "tasks/json.h"
#include "tasks/shared_options.h"

namespace nibble {
namespace {

constexpr std::uint64_t kMostBytes = 1'000'000'000'000'000'000;

struct EmitFlags {
  std::string model;
  std::string folder;
  std::string target = "c99";
  EmitRequest request;
  EmitTrainingFlags training;
  bool is_json = false;
};

void run(const EmitFlags& flags) {
  check_emit_folder(flags.folder, flags.request);
  TrainingStart start;
  if (flags.training.is_on) {
    start = training_start_of(flags.model, flags.training);
  } else {
    start.model = read_model(flags.model).model;
  }
  const EmitOutcome made = emit_folder(start, flags.folder, flags.request);
  if (flags.is_json) return fmt::print("{}\n", Json::parse(to_json(made)).dump(2));
  fmt::print("{}\n", made.figures.plan);
  fmt::print("RAM         {:>10} bytes\nparameters  {:>10} bytes\nproducts    {:>10}\n",
             made.figures.arena_bytes, made.figures.parameter_bytes, made.figures.macs);
  if (made.training) {
    fmt::print("training    {:>10} bytes of RAM\n", made.training->state_bytes);
    fmt::print("update           shift, by mu, whatever rule trained the model\n");
  }
  fmt::print("wrote {} files to {}: 'make check' there runs {} test vectors\n", made.files,
             flags.folder, flags.request.vectors);
}

}  // namespace

void add_emit(CLI::App& app) {
  CLI::App& verb = *app.add_subcommand("emit", "an integer model as plain C");
  const auto flags = std::make_shared<EmitFlags>();
  add_model_option(verb, flags->model)->required();
  verb.add_option("-o,--output", flags->folder, "the folder to write")
      ->type_name("DIR")
      ->required();
  verb.add_option("--prefix", flags->request.settings.prefix, "of all names in C (net)");
  verb.add_option("--target", flags->target, "c99, or dsp: dual multiply-accumulates of Cortex-M4")
      ->check(CLI::IsMember({"c99", "dsp"}));
  verb.add_option("--ram", flags->request.settings.ram, "most bytes of activations")
      ->transform(whole_number(0, kMostBytes));
  verb.add_option("--flash", flags->request.settings.flash, "most bytes of parameters")
      ->transform(whole_number(0, kMostBytes));
  verb.add_option("--batch", flags->request.settings.batch, "examples of one call (1)")
      ->transform(whole_number(1, 65536));
  verb.add_option("--vectors", flags->request.vectors, "test vectors (10)")
      ->transform(whole_number(1, 65536));
  add_training_flags(verb, flags->training);
  verb.add_flag("--force", flags->request.is_forced, "write into a folder that holds other files");
  verb.add_flag("--json", flags->is_json, "print JSON: files, ram, flash, macs, plan");
  verb.footer(
      "Examples:\n"
      "  nibble emit digits.nib -o digits && make -C digits check\n"
      "  nibble emit resnet8.nib -o c --prefix resnet8 --target dsp --ram 61440\n"
      "  nibble emit lenet -o c --train --data mnist --train-batch 16");
  verb.callback([flags] {
    if (flags->training.is_on) flags->request.training = flags->training.settings;
    flags->request.settings.uses_dsp = flags->target == "dsp";
    run(*flags);
  });
}

}  // namespace nibble
