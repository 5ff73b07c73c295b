// SPDX-License-Identifier: Apache-2.0
// nibble tune: how the layers of a model are best cut on this machine, found by trying and kept
// where measuring in turns confirms it.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/nibble/verb.h"
#include "core/text_file.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"
#include "nibble/engine/engine.h"
#include "tasks/json.h"
#include "tasks/random_examples.h"
#include "tasks/shared_options.h"

namespace nibble {
namespace {

constexpr int kLeastTurns = 31;  // fewer tell a gain from noise too seldom

struct TuneFlags {
  std::string model;
  std::string output;
  std::int64_t batch = 1;
  int threads = 0;
  std::string device = "cpu";
  int rounds = 15;
  bool is_json = false;
};

// An engine with some tuning, what enters it and what came out last.
class TuningTrial {
 public:
  TuningTrial(const TuneFlags& flags, const Tuning& tuning)
      : batch_(flags.batch),
        engine_(Engine::load(flags.model, {.device = flags.device,
                                           .max_batch = flags.batch,
                                           .threads = thread_count(),
                                           .tuning = &tuning})),
        input_(engine_.allocate(engine_.input().bytes * static_cast<std::size_t>(batch_),
                                BufferPlace::device)),
        answers_(engine_.output().bytes * static_cast<std::size_t>(batch_)) {
    input_.write(random_examples(engine_.input(), batch_));
    engine_.run(input_.bytes(), batch_, answers_);  // the first run looks at everything anew
  }

  const std::string& machine() const { return engine_.tuning().tuning.machine; }
  std::vector<ProductCut> cuts() const { return engine_.cuts(); }
  const std::vector<StepInfo>& steps() const { return engine_.steps(); }
  const std::vector<std::byte>& answers() const { return answers_; }

  double seconds_of_run() {
    const auto start = std::chrono::steady_clock::now();
    engine_.run(input_.bytes(), batch_, answers_);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  // Of one run: all steps of a shape together.
  std::map<std::string, double> seconds_by_shape() {
    std::vector<double> seconds(steps().size());
    engine_.run_timed(input_.bytes(), batch_, answers_, seconds);
    std::map<std::string, double> sums;
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      if (!steps()[i].shape.empty()) sums[steps()[i].shape] += seconds[i];
    }
    return sums;
  }

