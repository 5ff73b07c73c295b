// SPDX-License-Identifier: Apache-2.0
// nibble report: runs as one HTML page.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "apps/nibble/verb.h"
#include "report/html_report.h"
#include "tasks/shared_options.h"

namespace nibble {
namespace {

struct ReportFlags {
  std::vector<std::string> runs;
  std::string output = "report.html";
};

void run(const ReportFlags& flags) {
  std::vector<RunRecord> runs;
  for (const std::string& folder : flags.runs) runs.push_back(read_run(folder));
  if (flags.output == "-") return fmt::print("{}", report_html(runs));
  write_report(flags.output, runs);
  fmt::print("{}\n", flags.output);
}

}  // namespace

void add_report(CLI::App& app) {
  CLI::App& verb = *app.add_subcommand(
      "report", "one HTML page of one or several runs: curves, settings, layers, confusion");
  const auto flags = std::make_shared<ReportFlags>();
  verb.add_option("RUN", flags->runs, "folders that nibble train wrote, also unfinished ones")
      ->type_name("")
      ->required();
  verb.add_option("-o,--output", flags->output,
                  "the page, - for standard output; FILE.svg: test top-1 by epoch as a picture")
      ->type_name("FILE")
      ->check(ending_in({".html", ".htm", ".svg"}))
      ->capture_default_str();
  verb.footer(
      "The page needs no script, no other file and no network.\n\n"
      "Examples:\n"
      "  nibble report runs/lenet-1\n"
      "  nibble report runs/* -o compared.html\n"
      "  nibble report runs/* -o curves.svg");
  verb.callback([flags] { run(*flags); });
}

}  // namespace nibble
