// SPDX-License-Identifier: Apache-2.0
// Reads runs of LoadGen.
#include "apps/nibble/verb_parts.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/text_file.h"
#include "loadgen/compliance.h"
#include "loadgen/load_page.h"
#include "loadgen/load_result.h"
#include "loadgen/score.h"
#include "nibble/core/error.h"

namespace nibble {
namespace {

struct ScoreFlags {
  std::string log;
  std::string data;
  std::string split = "test";
  std::string oracle;
  double reference = 0;
  bool checks_oracle = false;
};

// A log, or the folder of a run.
std::filesystem::path log_of(const std::filesystem::path& path) {
  return std::filesystem::is_directory(path) ? path / kAccuracyLog : path;
}

void print_score(const ScoreFlags& flags) {
  const LoggedClasses log = read_logged_classes(log_of(flags.log));
  const auto kept = labels_of_run(log_of(flags.log).parent_path());
  const Score score = score_of(log, kept ? *kept : labels_of(flags.data, flags.split));
  fmt::print("{} of {} samples right: {:.3f} % top-1{}\n", score.top1, score.answered,
             100 * score.share(),
             score.top5 ? fmt::format(", {:.3f} % top-5", 100.0 * static_cast<double>(*score.top5) /
                                                              static_cast<double>(score.answered))
                        : "");
  if (!flags.oracle.empty()) {
    const LogAgreement agreement = agreement_of(log, read_accuracy_log(log_of(flags.oracle)));
    fmt::print("{} of {} answers are those of {}\n", agreement.agreed, agreement.compared,
               flags.oracle);
    if (flags.checks_oracle && agreement.agreed < score.answered) {
      throw Error("loadgen score", "answers of " + flags.oracle, std::to_string(agreement.agreed),
                  fmt::format("all {}", score.answered), ErrorKind::input);
    }
  }
  if (score.answered < score.samples) {
    throw Error("loadgen score", "samples answered", std::to_string(score.answered),
                fmt::format("all {}", score.samples), ErrorKind::input);
  }
  if (100 * score.share() < flags.reference) {
    throw Error("loadgen score", "top-1", fmt::format("{:.3f} %", 100 * score.share()),
                fmt::format("at least {} %", flags.reference), ErrorKind::input);
  }
}

void add_score(CLI::App& verb) {
  CLI::App& score = *verb.add_subcommand("score", "top-1 and top-5 of an accuracy log");
  const auto flags = std::make_shared<ScoreFlags>();
  score.add_option("LOG", flags->log, "mlperf_log_accuracy.json, or the folder of a run")
      ->type_name("")
      ->required();
  score.add_option("--data", flags->data, "what the run was given")->required();
  score.add_option("--split", flags->split, "test or train")
      ->check(CLI::IsMember({"test", "train"}));
  score.add_option("--reference", flags->reference,
                   "top-1 in % that has to be reached; 75.695 is MLPerf's for ResNet-50");
  CLI::Option* oracle =
      score.add_option("--oracle", flags->oracle, "count the answers that another log shares")
          ->type_name("LOG");
  score.add_flag("--check", flags->checks_oracle, "fail where an answer is not the oracle's")
      ->needs(oracle);
  score.footer(
      "Exit code 1: a sample has no answer, the reference is not reached, or with --check an "
      "answer\n"
      "is not the oracle's.\n\n"
      "Examples:\n"
      "  nibble loadgen score runs/accuracy --data cifar10 --reference 91\n"
      "  nibble loadgen score mlperf_log_accuracy.json --data imagenet/val --oracle t4x8.json "
      "--check");
  score.callback([flags] { print_score(*flags); });
}

struct LoadReportFlags {
  std::vector<std::string> runs;
  std::string output = "loadgen.html";
};

void write_page(const LoadReportFlags& flags) {
  std::vector<LoadRecord> runs;
  for (const std::string& folder : flags.runs) runs.push_back(read_load_record(folder));
  const std::string page = load_page(runs);
  if (flags.output == "-") return fmt::print("{}", page);
  write_text_file(flags.output, page);
  fmt::print("{}\n", flags.output);
}

void add_report_of_load(CLI::App& verb) {
  CLI::App& report = *verb.add_subcommand("report", "one HTML page of one or several runs");
  const auto flags = std::make_shared<LoadReportFlags>();
  report.add_option("RUN", flags->runs, "folders that nibble loadgen wrote")
      ->type_name("")
      ->required();
  report.add_option("-o,--output", flags->output, "the page, - for standard output")
      ->type_name("FILE")
      ->capture_default_str();
  report.footer("Examples:\n  nibble loadgen report runs/offline runs/server -o compared.html");
  report.callback([flags] { write_page(*flags); });
}

struct ComplianceFlags {
  std::string accuracy;
  std::string performance;
  std::string audit;
};

void tell_compliance(const char* test, const Compliance& found) {
  if (!found.has_passed) throw Error("loadgen", fmt::format("{} fails: {}", test, found.text));
  fmt::print("{} passes: {}\n", test, found.text);
}

void add_compliance(CLI::App& verb) {
  const auto flags = std::make_shared<ComplianceFlags>();
  const auto add = [&](CLI::App& test, const char* option, std::string& value, const char* help) {
    test.add_option(option, value, help)->type_name("RUN")->required();
  };
  CLI::App& first = *verb.add_subcommand(
      "test01", "whether a performance run gives the answers of the accuracy run");
  add(first, "--accuracy", flags->accuracy, "an accuracy run");
  add(first, "--performance", flags->performance, "a performance run");
  add(first, "--audit", flags->audit, "a performance run with --audit TEST01's audit.config");
  first.footer(
      "Examples:\n"
      "  nibble loadgen test01 --accuracy runs/accuracy --performance runs/offline --audit "
      "runs/audit");
  first.callback([flags] {
    tell_compliance("TEST01", test01(flags->accuracy, flags->performance, flags->audit));
  });
  CLI::App& fourth = *verb.add_subcommand("test04", "whether answers are computed, not remembered");
  add(fourth, "--performance", flags->performance, "a performance run");
  add(fourth, "--same", flags->audit, "one with --set performance_issue_same=1");
  fourth.footer("Examples:\n  nibble loadgen test04 --performance runs/offline --same runs/same");
  fourth.callback([flags] { tell_compliance("TEST04", test04(flags->performance, flags->audit)); });
}

}  // namespace

void add_loadgen_results(CLI::App& verb) {
  add_score(verb);
  add_compliance(verb);
  add_report_of_load(verb);
}

}  // namespace nibble
