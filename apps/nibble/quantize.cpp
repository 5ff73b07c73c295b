// SPDX-License-Identifier: Apache-2.0
// nibble quantize: a float network becomes one of integers.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "apps/nibble/verb.h"
#include "core/atomic_file.h"
#include "core/hash.h"
#include "nibble/core/error.h"
#include "nibble/graph/model_file.h"
#include "tasks/json.h"
#include "tasks/open_model.h"
#include "tasks/quantize_network.h"
#include "tasks/quantize_outcome.h"
#include "tasks/quantize_report.h"
#include "tasks/shared_options.h"

namespace nibble {
namespace {

struct QuantizeVerbFlags {
  QuantizeChoices choices;
  std::string out;
  std::string fake;
  std::string report;
  bool is_json = false;
};

void check_outputs(const QuantizeVerbFlags& flags) {
  const std::filesystem::path model = model_file_of(flags.choices.model);
  for (const std::string& path : {flags.out, flags.fake, flags.report}) {
    if (path.empty()) continue;
    std::error_code ignored;
    if (std::filesystem::equivalent(path, model, ignored))
      throw Error("quantize", "output", path + ", the model itself", "another file");
    check_writable(path);
  }
}

// Beside the model that will come of it, which removes it.
std::filesystem::path checkpoint_of(const QuantizeVerbFlags& flags) {
  return flags.out + ".checkpoint";
}

void print_epoch(const FineTunedEpoch& epoch) {
  const std::string score = epoch.top1 ? fmt::format(", train {:.2f} %", 100 * *epoch.top1) : "";
  fmt::print("epoch {}: loss {:.4f}{}, {:.1f} s\n", epoch.epoch, epoch.loss, score, epoch.seconds);
}

// Values of a batch go back to the system when they are freed: glibc would keep those below 32 MiB
// among smaller ones, 120 MB of 600 for pictures of 224 by 224.
void return_large_blocks() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}

void run(const QuantizeVerbFlags& flags) {
  use_threads(flags.choices.threads);
  if (flags.choices.fine_tuning > 0) return_large_blocks();
  check_outputs(flags);
  const Model model = open_model(flags.choices.model).model;
  QuantizeManner manner{.is_silent = flags.is_json, .checkpoint = checkpoint_of(flags)};
  if (!flags.is_json) manner.after_epoch = print_epoch;
  const QuantizedNetwork made = quantize_network(model, flags.choices, manner);
  if (!flags.fake.empty()) write_model(flags.fake, made.fake, made.origin);
  write_model(flags.out, made.integers, made.origin);
  std::error_code ignored;
  if (flags.choices.fine_tuning > 0) std::filesystem::remove(checkpoint_of(flags), ignored);

  const Outcome before = outcome_of_floats(model, made.test ? &*made.test : nullptr);
  const Outcome after =
      outcome_of_integers(made.integers, made.test ? &*made.test : nullptr, flags.choices.device);
  if (!flags.report.empty())
    write_quantize_report(flags.report, flags.choices, made, before, after);
  if (flags.is_json) {
    Json json{{"model", flags.out},
              {"weights_hash", hex(weights_hash(made.integers))},
              {"bytes", after.bytes},
              {"float_bytes", before.bytes},
              {"seconds", made.seconds},
              {"errors", Json::parse(error_table_json(made.errors))},
              {"data_hash", made.origin.at("data_hash")}};
    if (made.origin.contains("fine_tuning_data_hash"))
      json["fine_tuning_data_hash"] = made.origin.at("fine_tuning_data_hash");
    if (!made.scan.empty()) json["sensitivity"] = Json::parse(sensitivity_json(made.scan));
    if (made.test) {
      json["loss"] = after.loss;
      json["float_loss"] = before.loss;
      json["images_per_second"] = after.images_per_second;
      json["float_images_per_second"] = before.images_per_second;
    }
    if (after.top1) {
      json["top1"] = *after.top1;
      json["float_top1"] = *before.top1;
    }
    fmt::print("{}\n", json.dump(2));
    return;
  }
  std::string wrote = flags.out;
  for (const std::string& path : {flags.fake, flags.report}) {
    if (!path.empty()) wrote += ", " + path;
  }
  fmt::print("{}\n{}wrote {}; calibrated on {} images and quantized in {:.1f} s\n",
             error_table_text(made.errors), outcome_table(before, after), wrote, made.calibrated,
             made.seconds);
  if (!made.no_directory_because.empty())
    fmt::print("no layer directory holds it: {}\n", made.no_directory_because);
}

}  // namespace

void add_quantize(CLI::App& app) {
  CLI::App& verb = *app.add_subcommand("quantize", "make a float network one of integers");
  const auto flags = std::make_shared<QuantizeVerbFlags>();
  verb.add_option("MODEL", flags->choices.model,
                  "a float model: .nib, .onnx or the folder of a run")
      ->type_name("")
      ->required();
  verb.add_option("-o,--output", flags->out, "the model of integers")
      ->type_name("OUT.nib")
      ->required();
  verb.add_option("--fake", flags->fake, "write the fake-quantized float model, too")
      ->type_name("FAKE.nib");
  verb.add_option("--report", flags->report, "write what was lost, layer by layer, as a page")
      ->type_name("FILE.html")
      ->check(ending_in({".html", ".htm"}));
  add_quantize_options(verb, flags->choices);
  verb.add_flag("--json", flags->is_json, "print JSON: bytes, top1, float_top1, errors");
  verb.footer(
      "Examples:\n"
      "  nibble quantize runs/lenet-1/model.nib -o lenet8.nib --calib mnist\n"
      "  nibble quantize resnet20.onnx -o r20.nib --calib cifar10 --recipe int4-weights \\\n"
      "    --report r20.html");
  verb.callback([flags, &verb] {
    finish_quantize_options(verb, flags->choices);
    flags->choices.mixed.is_reported = !flags->report.empty();
    run(*flags);
  });
}

}  // namespace nibble
