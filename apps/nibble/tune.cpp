// SPDX-License-Identifier: Apache-2.0
// nibble tune: how the layers of a model are best cut on this machine, found by trying.
#include <fmt/format.h>

#include <algorithm>
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "apps/nibble/random_examples.h"
#include "apps/nibble/threads_option.h"
#include "apps/nibble/verb.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"
#include "nibble/engine/engine.h"

namespace nibble {
namespace {

constexpr double kWorthIt = 0.98;  // of the usual time: less gain is noise

struct TuneFlags {
  std::string model;
  std::string output;
  std::int64_t batch = 1;
  int threads = 0;
  int rounds = 15;
};

std::vector<ProductCut> candidates() {
  std::vector<ProductCut> list = {{}};
  for (const std::int64_t outputs : {64, 48, 32}) {
    for (const std::int64_t pixels : {48, 96, 144, 196, 288, 392})
      list.push_back({pixels, outputs});
  }
  return list;
}

// Every product of an engine cut the same way.
Tuning all_cut(const std::vector<StepInfo>& steps, const ProductCut& cut) {
  Tuning tuning;
  for (const StepInfo& step : steps) {
    if (!step.shape.empty()) tuning.cuts[step.shape] = cut;
  }
  return tuning;
}

// Median seconds of each step.
std::vector<double> times_of(const Engine& engine, const TuneFlags& flags,
                             std::vector<std::byte>& answers) {
  const std::vector<std::byte> input = random_examples(engine.input(), flags.batch);
  answers.resize(engine.output().bytes * static_cast<std::size_t>(flags.batch));
  std::vector<std::vector<double>> times(engine.steps().size());
  for (int round = 0; round <= flags.rounds; ++round) {
    std::vector<double> seconds(times.size());
    engine.run_timed(input, flags.batch, answers, seconds);
    if (round == 0) continue;  // the first looks at everything anew
    for (std::size_t i = 0; i < times.size(); ++i) times[i].push_back(seconds[i]);
  }
  std::vector<double> medians;
  for (std::vector<double>& each : times) {
    std::ranges::sort(each);
    medians.push_back(each[each.size() / 2]);
  }
  return medians;
}

void run(const TuneFlags& flags) {
  use_threads(flags.threads);
  EngineOptions options{.max_batch = flags.batch, .threads = thread_count()};
  const Tuning usual;
  options.tuning = &usual;
  const Engine first = Engine::load(flags.model, options);
  std::vector<std::byte> wanted;
  const std::vector<double> usual_times = times_of(first, flags, wanted);
  std::vector<double> best = usual_times;
  const std::string machine = machine_name(thread_count());
  const std::filesystem::path path =
      flags.output.empty() ? tuning_path(machine) : std::filesystem::path(flags.output);
  Tuning found = read_tuning(path, machine);
  for (const StepInfo& step : first.steps()) found.cuts.erase(step.shape);
  for (const ProductCut& cut : candidates()) {
    const Tuning tuning = all_cut(first.steps(), cut);
    options.tuning = &tuning;
    const Engine engine = Engine::load(flags.model, options);
    std::vector<std::byte> answers;
    const std::vector<double> times = times_of(engine, flags, answers);
    if (answers != wanted)
      throw Error("tune", "answers", "others", "the same however layers are cut");
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (first.steps()[i].shape.empty() || times[i] >= best[i] ||
          times[i] >= kWorthIt * usual_times[i])
        continue;
      best[i] = times[i];
      found.cuts[first.steps()[i].shape] = cut;
    }
  }
  write_tuning(path, found);
  double before = 0;
  double after = 0;
  for (std::size_t i = 0; i < best.size(); ++i) {
    before += usual_times[i];
    after += best[i];
  }
  fmt::print(
      "{} of {} steps have a better cut: {:.3f} ms instead of {:.3f} (sums of medians)\nwrote {}\n",
      std::ranges::count_if(first.steps(),
                            [&](const StepInfo& step) { return found.cuts.contains(step.shape); }),
      first.steps().size(), 1e3 * after, 1e3 * before, path.string());
}

}  // namespace

void add_tune(CLI::App& app) {
  CLI::App& verb =
      *app.add_subcommand("tune", "find how a model's layers are best cut on this machine");
  const auto flags = std::make_shared<TuneFlags>();
  verb.add_option("MODEL", flags->model, "an integer model (.nib)")->type_name("")->required();
  verb.add_option("--batch", flags->batch, "pictures at a time (1)")->check(CLI::Range(1, 65536));
  add_threads_option(verb, flags->threads);
  verb.add_option("--rounds", flags->rounds, "runs of each way (15)")->check(CLI::Range(1, 1000));
  verb.add_option("--output", flags->output, "instead of this machine's file in the cache folder")
      ->type_name("FILE");
  verb.footer(
      "Writes a text file of one line a shape of layer, which later runs on this machine use by\n"
      "themselves: the number of pixels of a block and of outputs of a panel. It changes speed, "
      "never\n"
      "a number; a file of another machine is not used. NIBBLE_TUNING names another file.\n\n"
      "Examples:\n"
      "  nibble tune r50.nib --batch 16\n"
      "  nibble tune r50.nib --threads 1 --output mine.txt && NIBBLE_TUNING=mine.txt nibble bench "
      "r50.nib --threads 1");
  verb.callback([flags] { run(*flags); });
}

}  // namespace nibble
