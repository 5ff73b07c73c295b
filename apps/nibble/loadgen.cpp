// SPDX-License-Identifier: Apache-2.0
// nibble loadgen: a model under MLPerf's LoadGen.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "apps/nibble/verb.h"
#include "apps/nibble/verb_parts.h"
#include "loadgen/run_load.h"
#include "nibble/core/error.h"
#include "tasks/shared_options.h"

namespace nibble {
namespace {

struct LoadFlags {
  LoadRunOptions options;
  std::string model;
  std::string scenario = "Offline";
  std::string mode = "performance";
  std::string out;
  std::string user_conf;
  std::string mlperf_conf;
  std::string audit;
  std::string start_from = "host";
  double seconds = 0;
  double target_qps = 0;
  int threads = 0;
};

void run(const LoadFlags& flags) {
  if (!flags.mlperf_conf.empty()) {
    throw Error("loadgen", "--mlperf-conf", flags.mlperf_conf,
                "none: LoadGen has its mlperf.conf compiled in and reads no other");
  }
  for (const auto& [name, text] :
       {std::pair("MODEL", flags.model), std::pair("--data", flags.options.data),
        std::pair("--out", flags.out)}) {
    if (text.empty()) throw CLI::RequiredError(name);
  }
  use_threads(flags.threads);
  LoadRunOptions options = flags.options;
  options.model = flags.model;
  options.out = flags.out;
  options.scenario = parse_scenario(flags.scenario);
  options.mode = parse_load_mode(flags.mode);
  options.user_conf = flags.user_conf;
  options.audit = flags.audit;
  options.threads = flags.threads;
  options.start_from = flags.start_from == "device" ? BufferPlace::device : BufferPlace::host;
  if (flags.seconds > 0)
    options.settings.push_back(fmt::format("min_duration={:.0f}", 1e3 * flags.seconds));
  if (flags.target_qps > 0)
    options.settings.push_back(fmt::format("target_qps={}", flags.target_qps));
  const LoadResult result = run_load(options);
  if (!result.obstacle.empty()) fmt::print("no submission: {}\n", result.obstacle);
  fmt::print("logs in {}\n", flags.out);
  if (!result.is_valid) return;
  const std::string headline = result.headline(options.scenario);
  if (!*result.is_valid) {
    throw Error("loadgen", fmt::format("INVALID, {}: {}", headline, result.reason),
                ErrorKind::input);
  }
  fmt::print("VALID: {} {}\n", flags.scenario, headline);
}

void add_run_options(CLI::App& verb, const std::shared_ptr<LoadFlags>& flags) {
  LoadRunOptions& options = flags->options;
  add_model_option(verb, flags->model);
  verb.add_option("--scenario", flags->scenario, "Offline, Server, SingleStream or MultiStream")
      ->check(CLI::IsMember({"Offline", "Server", "SingleStream", "MultiStream"}))
      ->capture_default_str();
  verb.add_option("--mode", flags->mode,
                  "performance, accuracy, submission (accuracy, then performance),\n"
                  "find-peak (of Server: the highest load that is still valid)")
      ->check(CLI::IsMember({"performance", "accuracy", "submission", "find-peak"}))
      ->capture_default_str();
  verb.add_option(
      "--data", options.data,
      "digits, mnist, fashion-mnist, cifar10, or a path: arrays, folders of pictures with\n"
      "or without classes, archives (.tar), pictures or MLPerf tensors with\n"
      "val_map.txt there or beside it");
  verb.add_option("--split", options.split, "test or train")
      ->check(CLI::IsMember({"test", "train"}));
  verb.add_option("--image-size", options.image_size, "side of the pictures of a folder")
      ->check(positive());
  add_skip_broken_option(verb, options.skips_broken);
  verb.add_option("--out", flags->out,
                  "the folder of the run: LoadGen's logs, and ours beside them")
      ->type_name("DIR");
  verb.add_option("--user-conf", flags->user_conf,
                  "LoadGen's user.conf, as a submission has it; without one a run lasts 10 s")
      ->type_name("FILE");
  verb.add_option("--set", options.settings,
                  "a key of user.conf, over what the file says: target_latency=15,\n"
                  "min_query_count=1000, performance_sample_count_override=64 …; ms and %")
      ->type_name("KEY=NUMBER");
  verb.add_option("--seconds", flags->seconds, "--set min_duration, in seconds")
      ->check(within(0.001, 1e9));
  verb.add_option("--target-qps", flags->target_qps,
                  "--set target_qps: Server's load, Offline's expected speed (measured)")
      ->check(within(1e-6, 1e12));
  verb.add_option("--benchmark", options.benchmark, "whose rules of LoadGen's mlperf.conf hold")
      ->capture_default_str();
  verb.add_option("--audit", flags->audit,
                  "an audit.config to read, of a compliance test; none is read otherwise")
      ->type_name("FILE");
  verb.add_option("--mlperf-conf", flags->mlperf_conf, "refused: LoadGen has its own compiled in")
      ->type_name("FILE")
      ->group("");
  verb.add_option("--batch", options.batch, "most samples of a batch (measured)")
      ->transform(whole_number(1, 65536));
  verb.add_flag("--top5", options.logs_five, "log five classes a sample, the best first");
  add_threads_option(verb, flags->threads);
  add_device_option(verb, options.device);
  verb.add_option("--beside", options.devices_beside,
                  "another device, cuda:1, whose batches run beside those of --device; may be\n"
                  "given for each one more (Offline, Server)")
      ->type_name("DEVICE")
      ->allow_extra_args(false);
  verb.add_option("--start-from", flags->start_from,
                  "where samples lie when time begins: host (pinned for a GPU) or device")
      ->check(CLI::IsMember({"host", "device"}))
      ->capture_default_str();
}

}  // namespace

void add_loadgen(CLI::App& app) {
  CLI::App& verb =
      *app.add_subcommand("loadgen", "a model under MLPerf's LoadGen: speed and accuracy");
  const auto flags = std::make_shared<LoadFlags>();
  add_run_options(verb, flags);
  add_loadgen_results(verb);
  verb.footer(
      "LoadGen is the official one, unmodified. What user.conf does not say (batch, expected "
      "speed)\n"
      "is measured first. Exit code 1: the run is not valid, and one line says why.\n\n"
      "Examples:\n"
      "  nibble loadgen model.nib --data cifar10 --out runs/offline\n"
      "  nibble loadgen model.nib --data cifar10 --out runs/accuracy --mode accuracy\n"
      "  nibble loadgen score runs/accuracy --data cifar10\n"
      "  nibble loadgen model.nib --data cifar10 --out runs/server --scenario Server --target-qps "
      "900\n"
      "  nibble loadgen report runs/* -o loadgen.html");
  verb.callback([&verb, flags] {
    if (verb.get_subcommands().empty()) run(*flags);
  });
}

}  // namespace nibble
