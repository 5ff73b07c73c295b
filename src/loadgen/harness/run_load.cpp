// SPDX-License-Identifier: Apache-2.0
// Puts a run together and starts LoadGen.
#include "loadgen/run_load.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <loadgen.h>
#include <test_settings.h>

#include <system_error>

#include "core/text_file.h"
#include "core/warning.h"
#include "inference/example_source.h"
#include "loadgen/harness/batch_plan.h"
#include "loadgen/harness/load_settings.h"
#include "loadgen/harness/submission_rules.h"
#include "loadgen/harness/systems.h"
#include "loadgen/load_conf.h"
#include "loadgen/load_description.h"
#include "loadgen/score.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"
#include "nibble/graph/model_file.h"
#include "nibble/run_folder/interrupt.h"

namespace nibble::inline loadgen {
namespace {

namespace fs = std::filesystem;

constexpr double kFirstPeakShare = 0.5;  // find-peak begins there, rises by half, then bisects
constexpr double kPeakStep = 0.5;
constexpr double kLeastWholeRate = 100;  // below it a peak has a decimal
constexpr double kPeakProbeMs = 2'000;   // of each of its dozen runs
constexpr double kSingleShare = 0.5;     // of the measured time: rather too many queries than few
constexpr const char* kEveryBenchmark = "*";

bool is_gpu(const std::string& device) {
  return device.starts_with("cuda");
}

void check_options(const LoadRunOptions& options) {
  if (options.mode == LoadMode::find_peak && options.scenario != Scenario::server) {
    throw Error("loadgen", "mode find-peak", std::string(name_of(options.scenario)),
                "Server: LoadGen looks for a peak there alone");
  }
  std::vector<std::string> devices = options.devices_beside;
  devices.push_back(options.device);
  for (const std::string& device : devices) {
    if (options.start_from == BufferPlace::device && !is_gpu(device))
      throw Error("loadgen", "--start-from device on " + device, "memory of the host alone",
                  "--start-from host");
  }
  if (devices.size() > 1 && is_stream(options.scenario)) {
    throw Error("loadgen", "several devices", std::string(name_of(options.scenario)),
                "Offline or Server: a stream has one query at a time");
  }
  if (fs::exists(options.out / kDetailLog)) {
    throw Error("loadgen", options.out.string(), "a folder that holds a run", "another");
  }
  if (!options.audit.empty() && !fs::exists(options.audit)) {
    throw Error("loadgen", options.audit.string(), "no such file", "an audit.config",
                ErrorKind::system);
  }
  if (options.audit.empty() && fs::exists("audit.config")) {
    warn("audit.config in this folder is not read: --audit audit.config reads it");
  }
}

// LoadGen numbers the samples that are left, so that the data's own labels are another's.
void write_labels(const fs::path& folder, const std::vector<std::int32_t>& labels) {
  write_text_file(folder / kRunLabels, fmt::format("{}\n", fmt::join(labels, "\n")));
}

// What the rules of a submission forbid; empty: nothing that is known.
std::string obstacle_to_submission(const LoadRunOptions& options,
                                   const mlperf::TestSettings& settings) {
  if (options.user_conf.empty()) return "it has no user.conf";
  if (!options.audit.empty()) return "it is an audit";
  if (options.mode == LoadMode::find_peak) return "it looked for a peak";
  if (options.skips_broken) return "broken pictures may have been left out";
  if (options.split == "train") return "it ran on data for training";
  return broken_rules(settings, options.benchmark, options.scenario);
}

LoadConf conf_of(const LoadRunOptions& options) {
  const bool has_file = !options.user_conf.empty();
  LoadConf conf(has_file ? read_text_file(options.user_conf, "loadgen") : "", options.benchmark,
                options.scenario);
  conf.check(options.user_conf.string());
  if (conf.has("mode"))
    throw Error("loadgen", options.user_conf.string(), "'mode'", "--mode", ErrorKind::input);
  for (const std::string& setting : options.settings) conf.set(setting);
  if (has_file) return conf;
  if (!conf.has("min_duration"))
    conf.set("min_duration", options.mode == LoadMode::find_peak ? kPeakProbeMs : kShortRunMs);
  if (!conf.has("min_query_count") && options.scenario == Scenario::offline)
    conf.set("min_query_count", 1);
  return conf;
}

mlperf::TestMode loadgen_mode(LoadMode mode) {
  switch (mode) {
    case LoadMode::accuracy:
      return mlperf::TestMode::AccuracyOnly;
    case LoadMode::submission:
      return mlperf::TestMode::SubmissionRun;
    case LoadMode::find_peak:
      return mlperf::TestMode::FindPeakPerformance;
    case LoadMode::performance:
      break;
  }
  return mlperf::TestMode::PerformanceOnly;
}

[[noreturn]] void refuse_conf(const std::string& path) {
  throw Error("loadgen", path, "what LoadGen cannot read", "lines 'model.scenario.key = number'",
              ErrorKind::input);
}

// By LoadGen's own reader, which begins with the mlperf.conf that is compiled into it.
mlperf::TestSettings settings_of(const LoadRunOptions& options, const LoadConf& conf) {
  const fs::path path = options.out / "user.conf";
  write_text_file(path, conf.text());
  mlperf::TestSettings settings;
  if (settings.FromConfig(path.string(), conf.benchmark(),
                          std::string(name_of(options.scenario))) != 0) {
    refuse_conf(options.user_conf.string());
  }
  settings.scenario = official_scenario(options.scenario);
  settings.mode = loadgen_mode(options.mode);
  return settings;
}

// What LoadGen is to expect, where the configuration does not say it.
void expect(mlperf::TestSettings& settings, const LoadConf& conf, Scenario scenario,
            const BatchPlan& plan) {
  if (conf.has(is_stream(scenario) ? "target_latency" : "target_qps")) return;
  settings.offline_expected_qps = plan.samples_per_second;
  settings.server_target_qps = kServerShare * plan.samples_per_second;
  settings.single_stream_expected_latency_ns = kSingleShare * 1e9 * plan.seconds;
  settings.multi_stream_expected_latency_ns = kSingleShare * 1e9 * plan.seconds;
}

// The search ends where the bounds are a query a second apart, or a tenth of one.
void expect_peak(mlperf::TestSettings& settings, const LoadConf& conf, const BatchPlan& plan) {
  if (settings.mode != mlperf::TestMode::FindPeakPerformance) return;
  if (!conf.has("target_qps"))
    settings.server_target_qps = kFirstPeakShare * plan.samples_per_second;
  settings.server_find_peak_qps_boundary_step_size = kPeakStep;
  settings.server_find_peak_qps_decimals_of_precision =
      settings.server_target_qps >= kLeastWholeRate ? 0 : 1;
}

// As LoadGen starts: with the settings of an audit.config, where one is given.
void check_with_audit(mlperf::TestSettings settings, const LoadRunOptions& options,
                      std::size_t samples) {
  check_settings(settings, samples);
  if (options.audit.empty()) return;
  const std::string path = options.audit.string();
  LoadConf(read_text_file(options.audit, "loadgen"), kEveryBenchmark, options.scenario).check(path);
  if (settings.FromConfig(path, kEveryBenchmark, std::string(name_of(options.scenario)), 2) != 0)
    refuse_conf(path);
  check_settings(settings, samples);
}

PlannedEngine plan_for(const std::string& device, const LoadRunOptions& options, const Model& model,
                       const mlperf::TestSettings& settings, const LoadConf& conf) {
  const bool is_server = options.scenario == Scenario::server;
  // A search for the peak ends above its first load: about where a run without a target begins.
  const bool has_load = is_server && options.mode != LoadMode::find_peak && conf.has("target_qps");
  return plan_batches(
      {.scenario = options.scenario,
       .threads = options.threads > 0 ? options.threads : thread_count(),
       .is_gpu = is_gpu(device),
       .start_from = options.start_from,
       .batch = static_cast<std::size_t>(options.batch),
       .samples_per_query =
           options.scenario == Scenario::multi_stream ? settings.multi_stream_samples_per_query : 1,
       .target_qps = has_load ? settings.server_target_qps : 0,
       .devices = 1 + static_cast<int>(options.devices_beside.size()),
       .latency_bound =
           std::chrono::nanoseconds(is_server ? settings.server_target_latency_ns : 0)},
      [&](EngineOptions engine) {
        engine.device = device;
        return std::make_unique<AnswerEngine>(copy_of(model), engine);
      });
}

// All devices have the batches that are best for the first, and its lanes: several of a kind are
// meant.
std::vector<PlannedEngine> plan_all(const LoadRunOptions& options, const Model& model,
                                    const mlperf::TestSettings& settings, const LoadConf& conf) {
  std::vector<PlannedEngine> planned = {plan_for(options.device, options, model, settings, conf)};
  for (const std::string& device : options.devices_beside) {
    planned.push_back(plan_for(device, options, model, settings, conf));
    BatchPlan& first = planned.front().plan;
    first.samples_per_second += planned.back().plan.samples_per_second;
    first.runs_in_place = false;
  }
  return planned;
}

std::size_t classes_logged(const LoadRunOptions& options, const AnswerEngine& engine) {
  if (!options.logs_five) return 1;
  if (engine.gives_class())
    throw Error("loadgen", "--top5", "a network that gives a class alone", "5 answers or more");
  if (const std::int64_t answers = engine.engine().output().shape.elements(); answers < 5)
    throw Error("loadgen", "--top5", fmt::format("a network of {} answers", answers), "5 or more");
  return 5;
}

}  // namespace

bool has_loadgen() {
  return true;
}

LoadResult run_load(const LoadRunOptions& options) {
  check_options(options);
  const InterruptGuard guard;
  Model model = read_model(options.model).model;
  LoadDescription description{.options = options, .weights = weights_hash(model)};
  fs::create_directories(options.out);
  const LoadConf conf = conf_of(options);
  mlperf::TestSettings settings = settings_of(options, conf);
  const std::vector<PlannedEngine> planned = plan_all(options, model, settings, conf);
  const BatchPlan& plan = planned.front().plan;
  expect(settings, conf, options.scenario, plan);
  expect_peak(settings, conf, plan);

  std::vector<const AnswerEngine*> engines;
  std::vector<const Engine*> devices;
  for (const PlannedEngine& each : planned) {
    engines.push_back(each.engine.get());
    devices.push_back(&each.engine->engine());
  }
  const AnswerEngine& engine = *engines.front();
  const std::unique_ptr<ExampleSource> source =
      load_examples(options.data,
                    {.split = options.split == "train" ? Split::train : Split::test,
                     .image_size = options.image_size,
                     .skips_broken = options.skips_broken,
                     .takes_unlabelled = true},
                    engine);
  if (options.skips_broken) write_labels(options.out, source->examples.labels);
  RunFailure failure;
  LoadMeter meter;
  SampleLibrary samples(source->examples, devices, options.start_from, plan.most_samples, failure);
  // One more batch than lanes is ready when one ends, but not where samples come one by one.
  const auto slots =
      static_cast<std::size_t>(plan.lanes + (options.scenario == Scenario::offline ? 1 : 0));
  BatchRunner runner(engines, samples, slots, classes_logged(options, engine), failure, meter);
  const std::unique_ptr<mlperf::SystemUnderTest> system = make_system(
      options.scenario, {"Nibble_" + engine.engine().name(), runner, samples, failure, plan});

  check_with_audit(settings, options, source->examples.size());
  description.obstacle = obstacle_to_submission(options, settings);
  description.expected_rate = expected_rate(settings);
  description.most_samples = plan.most_samples;
  description.longest_wait_ms = 1e-6 * static_cast<double>(plan.longest_wait.count());
  description.in_time_for_ms = 1e-6 * static_cast<double>(plan.in_time_for.count());
  description.lanes = plan.lanes;
  description.threads = plan.threads;
  write_text_file(options.out / "settings.json", to_json(description));

  mlperf::LogSettings logs;
  logs.log_output.outdir = options.out.string();
  logs.enable_trace = false;
  // An empty name: LoadGen reads no audit.config that happens to lie about.
  mlperf::StartTest(system.get(), &samples, settings, logs, options.audit.string());
  meter.write(options.out, plan.lanes * static_cast<int>(engines.size()));
  LoadResult result = read_load_result(options.out);
  result.obstacle = description.obstacle;
  return result;
}

}  // namespace nibble::inline loadgen
