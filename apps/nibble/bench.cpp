// SPDX-License-Identifier: Apache-2.0
// nibble bench: how fast the engine runs a model, and how near to the machine's limit.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "apps/nibble/verb.h"
#include "nibble/core/parallel.h"
#include "nibble/engine/engine.h"
#include "tasks/json.h"
#include "tasks/measure_engine.h"
#include "tasks/shared_options.h"

namespace nibble {
namespace {

struct BenchFlags {
  std::string model;
  std::int64_t batch = 1;
  int threads = 0;
  int lanes = 1;
  std::string device = "cpu";
  double seconds = 3;
  bool is_json = false;
  bool has_layers = false;
  bool is_packed = false;
  bool is_unpacked = false;

  std::optional<bool> packs_halves() const {
    return is_packed == is_unpacked ? std::nullopt : std::optional(is_packed);
  }
};

std::string share_words(double rate, double peak) {
  return rate > 0 && peak > 0 ? fmt::format("{:.1f} %", 100 * rate / peak) : "-";
}

// The layer that is nearest to the peak, beside all of them together.
void print_shares(const Json& json) {
  const double peak = json["peak_gops"].get<double>();
  const Json* best = nullptr;
  double seconds = 0;
  double operations = 0;  // in thousands of millions
  for (const Json& step : json["steps"]) {
    if (best == nullptr || step["gops"] > (*best)["gops"]) best = &step;
    seconds += 1e-3 * step["ms"].get<double>();
    operations += 1e-3 * step["ms"].get<double>() * step["gops"].get<double>();
  }
  if (best == nullptr || peak == 0 || seconds == 0) return;
  fmt::print("of peak: {} in the best layer, {}; {} in all layers together\n",
             share_words((*best)["gops"].get<double>(), peak), (*best)["name"].get<std::string>(),
             share_words(operations / seconds, peak));
}

// Steps, each with its shares of what products and, where that is known, copies reach.
void print_layers(const Json& json) {
  const double peak = json["peak_gops"].get<double>();
  const double copies = json["peak_gbytes"].get<double>();
  fmt::print("\n{:<26} {:<34} {:>9} {:>8} {:>7}", "layer", "step", "ms", "GOP/s", "of peak");
  if (copies > 0) fmt::print(" {:>7} {:>10}", "GB/s", "of copying");
  fmt::print("\n");
  for (const Json& step : json["steps"]) {
    const double gops = step["gops"].get<double>();
    const double gbytes = step["gbytes"].get<double>();
    fmt::print("{:<26} {:<34} {:>9.4f} {:>8} {:>7}", step["name"].get<std::string>(),
               step["kind"].get<std::string>(), step["ms"].get<double>(),
               gops > 0 ? fmt::format("{:.0f}", gops) : "-", share_words(gops, peak));
    if (copies > 0) fmt::print(" {:>7.0f} {:>10}", gbytes, share_words(gbytes, copies));
    fmt::print("\n");
  }
  print_shares(json);
}

void print_text(const Json& json, bool has_layers) {
  fmt::print("{}: batch {}, {}, {} threads, {}\n", json["model"].get<std::string>(),
             json["batch"].get<int>(), json["device"].get<std::string>(),
             json["threads"].get<int>(), json["isa"].get<std::string>());
  const Json& tuning = json["tuning"];
  fmt::print("tuning {}{}\n", tuning["file"].get<std::string>(),
             tuning["is_active"].get<bool>()
                 ? fmt::format(": {} of {} steps", tuning["steps"].get<int>(), json["steps"].size())
                 : "");
  fmt::print(
      "{:.1f} images/s, {:.3f} ms a run (median of {}; least {:.3f}, 90 % {:.3f}, 99 % {:.3f})\n",
      json["images_per_second"].get<double>(), json["median_ms"].get<double>(),
      json["runs"].get<int>(), json["least_ms"].get<double>(), json["p90_ms"].get<double>(),
      json["p99_ms"].get<double>());
  const Json& throughput = json["throughput"];
  if (throughput["from_host"].get<double>() > 0) {
    fmt::print("{} batches on their way: {:.1f} images/s from the host, {:.1f} from the device\n",
               throughput["lanes"].get<int>(), throughput["from_host"].get<double>(),
               throughput["from_device"].get<double>());
  }
  fmt::print("{:.0f} GOP/s", json["gops"].get<double>());
  if (json["peak_gops"].get<double>() > 0) {
    fmt::print(", {:.1f} % of the {:.0f} that int8 products by {} reach",
               100 * json["share_of_peak"].get<double>(), json["peak_gops"].get<double>(),
               json["isa"].get<std::string>());
  }
  const auto size = [&](const char* key) {
    const auto bytes = json[key].get<double>();
    return bytes < 1e6 ? fmt::format("{:.1f} kB", 1e-3 * bytes)
                       : fmt::format("{:.2f} MB", 1e-6 * bytes);
  };
  fmt::print("\nweights {}, values {}\nanswers {}\n", size("weight_bytes"), size("arena_bytes"),
             json["answers"].get<std::string>());
  if (!has_layers) return;
  print_layers(json);
}

void run(const BenchFlags& flags) {
  use_threads(flags.threads);
  const Engine engine = Engine::load(flags.model, {.device = flags.device,
                                                   .max_batch = flags.batch,
                                                   .threads = thread_count(),
                                                   .lanes = flags.lanes,
                                                   .packs_halves = flags.packs_halves()});
  const Json json = Json::parse(measure_engine(engine, {.batch = flags.batch,
                                                        .seconds = flags.seconds,
                                                        .device = flags.device,
                                                        .threads = thread_count(),
                                                        .lanes = flags.lanes}));
  if (flags.is_json) {
    fmt::print("{}\n", json.dump(2));
  } else {
    print_text(json, flags.has_layers);
  }
}

}  // namespace

void add_bench(CLI::App& app) {
  CLI::App& verb = *app.add_subcommand("bench", "how fast the engine runs a model");
  const auto flags = std::make_shared<BenchFlags>();
  add_model_option(verb, flags->model)->required();
  verb.add_option("--batch", flags->batch, "pictures at a time (1)")
      ->transform(whole_number(1, 65536));
  add_threads_option(verb, flags->threads);
  add_device_option(verb, flags->device);
  verb.add_option("--lanes", flags->lanes,
                  "batches on their way at a time: more than 1 measures throughput as well (1)")
      ->transform(whole_number(1, 64));
  verb.add_option("--seconds", flags->seconds, "to measure for, at least 5 runs (3)")
      ->check(within(1e-9, 1e9));
  verb.add_flag("--layers", flags->has_layers, "a line for each step as well");
  CLI::Option* unpacked = verb.add_flag(
      "--unpacked", flags->is_unpacked,
      "4-bit weights and values in bytes (always on a GPU; the default where AMX multiplies)");
  verb.add_flag("--packed", flags->is_packed, "in halves of bytes, even where AMX multiplies")
      ->excludes(unpacked);
  verb.add_flag("--json", flags->is_json,
                "print JSON: images_per_second, median_ms, p99_ms, steps …");
  verb.footer(
      "Pictures are made up, the same in every run; `answers` is the hash of what came out: it "
      "must\n"
      "be the same on every machine. GOP/s counts two operations a multiply-accumulate.\n\n"
      "Examples:\n"
      "  nibble bench model.nib --batch 16 --layers\n"
      "  nibble bench model.nib --device cuda --batch 256 --lanes 3\n"
      "  NIBBLE_ISA=avx2 nibble bench model.nib --threads 1 --json");
  verb.callback([flags] { run(*flags); });
}

}  // namespace nibble
