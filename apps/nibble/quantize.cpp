// SPDX-License-Identifier: Apache-2.0
// nibble quantize: a float network becomes one of integers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "apps/nibble/mixed_precision.h"
#include "apps/nibble/quantize_outcome.h"
#include "apps/nibble/quantize_report.h"
#include "apps/nibble/shared_options.h"
#include "apps/nibble/verb.h"
#include "core/atomic_file.h"
#include "core/hash.h"
#include "epoch_loop/check_data.h"
#include "nibble/core/error.h"
#include "nibble/engine/engine.h"
#include "nibble/float_training/fine_tune.h"
#include "nibble/foreign/read_onnx.h"
#include "nibble/graph/model_file.h"
#include "nibble/quantization/integer_network.h"
#include "nibble/quantization/quantize_model.h"
#include "nibble/version.h"
#include "quantization/error_table.h"
#include "quantization/layer_bits_text.h"
#include "quantization/recipe.h"
#include "tasks/json.h"

namespace nibble {
namespace {

struct QuantizeVerbFlags {
  std::string model;
  std::string out;
  std::string fake;
  std::string report;
  std::string recipe;
  std::string calib;
  std::string data;
  std::int64_t samples = 1024;
  std::int64_t image_size = 0;  // of picture folders, see LoadOptions
  std::string weights = "int8";
  std::string activations = "uint8";
  std::string method = "percentile:99.999";
  int edge_bits = 0;
  bool is_per_tensor = false;
  bool keeps_scales = false;
  bool keeps_biases = false;
  bool learns_rounding = false;
  bool has_integer_features = false;
  MixedFlags mixed = {};
  int threads = 0;
  std::string device = "cpu";
  bool is_json = false;
  std::int64_t fine_tuning = 0;  // epochs
  double rate = 0.001;
  std::int32_t crop = 0;
  bool flips = false;
  std::uint64_t seed = 1;
};

int bits_of(const std::string& option, const std::string& format, bool may_be_unsigned) {
  const std::optional<int> bits = integer_bits(format, may_be_unsigned);
  if (!bits) {
    throw CLI::ValidationError(option, fmt::format("got '{}', expected int2 to int8{}", format,
                                                   may_be_unsigned ? " or uint2 to uint8" : ""));
  }
  return *bits;
}

QuantizeSettings settings_of(const QuantizeVerbFlags& flags) {
  QuantizeSettings settings;
  settings.bits = {.weights = bits_of("--weights", flags.weights, false),
                   .activations = bits_of("--activations", flags.activations, true)};
  settings.edge_bits = flags.edge_bits;
  settings.is_per_channel = !flags.is_per_tensor;
  settings.is_symmetric = flags.activations.starts_with("int");
  settings.method = parse_range_method(flags.method);
  settings.equalizes = !flags.keeps_scales;
  settings.corrects_bias = !flags.keeps_biases;
  settings.learns_rounding = flags.learns_rounding;
  settings.has_integer_features = flags.has_integer_features;
  return settings;
}

// What was given on the command line stays.
void apply_recipe(CLI::App& verb, const std::string& name) {
  for (const RecipeOption& each : quantize_recipe(name)) {
    CLI::Option* option = verb.get_option("--" + each.name);
    if (option->count() > 0) continue;
    option->add_result(each.value);
    option->run_callback();
  }
}

std::vector<std::string> given_options(const CLI::App& verb) {
  std::vector<std::string> names;
  for (const CLI::Option* each : verb.get_options()) {
    if (each->count() > 0) names.push_back(each->get_name());
  }
  return names;
}

// Options that do nothing beside the others. A recipe's own are no mistake of who runs it.
void check_given(const QuantizeVerbFlags& flags, std::span<const std::string> given) {
  const auto refuse = [&](std::string_view option, bool is_idle, const char* why) {
    if (is_idle && std::ranges::find(given, option) != given.end())
      throw CLI::ValidationError(std::string(option), why);
  };
  for (const char* option : {"--lr", "--crop", "--flip", "--seed"})
    refuse(option, flags.fine_tuning == 0, "is an option of fine-tuning: give --finetune, too");
  const int targets = (flags.mixed.target_size > 0 ? 1 : 0) +
                      (flags.mixed.target_file > 0 ? 1 : 0) + (flags.mixed.max_loss ? 1 : 0);
  if (targets > 1)
    throw CLI::ValidationError("--recipe", "--target-size, --target-file and --max-loss: only one");
  refuse("--weights", targets > 0,
         "each layer gets its own bits from --target-size, --target-file or --max-loss");
}

// Before hours of work: a path that cannot be written.
void check_outputs(const QuantizeVerbFlags& flags) {
  for (const std::string& path : {flags.out, flags.fake, flags.report}) {
    if (!path.empty()) AtomicFile{path};
  }
}

void write_report(const QuantizeVerbFlags& flags, const QuantizeReport& report) {
  AtomicFile file(flags.report);
  file.stream() << quantize_report_html(report);
  file.commit();
}

Model read_float_model(const std::string& path) {
  Model model = path.ends_with(".onnx") ? read_onnx(path) : read_model(path).model;
  for (const Tensor& each : model.parameters) {
    if (each.dtype() != DType::f32)
      throw Error("quantize", path, "a model of integers", "floats", ErrorKind::input);
  }
  return model;
}

// Beside the model that will come of it, which removes it.
std::filesystem::path checkpoint_of(const QuantizeVerbFlags& flags) {
  return flags.out + ".checkpoint";
}

// On the train split of --data, with the engine's rounding in every step.
Model fine_tuned(const Model& fake, const QuantizeVerbFlags& flags, const Dataset& data) {
  FineTuneOptions options{
      .epochs = flags.fine_tuning,
      .augment = {.padding = flags.crop, .has_flip = flags.flips},
      .seed = flags.seed,
      .progress = flags.is_json ? ProgressStyle::silent : ProgressStyle::automatic,
      .checkpoint = checkpoint_of(flags)};
  options.optimizer.rate = flags.rate;
  if (!flags.is_json) {
    options.after_epoch = [](const FineTunedEpoch& epoch) {
      fmt::print("epoch {}: loss {:.4f}, train {:.2f} %, {:.1f} s\n", epoch.epoch, epoch.loss,
                 100 * epoch.top1, epoch.seconds);
    };
  }
  return fine_tune(fake, data, options);
}

std::vector<std::vector<std::string>> shown_settings(const QuantizeVerbFlags& flags) {
  std::vector<std::vector<std::string>> rows = {{"model", flags.model},
                                                {"calibrated on", flags.calib},
                                                {"weights", flags.weights},
                                                {"activations", flags.activations},
                                                {"method", flags.method}};
  if (flags.edge_bits > 0) rows.push_back({"edges", fmt::format("{} bits", flags.edge_bits)});
  if (flags.learns_rounding) rows.push_back({"rounding of weights", "learned"});
  if (flags.fine_tuning > 0) {
    rows.push_back(
        {"fine-tuned", fmt::format("{} epochs, rate {}", flags.fine_tuning, flags.rate)});
  }
  return rows;
}

// What counts right answers needs data that have them.
void check_answers(const QuantizeVerbFlags& flags, const Dataset& calib) {
  if (calib.has_answers()) return;
  const bool is_tuned = flags.fine_tuning > 0 && flags.data.empty();
  if (!is_tuned && !flags.mixed.max_loss) return;
  throw Error("quantize",
              is_tuned ? "--finetune on " + flags.calib : "--max-loss on " + flags.calib,
              "pictures without classes", "CLASS/FILE.png", ErrorKind::input);
}

void run(const QuantizeVerbFlags& flags) {
  use_threads(flags.threads);
  check_device(flags.device);
  check_outputs(flags);
  QuantizeSettings settings = settings_of(flags);
  const Model model = read_float_model(flags.model);
  const Dataset calib = load_dataset(flags.calib, Split::train,
                                     {.image_size = flags.image_size, .takes_unlabelled = true});
  check_answers(flags, calib);
  const std::string data = flags.data.empty() ? flags.calib : flags.data;
  std::optional<Dataset> test;
  if ((calib.has_answers() || !flags.data.empty()) && has_split(data, Split::test)) {
    test = load_dataset(data, Split::test, {.image_size = flags.image_size});
    check_data(model.network, *test);
  }
  const std::vector<Tensor> batches = calibration_batches(calib, model.network, flags.samples);
  const std::vector<LayerSensitivity> scan =
      choose_layers(flags.mixed, model, {calib, batches, flags.samples}, flags.is_json, settings);
  const auto start = std::chrono::steady_clock::now();
  QuantizedModel quantized = quantize_model(model, batches, settings);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const bool is_same = data == flags.calib;
  std::map<std::string, std::string> origin{{"made_by", std::string("nibble quantize ") + kVersion},
                                            {"quantized_from", flags.model},
                                            {"weights", flags.weights},
                                            {"activations", flags.activations},
                                            {"method", flags.method},
                                            {"data_hash", hex(hash_of(calib))}};
  if (flags.fine_tuning > 0) {
    const Dataset other =
        is_same ? Dataset{} : load_dataset(data, Split::train, {.image_size = flags.image_size});
    quantized.fake = fine_tuned(quantized.fake, flags, is_same ? calib : other);
    origin["fine_tuning_data_hash"] = hex(hash_of(is_same ? calib : other));
  }
  const auto [fake, integers] = integer_twins_of(std::move(quantized.fake));
  check_size(flags.mixed, integers);
  const std::vector<NodeError> errors = node_errors(quantized.folded, fake, batches);
  if (!flags.fake.empty()) write_model(flags.fake, fake, origin);
  write_model(flags.out, integers, origin);
  std::error_code ignored;
  if (flags.fine_tuning > 0) std::filesystem::remove(checkpoint_of(flags), ignored);

  const Outcome before = outcome_of_floats(model, test ? &*test : nullptr);
  const Outcome after = outcome_of_integers(integers, test ? &*test : nullptr, flags.device);
  if (!flags.report.empty()) {
    write_report(flags, {.model = integers.network.name,
                         .settings = shown_settings(flags),
                         .floats = before,
                         .integers = after,
                         .errors = errors,
                         .scan = scan});
  }
  if (flags.is_json) {
    Json json{{"model", flags.out},
              {"weights_hash", hex(weights_hash(integers))},
              {"bytes", after.bytes},
              {"float_bytes", before.bytes},
              {"seconds", seconds},
              {"errors", Json::parse(error_table_json(errors))},
              {"data_hash", origin.at("data_hash")}};
    if (origin.contains("fine_tuning_data_hash"))
      json["fine_tuning_data_hash"] = origin.at("fine_tuning_data_hash");
    if (!scan.empty()) json["sensitivity"] = Json::parse(sensitivity_json(scan));
    if (test) {
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
  fmt::print("{}\n{}wrote {}; calibrated on {} images and quantized in {:.1f} s\n",
             error_table_text(errors), outcome_table(before, after), flags.out,
             std::min(flags.samples, calib.size()), seconds);
}

}  // namespace

void add_quantize(CLI::App& app) {
  CLI::App& verb = *app.add_subcommand("quantize", "make a float network one of integers");
  const auto flags = std::make_shared<QuantizeVerbFlags>();
  verb.add_option("MODEL", flags->model, "a float model: .nib or .onnx")->type_name("")->required();
  verb.add_option("-o,--output", flags->out, "the model of integers")
      ->type_name("OUT.nib")
      ->required();
  verb.add_option("--fake", flags->fake, "write the fake-quantized float model, too")
      ->type_name("FAKE.nib");
  verb.add_option("--report", flags->report, "write what was lost, layer by layer, as a page")
      ->type_name("FILE.html");
  verb.add_option("--recipe", flags->recipe,
                  fmt::format("{} or a file: options, those given here first",
                              fmt::join(quantize_recipe_names(), ", ")))
      ->type_name("NAME");
  verb.add_option("--calib", flags->calib,
                  "data whose train split shows the ranges: a name or a path, also of a folder of\n"
                  "pictures without classes")
      ->required();
  verb.add_option("--data", flags->data, "data whose test split is counted (as --calib)");
  verb.add_option("--samples", flags->samples, "images for calibration (1024)")
      ->check(CLI::PositiveNumber);
  verb.add_option("--image-size", flags->image_size, "side of the pictures of a folder")
      ->check(CLI::PositiveNumber);
  verb.add_option("--weights", flags->weights, "int8, int7, … int2; fewer than 8 are packed");
  verb.add_option("--activations", flags->activations,
                  "uint8, uint4, …: 0 anywhere; int8, …: values of both signs around 0");
  verb.add_option("--method", flags->method, "of ranges: max, percentile:P, entropy, mse, average");
  verb.add_option("--edges", flags->edge_bits,
                  "bits of the first and the last layer and of what enters the last")
      ->check(CLI::Range(2, 8));
  verb.add_flag("--per-tensor", flags->is_per_tensor,
                "one step for a whole weight instead of one for each output");
  verb.add_flag("--no-equalize", flags->keeps_scales, "leave the scales of channels as they are");
  verb.add_flag("--no-bias-correction", flags->keeps_biases, "leave the biases as they are");
  verb.add_flag("--learn-rounding", flags->learns_rounding,
                "round weights up or down so that the sums of each layer stay");
  CLI::Option* features =
      verb.add_flag("--integer-features", flags->has_integer_features,
                    "the network takes counters and sensors: int32, each feature with its range");
  add_mixed_flags(verb, flags->mixed);
  verb.add_option("--finetune", flags->fine_tuning,
                  "epochs of training with fake quantization and learned steps on --data; after\n"
                  "Ctrl-C the same command goes on from OUT.nib.checkpoint")
      ->excludes(features)
      ->check(CLI::NonNegativeNumber);
  verb.add_option("--lr", flags->rate, "of fine-tuning (0.001), falling to 0 by a cosine")
      ->check(CLI::PositiveNumber);
  verb.add_option("--crop", flags->crop, "of fine-tuning: random crops out of such a border")
      ->check(CLI::NonNegativeNumber);
  verb.add_flag("--flip", flags->flips, "of fine-tuning: mirror every other picture");
  verb.add_option("--seed", flags->seed, "of fine-tuning: decides every number");
  add_threads_option(verb, flags->threads);
  add_device_option(verb, flags->device);
  verb.add_flag("--json", flags->is_json, "print JSON: bytes, top1, float_top1, errors");
  verb.footer(
      "Examples:\n"
      "  nibble quantize runs/lenet-1/model.nib -o lenet8.nib --calib mnist\n"
      "  nibble quantize resnet20.onnx -o r20.nib --calib cifar10 --recipe int4-weights \\\n"
      "    --report r20.html");
  verb.callback([flags, &verb] {
    const std::vector<std::string> given = given_options(verb);
    if (!flags->recipe.empty()) apply_recipe(verb, flags->recipe);
    check_given(*flags, given);
    flags->mixed.is_reported = !flags->report.empty();
    run(*flags);
  });
}

}  // namespace nibble
