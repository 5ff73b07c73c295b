// SPDX-License-Identifier: Apache-2.0
// Calibration, bits of layers, quantization, fine-tuning, integers.
#include "tasks/quantize_network.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "core/hash.h"
#include "data/picture_set.h"
#include "epoch_loop/training_data.h"
#include "foreign/layer_directory/nodes_to_layers.h"
#include "nibble/core/error.h"
#include "nibble/engine/engine.h"
#include "nibble/quantization/quantize_model.h"
#include "nibble/version.h"
#include "quantization/fake_quantized.h"
#include "tasks/open_model.h"

namespace nibble::inline tasks {
namespace {

constexpr std::int64_t kHeldOfFineTuning = std::int64_t{32} << 20;  // bytes of pictures, a split

// On the train split of --data, with the engine's rounding in every step.
Model fine_tuned(const Model& fake, const QuantizeChoices& choices, const QuantizeManner& manner,
                 const Dataset& data, const std::function<Model(const Model&)>& with_new_ranges) {
  FineTuneOptions options{
      .epochs = choices.fine_tuning,
      .augment = {.padding = choices.crop, .has_flip = choices.flips},
      .seed = choices.seed,
      .progress = manner.is_silent ? ProgressStyle::silent : ProgressStyle::automatic,
      .checkpoint = manner.checkpoint};
  options.optimizer.rate = choices.rate;
  options.after_epoch = manner.after_epoch;
  options.during_epoch = manner.during_epoch;
  if (choices.recollects) options.before_epoch = with_new_ranges;
  return fine_tune(fake, data, options);
}

// What counts right answers needs data that have them.
void check_answers(const QuantizeChoices& choices, const Dataset& calib) {
  if (calib.has_answers()) return;
  const bool is_tuned = choices.fine_tuning > 0 && choices.data.empty();
  if (!is_tuned && !choices.mixed.max_loss) return;
  throw Error("quantize",
              is_tuned ? "--finetune on " + choices.calib : "--max-loss on " + choices.calib,
              "pictures without classes", "CLASS/FILE.png", ErrorKind::input);
}

// As layers of NVIDIA's directory, where the network is of its kind.
void take_directory_form(QuantizedNetwork& result) {
  try {
    result.integers = directory_form(result.integers);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    result.no_directory_because = error.reason();
  }
}

}  // namespace

QuantizedNetwork quantize_network(const Model& model, const QuantizeChoices& choices,
                                  const QuantizeManner& manner) {
  if (!is_float_model(model))
    throw Error("quantize", choices.model, "a model of integers", "floats", ErrorKind::input);
  check_device(choices.device);
  const auto begin = [&](std::string_view stage) {
    if (manner.on_stage) manner.on_stage(stage);
  };
  begin("calibration");
  QuantizedNetwork result;
  QuantizeSettings settings = settings_of(choices);
  LoadOptions pictures{.image_size = choices.image_size,
                       .input = input_of(model.network).shape,
                       .skips_broken = choices.skips_broken,
                       .takes_unlabelled = true};
  // A batch and its values take most of what there is.
  if (choices.fine_tuning > 0) pictures.most_in_memory = most_in_memory(kHeldOfFineTuning);
  const Dataset calib = load_dataset(choices.calib, Split::train, pictures);
  pictures.takes_unlabelled = false;
  check_answers(choices, calib);
  const std::string data = choices.data.empty() ? choices.calib : choices.data;
  if ((calib.has_answers() || !choices.data.empty()) && has_split(data, Split::test)) {
    result.test = load_dataset(data, Split::test, pictures);
    check_data(model.network, *result.test);
  }
  result.calibrated = std::min(choices.samples, calib.size());
  const FloatBatches batches = calibration_batches(calib, model.network, choices.samples);
  result.scan = choose_layers(choices.mixed, model, {calib, batches, choices.samples},
                              manner.is_silent, settings);
  begin("rounding");
  const auto start = std::chrono::steady_clock::now();
  QuantizedModel quantized = quantize_model(model, batches, settings);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const bool is_same = data == choices.calib;
  result.origin = {{"made_by", std::string("nibble quantize ") + kVersion},
                   {"quantized_from", choices.model},
                   {"weights", choices.weights},
                   {"activations", choices.activations},
                   {"method", choices.method},
                   {"data_hash", hex(hash_of(calib))}};
  if (choices.fine_tuning > 0) {
    begin("fine-tuning");
    const Dataset other = is_same ? Dataset{} : load_dataset(data, Split::train, pictures);
    quantized.fake =
        fine_tuned(quantized.fake, choices, manner, is_same ? calib : other, [&](const Model& now) {
          return with_new_ranges(now, quantized.folded, batches, settings);
        });
    result.origin["fine_tuning_data_hash"] = hex(hash_of(is_same ? calib : other));
  }
  begin("integers");
  IntegerTwins twins = integer_twins_of(std::move(quantized.fake), settings.form);
  result.fake = std::move(twins.fake);
  result.integers = std::move(twins.integers);
  if (settings.form == IntegerForm::nvidia) take_directory_form(result);
  check_size(choices.mixed, result.integers);
  result.errors = node_errors(quantized.folded, result.fake, batches);
  return result;
}

}  // namespace nibble::inline tasks
