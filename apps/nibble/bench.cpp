// SPDX-License-Identifier: Apache-2.0
// nibble bench: how fast the engine runs a model, and how near to the machine's limit.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <CLI/CLI.hpp>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "apps/nibble/json.h"
#include "apps/nibble/random_examples.h"
#include "apps/nibble/shared_options.h"
#include "apps/nibble/verb.h"
#include "core/hash.h"
#include "core/isa.h"
#include "kernels/products/peak.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"
#include "nibble/engine/engine.h"

namespace nibble {
namespace {

struct BenchFlags {
  std::string model;
  std::int64_t batch = 1;
  int threads = 0;
  std::string device = "cpu";
  double seconds = 3;
  bool is_json = false;
  bool has_layers = false;
  bool is_unpacked = false;
};

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Measurement {
  std::vector<double> times;         // of runs, sorted, in seconds
  std::vector<double> step_seconds;  // of one run, median
  double peak = 0;                   // GOP/s of the machine on as many threads
  std::string isa;
  std::uint64_t answers_hash = 0;

  double at(double share) const {
    const auto last = static_cast<double>(times.size() - 1);
    return times[static_cast<std::size_t>(share * last + 0.5)];
  }
};

Measurement measure(const Engine& engine, const BenchFlags& flags) {
  const std::vector<std::byte> input = random_examples(engine.input(), flags.batch);
  std::vector<std::byte> answers(engine.output().bytes * static_cast<std::size_t>(flags.batch));
  Measurement result;
  result.step_seconds.resize(engine.steps().size());
  engine.run(input, flags.batch, answers);
  result.isa = name_of(last_isa_used());
  Hasher hasher;
  hasher.add(answers);
  result.answers_hash = hasher.value();

  const auto start = Clock::now();
  for (int i = 0; i < 50; ++i)
    result.peak = std::max(result.peak, 1e-9 * peak_of_threads(last_isa_used()));
  while (result.times.size() < 5 || seconds_since(start) < flags.seconds) {
    const auto begin = Clock::now();
    engine.run(input, flags.batch, answers);
    result.times.push_back(seconds_since(begin));
  }
  std::ranges::sort(result.times);
  const int rounds = static_cast<int>(std::clamp(0.3 * flags.seconds / result.at(0.5), 5.0, 50.0));
  std::vector<std::vector<double>> by_step(engine.steps().size());
  for (int i = 0; i < rounds; ++i) {
    std::vector<double> seconds(engine.steps().size());
    engine.run_timed(input, flags.batch, answers, seconds);
    for (std::size_t k = 0; k < seconds.size(); ++k) by_step[k].push_back(seconds[k]);
  }
  for (std::size_t k = 0; k < by_step.size(); ++k) {
    std::ranges::sort(by_step[k]);
    result.step_seconds[k] = by_step[k][by_step[k].size() / 2];
  }
  Hasher again;
  again.add(answers);
  if (again.value() != result.answers_hash)
    throw Error("bench", "answers", "others", "the same in every run", ErrorKind::internal);
  return result;
}

double total_macs(const Engine& engine) {
  return std::accumulate(
      engine.steps().begin(), engine.steps().end(), 0.0,
      [](double sum, const StepInfo& step) { return sum + static_cast<double>(step.macs); });
}

// Which tuning the engine found, and how many of its steps it cuts.
Json tuning_of(const Engine& engine) {
  const TuningFile& tuning = engine.tuning();
  const auto steps = std::ranges::count_if(engine.steps(), [&](const StepInfo& step) {
    return tuning.tuning.cuts.contains(step.shape);
  });
  return {{"file", tuning.to_string()},
          {"is_active", tuning.state == TuningFile::State::active},
          {"steps", steps}};
}

Json json_of(const Engine& engine, const BenchFlags& flags, const Measurement& m) {
  const auto batch = static_cast<double>(flags.batch);
  const double gops = 2e-9 * total_macs(engine) * batch / m.at(0.5);
  Json steps = Json::array();
  for (std::size_t i = 0; i < m.step_seconds.size(); ++i) {
    const StepInfo& step = engine.steps()[i];
    steps.push_back({{"name", step.name},
                     {"kind", step.kind},
                     {"ms", 1e3 * m.step_seconds[i]},
                     {"gops", 2e-9 * static_cast<double>(step.macs) * batch / m.step_seconds[i]}});
  }
  return {{"model", engine.name()},
          {"batch", flags.batch},
          {"device", flags.device},
          {"threads", thread_count()},
          {"isa", m.isa},
          {"tuning", tuning_of(engine)},
          {"images_per_second", batch / m.at(0.5)},
          {"median_ms", 1e3 * m.at(0.5)},
          {"least_ms", 1e3 * m.at(0)},
          {"p90_ms", 1e3 * m.at(0.9)},
          {"p99_ms", 1e3 * m.at(0.99)},
          {"runs", m.times.size()},
          {"gops", gops},
          {"peak_gops", m.peak},
          {"share_of_peak", m.peak > 0 ? gops / m.peak : 0},
          {"weight_bytes", engine.weight_bytes()},
          {"arena_bytes", engine.arena_bytes()},
          {"answers", hex(m.answers_hash)},
          {"steps", std::move(steps)}};
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
  fmt::print("{:.0f} GOP/s", json["gops"].get<double>());
  if (json["peak_gops"].get<double>() > 0) {
    fmt::print(", {:.1f} % of the {:.0f} that int8 products in registers reach",
               100 * json["share_of_peak"].get<double>(), json["peak_gops"].get<double>());
  }
  fmt::print("\nweights {:.2f} MB, values {:.2f} MB\nanswers {}\n",
             1e-6 * json["weight_bytes"].get<double>(), 1e-6 * json["arena_bytes"].get<double>(),
             json["answers"].get<std::string>());
  if (!has_layers) return;
  const double peak = json["peak_gops"].get<double>();
  fmt::print("\n{:<26} {:<34} {:>9} {:>8} {:>7}\n", "layer", "step", "ms", "GOP/s", "of peak");
  for (const Json& step : json["steps"]) {
    const double gops = step["gops"].get<double>();
    fmt::print("{:<26} {:<34} {:>9.4f} {:>8} {:>7}\n", step["name"].get<std::string>(),
               step["kind"].get<std::string>(), step["ms"].get<double>(),
               gops > 0 ? fmt::format("{:.0f}", gops) : "-",
               gops > 0 && peak > 0 ? fmt::format("{:.1f} %", 100 * gops / peak) : "-");
  }
}

void run(const BenchFlags& flags) {
  use_threads(flags.threads);
  const Engine engine = Engine::load(flags.model, {.device = flags.device,
                                                   .max_batch = flags.batch,
                                                   .threads = thread_count(),
                                                   .packs_halves = !flags.is_unpacked});
  const Measurement measurement = measure(engine, flags);
  const Json json = json_of(engine, flags, measurement);
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
  verb.add_option("MODEL", flags->model, "an integer model (.nib)")->type_name("")->required();
  verb.add_option("--batch", flags->batch, "pictures at a time (1)")->check(CLI::Range(1, 65536));
  add_threads_option(verb, flags->threads);
  add_device_option(verb, flags->device);
  verb.add_option("--seconds", flags->seconds, "to measure for, at least 5 runs (3)")
      ->check(CLI::PositiveNumber);
  verb.add_flag("--layers", flags->has_layers, "a line for each step as well");
  verb.add_flag("--unpacked", flags->is_unpacked,
                "keep 4-bit weights and values in bytes, as int8");
  verb.add_flag("--json", flags->is_json,
                "print JSON: images_per_second, median_ms, p99_ms, steps …");
  verb.footer(
      "Pictures are made up, the same in every run; `answers` is the hash of what came out: it "
      "must\n"
      "be the same on every machine. GOP/s counts two operations a multiply-accumulate.\n\n"
      "Examples:\n"
      "  nibble bench model.nib --batch 16 --layers\n"
      "  NIBBLE_ISA=avx2 nibble bench model.nib --threads 1 --json");
  verb.callback([flags] { run(*flags); });
}

}  // namespace nibble
