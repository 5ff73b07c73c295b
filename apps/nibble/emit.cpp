// SPDX-License-Identifier: Apache-2.0
// nibble emit: an integer network as a folder of plain C.
#include "nibble/emit/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "apps/nibble/emit_training.h"
#include "apps/nibble/verb.h"
#include "core/whole_folder.h"
#include "nibble/core/error.h"
#include "nibble/core/limits.h"
#include "nibble/engine/as_integers.h"
#include "nibble/graph/model_file.h"
#include "tasks/random_examples.h"

namespace nibble {
namespace {

namespace fs = std::filesystem;

struct EmitFlags {
  std::string model;
  std::string folder;
  std::string target = "c99";
  EmitSettings settings;
  EmitTrainingFlags training;
  std::int64_t vectors = 10;
  bool is_forced = false;
};

constexpr std::int64_t kBytesOfNumber = 32;  // of a test vector: an integer and its text

// What the engine answers to made-up examples.
TestVectors vectors_of(const Model& model, std::int64_t count) {
  const Engine engine(copy_of(model));
  const std::int64_t numbers = engine.input().shape.elements() + engine.output().shape.elements();
  check_limit("memory", count * numbers * kBytesOfNumber, "emit", "bytes of test vectors");
  const std::vector<std::byte> inputs = random_examples(engine.input(), count);
  std::vector<std::byte> outputs(engine.output().bytes * static_cast<std::size_t>(count));
  engine.run(inputs, count, outputs);
  return {.count = count,
          .inputs = as_integers(engine.input(), inputs),
          .outputs = as_integers(engine.output(), outputs)};
}

// Nothing is overwritten unless that was asked for.
void check_folder(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder, error) && !error) return;
  if (!error && !fs::is_directory(folder, error))
    throw Error("emit", "output", folder.string(), "a folder, or none yet");
  const fs::directory_iterator first(folder, error);
  if (error)
    throw Error("emit", fmt::format("cannot read folder {}: {}", folder.string(), error.message()),
                ErrorKind::system);
  if (first == fs::directory_iterator()) return;
  throw Error("emit", "output folder " + folder.string(),
              "'" + first->path().filename().string() + "' in it", "an empty one, or --force");
}

void write_files(const fs::path& folder, const std::vector<EmittedFile>& files) {
  WholeFolder whole(folder, ExistingFiles::kept);
  for (const EmittedFile& each : files) whole.write(each.name, each.text);
  whole.commit();
}

TrainingFigures add_training(const TrainingStart& start, const EmitFlags& flags,
                             std::vector<EmittedFile>& files) {
  TrainEmitSettings settings = flags.training.settings;
  settings.prefix = flags.settings.prefix;
  EmittedTraining training = emit_training(start.model, start.examples, settings);
  const std::optional<std::int64_t> most = flags.settings.ram;
  if (most && training.figures.state_bytes > *most) {
    throw Error("emit", "RAM of training", fmt::format("{} bytes", training.figures.state_bytes),
                fmt::format("at most {}: --train-batch makes it smaller", *most));
  }
  std::ranges::move(training.files, std::back_inserter(files));
  return training.figures;
}

void run(const EmitFlags& flags) {
  if (!flags.is_forced) check_folder(flags.folder);
  TrainingStart start;
  if (flags.training.is_on) {
    start = training_start_of(flags.model, flags.training);
  } else {
    start.model = read_model(flags.model).model;
  }
  const Model& model = start.model;
  check_emittable(model, flags.settings);
  EmittedNetwork network = emit_c(model, flags.settings, vectors_of(model, flags.vectors));
  TrainingFigures training;
  if (flags.training.is_on) training = add_training(start, flags, network.files);
  write_files(flags.folder, network.files);
  fmt::print("{}\n", network.figures.plan);
  fmt::print("RAM         {:>10} bytes\nparameters  {:>10} bytes\nproducts    {:>10}\n",
             network.figures.arena_bytes, network.figures.parameter_bytes, network.figures.macs);
  if (flags.training.is_on) fmt::print("training    {:>10} bytes of RAM\n", training.state_bytes);
  fmt::print("wrote {} files to {}: 'make check' there runs {} test vectors\n",
             network.files.size(), flags.folder, flags.vectors);
}

}  // namespace

void add_emit(CLI::App& app) {
  CLI::App& verb = *app.add_subcommand("emit", "an integer model as plain C");
  const auto flags = std::make_shared<EmitFlags>();
  verb.add_option("MODEL", flags->model, "an integer model (.nib)")->type_name("")->required();
  verb.add_option("-o,--output", flags->folder, "the folder to write")
      ->type_name("DIR")
      ->required();
  verb.add_option("--prefix", flags->settings.prefix, "of all names in C (net)");
  verb.add_option("--target", flags->target, "c99, or dsp: dual multiply-accumulates of Cortex-M4")
      ->check(CLI::IsMember({"c99", "dsp"}));
  verb.add_option("--ram", flags->settings.ram, "most bytes of activations")
      ->check(CLI::NonNegativeNumber);
  verb.add_option("--flash", flags->settings.flash, "most bytes of parameters")
      ->check(CLI::NonNegativeNumber);
  verb.add_option("--batch", flags->settings.batch, "examples of one call (1)")
      ->check(CLI::Range(1, 65536));
  verb.add_option("--vectors", flags->vectors, "test vectors (10)")->check(CLI::Range(1, 65536));
  add_training_flags(verb, flags->training);
  verb.add_flag("--force", flags->is_forced, "write into a folder that holds other files");
  verb.footer(
      "Examples:\n"
      "  nibble emit digits.nib -o digits && make -C digits check\n"
      "  nibble emit resnet8.nib -o c --prefix resnet8 --target dsp --ram 61440\n"
      "  nibble emit lenet -o c --train --data mnist --train-batch 16");
  verb.callback([flags] {
    flags->settings.has_training = flags->training.is_on;
    flags->settings.uses_dsp = flags->target == "dsp";
    run(*flags);
  });
}

}  // namespace nibble