 private:
  std::int64_t batch_;
  Engine engine_;
  EngineBuffer input_;  // where the device reads it best
  std::vector<std::byte> answers_;
};

double median_seconds(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

std::map<std::string, double> medians_by_shape(TuningTrial& trial, int rounds) {
  std::map<std::string, std::vector<double>> times;
  for (int round = 0; round < rounds; ++round) {
    for (const auto& [shape, seconds] : trial.seconds_by_shape()) times[shape].push_back(seconds);
  }
  std::map<std::string, double> medians;
  for (const auto& [shape, all] : times) medians[shape] = median_seconds(all);
  return medians;
}

// The best cut of every shape that seems worth it.
std::map<std::string, ProductCut> find_cuts(TuningTrial& usual, const TuneFlags& flags) {
  const std::map<std::string, double> usual_times = medians_by_shape(usual, flags.rounds);
  std::map<std::string, double> best;
  for (const auto& [shape, seconds] : usual_times) best[shape] = (1 - kWorthwhileGain) * seconds;
  std::map<std::string, ProductCut> found;
  for (const ProductCut& cut : usual.cuts()) {
    Tuning tuning;
    for (const auto& each : best) tuning.cuts[each.first] = cut;
    TuningTrial trial(flags, tuning);
    if (trial.answers() != usual.answers())
      throw Error("tune",
                  fmt::format("answers with layers cut into {} pixels by {} outputs", cut.pixels,
                              cut.outputs),
                  "others", "those of the usual cut", ErrorKind::internal);
    for (const auto& [shape, seconds] : medians_by_shape(trial, flags.rounds)) {
      if (seconds >= best[shape]) continue;
      best[shape] = seconds;
      found[shape] = cut;
    }
  }
  return found;
}

// Runs of two engines in turns, so that what else the machine does meets both.
template <class Measure>
void take_turns(int turns, TuningTrial& usual, TuningTrial& tuned, const Measure& measure) {
  for (int turn = 0; turn < turns; ++turn) {
    if (turn % 2 == 0) measure(usual, false);
    measure(tuned, true);
    if (turn % 2 != 0) measure(usual, false);
  }
}

// Drops the cuts whose own layers do not gain when they are measured against the usual ones.
void keep_confirmed(std::map<std::string, ProductCut>& cuts, TuningTrial& usual,
                    const TuneFlags& flags, int turns) {
  TuningTrial tuned(flags, {.machine = {}, .cuts = cuts});
  std::map<std::string, std::vector<double>> times[2];
  take_turns(turns, usual, tuned, [&](TuningTrial& trial, bool is_tuned) {
    for (const auto& [shape, seconds] : trial.seconds_by_shape())
      times[is_tuned][shape].push_back(seconds);
  });
  std::erase_if(
      cuts, [&](const auto& cut) { return !shows_gain(times[0][cut.first], times[1][cut.first]); });
}

struct TuningOutcome {
  bool has_gain = false;
  std::optional<double> usual;  // median seconds of a whole run; none: no cut was worth one
  std::optional<double> tuned;
};

TuningOutcome tuned_against_usual(const std::map<std::string, ProductCut>& cuts, TuningTrial& usual,
                                  const TuneFlags& flags, int turns) {
  TuningTrial tuned(flags, {.machine = {}, .cuts = cuts});
  std::vector<double> times[2];
  take_turns(turns, usual, tuned, [&](TuningTrial& trial, bool is_tuned) {
    times[is_tuned].push_back(trial.seconds_of_run());
  });
  const double medians[2] = {median_seconds(times[0]), median_seconds(times[1])};
  // Both must tell it: what is printed are the medians, and turns alone may gain where these do
  // not.
  return {.has_gain =
              shows_gain(times[0], times[1]) && medians[1] <= (1 - kWorthwhileGain) * medians[0],
          .usual = medians[0],
          .tuned = medians[1]};
}

std::string outcome_text(const TuningOutcome& outcome, std::size_t cuts, int turns) {
  if (!outcome.usual) return "no gain: no other cut of a layer is faster";
  const double usual = 1e3 * *outcome.usual;
  const double tuned = 1e3 * *outcome.tuned;
  if (!outcome.has_gain)
    return fmt::format(
        "no gain: {:.4g} ms with other cuts, {:.4g} as usual (medians of {} runs in turns)", tuned,
        usual, turns);
  return fmt::format(
      "{} shapes of layers have a better cut: {:.4g} ms instead of {:.4g}, {:.1f} % less "
      "(medians of {} runs in turns)",
      cuts, tuned, usual, 100 * (1 - tuned / usual), turns);
}

void print_outcome(const TuningOutcome& outcome, const std::map<std::string, ProductCut>& cuts,
                   int turns, const std::string& said, const std::filesystem::path& path) {
  const auto ms = [](const std::optional<double>& seconds) {
    return seconds ? Json(1e3 * *seconds) : Json();
  };
  Json json{{"file", path.string()},
            {"has_gain", outcome.has_gain},
            {"tuned_ms", ms(outcome.tuned)},
            {"usual_ms", ms(outcome.usual)},
            {"runs", outcome.usual ? turns : 0},
            {"cuts", Json::array()},
            {"said", said}};
  for (const auto& [shape, cut] : cuts)
    json["cuts"].push_back({{"shape", shape}, {"pixels", cut.pixels}, {"outputs", cut.outputs}});
  fmt::print("{}\n", json.dump(2));
}

// What the file has of other models' shapes stays.
Tuning tuning_to_extend(const std::filesystem::path& path, const std::string& machine) {
  if (std::filesystem::exists(path)) {
    Tuning old = parse_tuning(read_text_file(path, "tune"), path.string());
    if (old.machine == machine) return old;
  }
  return {.machine = machine, .cuts = {}};
}

void run(const TuneFlags& flags) {
  use_threads(flags.threads);
  TuningTrial usual(flags, {});
  if (usual.cuts().empty())
    throw Error("tune", "--device", flags.device,
                "one that has layers to cut: cpu, or cuda on Hopper");
  const std::string machine = usual.machine();
  const std::filesystem::path path =
      flags.output.empty() ? tuning_path(machine) : std::filesystem::path(flags.output);
  Tuning kept = tuning_to_extend(path, machine);
  for (const StepInfo& step : usual.steps()) kept.cuts.erase(step.shape);

  const int turns = std::max(kLeastTurns, 2 * flags.rounds + 1);
  std::map<std::string, ProductCut> cuts = find_cuts(usual, flags);
  if (!cuts.empty()) keep_confirmed(cuts, usual, flags, turns);
  TuningOutcome outcome;
  if (!cuts.empty()) outcome = tuned_against_usual(cuts, usual, flags, turns);
  if (!outcome.has_gain) cuts.clear();
  kept.cuts.insert(cuts.begin(), cuts.end());
  write_tuning(path, kept);
  const std::string said = outcome_text(outcome, cuts.size(), turns);
  if (flags.is_json)
    print_outcome(outcome, cuts, turns, said, path);
  else
    fmt::print("{}\nwrote {}\n", said, path.string());
}

}  // namespace

void add_tune(CLI::App& app) {
  CLI::App& verb =
      *app.add_subcommand("tune", "find how a model's layers are best cut on this machine");
  const auto flags = std::make_shared<TuneFlags>();
  add_model_option(verb, flags->model)->required();
  verb.add_option("--batch", flags->batch, "pictures at a time (1)")
      ->transform(whole_number(1, 65536));
  add_threads_option(verb, flags->threads);
  add_device_option(verb, flags->device);
  verb.add_option("--rounds", flags->rounds, "runs of each way (15)")
      ->transform(whole_number(1, 1000));
  verb.add_option("--output", flags->output, "instead of this machine's file in the cache folder")
      ->type_name("FILE");
  verb.add_flag("--json", flags->is_json, "print JSON: has_gain, tuned_ms, usual_ms, cuts …");
  verb.footer(
      "Writes a text file of one line a shape of layer, which later runs on this machine use by\n"
      "themselves: the number of pixels of a block and of outputs of a panel, on GPUs those of a\n"
      "tile. It changes speed, never a number. A cut is kept only where runs in turns, tuned and "
      "as usual, confirm its gain;\n"
      "otherwise it says \"no gain\". A file of another machine, GPU, path of instructions or "
      "number of\n"
      "threads is not used; bench, run and doctor say which one is. NIBBLE_TUNING names another "
      "file,\n"
      "which must be there.\n\n"
      "Examples:\n"
      "  nibble tune r50.nib --batch 16\n"
      "  nibble tune r50.nib --batch 1024 --device cuda\n"
      "  nibble tune r50.nib --threads 1 --output mine.txt && NIBBLE_TUNING=mine.txt nibble bench "
      "r50.nib --threads 1");
  verb.callback([flags] { run(*flags); });
}

}  // namespace nibble
