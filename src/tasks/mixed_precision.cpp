// SPDX-License-Identifier: Apache-2.0
// Bits per layer: from a file, for a size, or for a loss.
#include "tasks/mixed_precision.h"

#include <fmt/format.h>

#include <algorithm>
#include <CLI/CLI.hpp>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>

#include "core/text_file.h"
#include "nibble/core/error.h"
#include "nibble/emit/emit.h"
#include "nibble/quantization/quantize_model.h"
#include "quantization/answered_classes.h"
#include "quantization/layer_bits_text.h"
#include "tasks/quantize_report.h"
#include "tasks/shared_options.h"

namespace nibble::inline tasks {
namespace {

constexpr std::uint64_t kMostBytes = 1'000'000'000'000'000'000;

constexpr std::size_t kScanBatches = 4;
constexpr std::int64_t kHeldImages = 2048;
const std::vector<int> kBits = {8, 6, 5, 4, 3, 2};

// Evenly spread: data may be sorted by class.
FloatBatches scan_batches(const FloatBatches& batches) {
  FloatBatches some;
  const std::size_t count = std::min(kScanBatches, batches.size());
  for (std::size_t i = 0; i < count; ++i) some.add(batches.at(i * batches.size() / count));
  return some;
}

void add_layers(const BitPlan& plan, QuantizeSettings& settings) {
  for (const auto& [name, bits] : plan.layers) {
    LayerBits& own = settings.layers.try_emplace(name, bits).first->second;
    own.weights = bits.weights;
  }
}

// The smallest plan that loses no more, found by halving: a smaller one is taken to lose more.
BitPlan plan_for_loss(std::vector<BitPlan> plans, double max_loss, const Model& model,
                      const Calibration& calibration, const QuantizeSettings& settings,
                      bool is_silent) {
  const std::vector<std::int32_t> held =
      held_images(calibration.data, calibration.samples, kHeldImages);
  const double exact = top1_of(model, calibration.data, held);
  const auto loss_of = [&](const BitPlan& plan) {
    QuantizeSettings own = settings;
    add_layers(plan, own);
    const QuantizedModel quantized = quantize_model(model, calibration.batches, own);
    const double loss = 100 * (exact - top1_of(quantized.fake, calibration.data, held));
    if (!is_silent) fmt::print("{}: {:.2f} points lost\n", bit_plan_text(plan), loss);
    return loss;
  };
  const double least = loss_of(plans.front());
  if (least > max_loss) {
    throw Error("quantize", "--max-loss", fmt::format("{}", max_loss),
                fmt::format("{:.2f} or more, which is lost with the most bits", least));
  }
  std::size_t good = 0;
  std::size_t bad = plans.size();
  while (bad - good > 1) {
    const std::size_t middle = good + (bad - good) / 2;
    (loss_of(plans[middle]) <= max_loss ? good : bad) = middle;
  }
  return std::move(plans[good]);
}

// A limit that all parameters together keep: weights, biases and factors.
struct SizeTarget {
  std::string_view option;
  std::int64_t bytes = 0;
  std::int64_t (*size_of)(const Model& integers) = nullptr;
};

std::int64_t bytes_emitted(const Model& integers) {
  return emit_figures(integers, {}).parameter_bytes;
}

std::int64_t bytes_stored(const Model& integers) {
  std::int64_t bytes = 0;
  for (const Tensor& each : integers.parameters) bytes += static_cast<std::int64_t>(each.bytes());
  return bytes;
}

std::optional<SizeTarget> size_target(const MixedPrecision& flags) {
  if (flags.target_size > 0) return SizeTarget{"--target-size", flags.target_size, bytes_emitted};
  if (flags.target_file > 0) return SizeTarget{"--target-file", flags.target_file, bytes_stored};
  return std::nullopt;
}

// The bytes of choices as memory holds them.
std::vector<LayerSensitivity> as_held(std::vector<LayerSensitivity> layers, const Model& folded) {
  const std::vector<Parameter> parameters = parameters_of(folded.network);
  for (LayerSensitivity& layer : layers) {
    const std::size_t node = find_node(folded.network, layer.name);
    const Shape& shape = parameters[find_parameter(parameters, node, "weight")].shape;
    for (BitNoise& choice : layer.choices) choice.bytes = held_bytes(shape, choice.bits);
  }
  return layers;
}

// What is no weight takes as many bytes with any plan, nearly: it is found by making the network,
// and a plan that is too large all the same is made smaller by the difference.
BitPlan plan_for_size(std::span<const LayerSensitivity> layers, const SizeTarget& target,
                      const Model& model, const FloatBatches& batches,
                      const QuantizeSettings& settings) {
  const FloatBatches some = scan_batches(batches);
  const auto size_of = [&](const BitPlan& plan) {
    QuantizeSettings own = settings;
    own.learns_rounding = false;
    add_layers(plan, own);
    Model fake = quantize_model(model, some, own).fake;
    return target.size_of(integer_twins_of(std::move(fake)).integers);
  };
  BitPlan least = std::move(bit_plans(layers).back());
  const std::int64_t least_size = size_of(least);
  if (least_size > target.bytes) {
    throw Error("quantize", target.option, fmt::format("{} bytes", target.bytes),
                fmt::format("{} or more, which the fewest bits take", least_size));
  }
  std::int64_t others = least_size - least.bytes;
  while (target.bytes - others >= least.bytes) {
    BitPlan plan = choose_bits(layers, target.bytes - others);
    const std::int64_t size = size_of(plan);
    if (size <= target.bytes) return plan;
    others += size - target.bytes;
  }
  return least;
}

}  // namespace

void add_mixed_flags(CLI::App& verb, MixedPrecision& flags) {
  verb.add_option("--per-layer", flags.per_layer,
                  "bits of layers: [layers.\"NAME\"] with weights and activations")
      ->type_name("FILE.toml");
  CLI::Option* size =
      verb.add_option(
              "--target-size", flags.target_size,
              "int8 or int4 for each layer, so that all parameters, biases and factors too,\n"
              "have so many bytes at most in emitted C")
          ->type_name("BYTES")
          ->transform(whole_number(1, kMostBytes));
  CLI::Option* file =
      verb.add_option(
              "--target-file", flags.target_file,
              "int8 to int2 for each layer, so that they have so many bytes in OUT.nib, where\n"
              "they are packed")
          ->type_name("BYTES")
          ->transform(whole_number(1, kMostBytes))
          ->excludes(size);
  verb.add_option("--max-loss", flags.max_loss,
                  "as few bits for each layer as lose no more points of top-1 on images of\n"
                  "--calib that did not calibrate")
      ->type_name("POINTS")
      ->check(within(0, 100))
      ->excludes(size)
      ->excludes(file);
  verb.add_option("--plan", flags.plan, "write the bits of layers as --per-layer reads them")
      ->type_name("FILE.toml");
  verb.add_flag("--scan", flags.scans, "print what each layer's weight in 8 to 2 bits does");
  verb.add_option("--scan-plot", flags.scan_plot, "draw that")
      ->type_name("FILE.svg")
      ->check(ending_in({".svg"}));
}

std::vector<LayerSensitivity> choose_layers(const MixedPrecision& flags, const Model& model,
                                            const Calibration& calibration, bool is_silent,
                                            QuantizeSettings& settings) {
  const bool shows_scan = flags.scans || flags.is_reported || !flags.scan_plot.empty();
  const std::optional<SizeTarget> target = size_target(flags);
  const bool has_target = target || flags.max_loss;
  if (!shows_scan && !has_target && flags.per_layer.empty() && flags.plan.empty()) return {};
  const Model folded = folded_model(model, settings);
  if (!flags.per_layer.empty()) {
    settings.layers = read_layer_bits(flags.per_layer, folded.network);
  }
  std::vector<LayerSensitivity> layers;
  if (shows_scan || has_target) {
    const FloatBatches batches = scan_batches(calibration.batches);
    layers = scan_sensitivity(folded, settings, batches, kBits);
  }
  if (flags.scans && !is_silent) fmt::print("{}\n", sensitivity_text(layers));
  if (!flags.scan_plot.empty())
    write_text_file(flags.scan_plot, sensitivity_plot(layers, ChartTheme{}));
  if (has_target) {
    const bool is_held = flags.target_size > 0;
    const BitPlan plan = target ? plan_for_size(is_held ? as_held(layers, folded) : layers, *target,
                                                model, calibration.batches, settings)
                                : plan_for_loss(bit_plans(layers), *flags.max_loss, model,
                                                calibration, settings, is_silent);
    if (!is_silent) fmt::print("chosen: {}\n\n", bit_plan_text(plan));
    add_layers(plan, settings);
  }
  if (!flags.plan.empty()) write_text_file(flags.plan, layer_bits_text(settings.layers));
  if (!shows_scan) layers.clear();
  return layers;
}

void check_size(const MixedPrecision& flags, const Model& integers) {
  const std::optional<SizeTarget> target = size_target(flags);
  if (!target) return;
  const std::int64_t size = target->size_of(integers);
  if (size <= target->bytes) return;
  throw Error("quantize", target->option, fmt::format("{} bytes", size),
              fmt::format("at most {}", target->bytes));
}

}  // namespace nibble::inline tasks
