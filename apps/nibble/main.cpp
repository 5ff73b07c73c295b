// SPDX-License-Identifier: Apache-2.0
// The nibble command. Exit codes: 0 done, 1 failed, 2 wrong usage, 128 + signal: interrupted. With
// NIBBLE_ERRORS=kind the kind of an error stands in front of its text.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "apps/nibble/verb.h"
#include "backend/cuda/register.h"
#include "core/name.h"
#include "core/nearest_name.h"
#include "core/temporary.h"
#include "core/warning.h"
#include "float_training/cuda/register.h"
#include "nibble/core/error.h"
#include "nibble/core/limits.h"
#include "nibble/engine/cuda_engine.h"
#include "nibble/run_folder/interrupt.h"
#include "nibble/version.h"

namespace {

constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;
constexpr std::string_view kVerbsWithoutNetworks[] = {"formats", "round",  "encode", "decode",
                                                      "data",    "report", "doctor", "signature"};

// A reader that went away is no news to anybody.
extern "C" void leave_quietly(int) {
  nibble::remove_temporaries();
  _exit(kFailed);
}

// Where nobody can be told, the exit code still says it.
void complain(const std::string& text) {
  std::fputs(text.c_str(), stderr);
}

std::string_view word_of(nibble::ErrorKind kind) {
  using enum nibble::ErrorKind;
  switch (kind) {
    case usage:
      return "usage";
    case input:
      return "input";
    case limit:
      return "limit";
    case memory:
      return "memory";
    case system:
      return "system";
    case device:
      return "device";
    case internal:
      return "internal";
  }
  return "internal";
}

// "device: " for programs that have asked for it.
std::string kind_in_front(nibble::ErrorKind kind) {
  const char* asked = std::getenv("NIBBLE_ERRORS");
  if (asked == nullptr || std::string_view(asked) != "kind") return "";
  return fmt::format("{}: ", word_of(kind));
}

// Errors are one line, whatever they quote, and no terminal obeys them.
int fail(const std::string& text, nibble::ErrorKind kind) {
  complain(fmt::format("nibble: {}{}\n", kind_in_front(kind), nibble::well_formed(text)));
  return kFailed;
}

std::vector<CLI::App*> verbs_of(CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> names_of_verbs(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(verb->get_name());
  return names;
}

std::vector<std::string> names_of_options(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// The first option that a verb has not, else the first word that it has no place for.
std::string unexpected(const CLI::App& verb) {
  const std::vector<std::string> words = verb.remaining();
  auto found = std::ranges::find_if(words, [](auto& word) { return word.starts_with('-'); });
  const bool is_option = found != words.end();
  if (!is_option) found = words.begin();
  const std::string word = is_option ? found->substr(0, found->find('=')) : *found;
  const char* kind = is_option                               ? "unknown option"
                     : verb.get_require_subcommand_min() > 0 ? "unknown verb"
                                                             : "unexpected argument";
  const std::string meant =
      nibble::nearest_name(word, is_option ? names_of_options(verb) : names_of_verbs(verb));
  return fmt::format("{} '{}'{}", kind, word,
                     meant.empty() ? "" : fmt::format(": did you mean '{}'?", meant));
}

int explain(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* verb = &app;
  std::string call;  // " loadgen score"
  while (verb->remaining_size() == 0 && !verb->get_subcommands().empty()) {
    verb = verb->get_subcommands().front();
    call += " " + verb->get_name();
  }
  const std::string text = verb->remaining_size() > 0               ? unexpected(*verb)
                           : verb->get_require_subcommand_min() > 0 ? "a verb is required"
                                                                    : error.what();
  complain(fmt::format("nibble:{} {} ('nibble{} --help' shows the usage and examples)\n",
                       call.empty() ? "" : call + ":", nibble::well_formed(text), call));
  return kWrongUsage;
}

struct VerbGroup {
  const char* title;
  std::vector<void (*)(CLI::App&)> verbs;
};

// As the help shows them.
std::vector<VerbGroup> verb_groups() {
  using namespace nibble;
  return {{"Numbers", {add_formats, add_round, add_encode, add_decode}},
          {"Train", {add_train, add_eval, add_sweep, add_place, add_report, add_compare}},
          {"Quantize and run", {add_quantize, add_run, add_bench, add_tune, add_loadgen}},
          {"Models and export", {add_describe, add_convert, add_emit}},
          {"This machine", {add_data, add_doctor, add_signature}}};
}

void add_verbs(CLI::App& app) {
  for (const VerbGroup& group : verb_groups()) {
    for (const auto add_verb : group.verbs) {
      add_verb(app);
      verbs_of(app).back()->group(group.title);
    }
  }
}

// Of all verbs that read networks and data, from wherever they come.
void add_limits(CLI::App& app) {
  for (CLI::App* verb : verbs_of(app)) {
    const bool reads_none = std::ranges::find(kVerbsWithoutNetworks, verb->get_name()) !=
                            std::ranges::end(kVerbsWithoutNetworks);
    if (reads_none) continue;
    verb->add_option_function<std::string>(
            "--limits",
            [](const std::string& text) {
              try {
                nibble::set_limits(nibble::parse_limits(text));
              } catch (const nibble::Error& error) {
                throw CLI::ValidationError("--limits", error.what());
              }
            },
            "what files may ask for:\n" + nibble::to_string(nibble::Limits{}))
        ->type_name("NAME=N,...");
  }
}

int run(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return error.get_exit_code() == 0 ? app.exit(error) : explain(app, error);
  } catch (const nibble::Interrupted& interrupted) {
    complain(fmt::format("nibble: {}\n", nibble::well_formed(interrupted.what())));
    return 128 + interrupted.signal();
  } catch (const std::bad_alloc&) {
    return fail("out of memory", nibble::ErrorKind::memory);
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(fmt::format("cannot use {}: {}", error.path1().string(), error.code().message()),
                nibble::ErrorKind::system);
  } catch (const nibble::Error& error) {
    return fail(error.what(), error.kind());
  } catch (const std::exception& error) {
    return fail(error.what(), nibble::ErrorKind::internal);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  nibble::register_cuda_backend();
  nibble::register_cuda_float_device();
  nibble::register_cuda_engine();
  std::signal(SIGPIPE, leave_quietly);
  nibble::end_on_interrupt();
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error like a full disk
  CLI::App app{"Neural networks in few bits, and the same bits everywhere.", "nibble"};
  app.set_version_flag("--version", std::string("nibble ") + nibble::kVersion);
  app.require_subcommand(1);
  app.get_formatter()->column_width(32);
  app.footer(
      "Examples:\n"
      "  nibble formats e4m3                           what a format holds\n"
      "  nibble round --to e4m3 --stats in.npy out.npy round an array, say what it cost\n"
      "'nibble VERB --help' shows the options of a verb.");
  add_verbs(app);
  add_limits(app);

  const int status = run(app, argc, argv);
  for (const std::string& text : nibble::take_warnings()) {
    if (status == 0) complain(fmt::format("nibble: warning: {}\n", nibble::well_formed(text)));
  }
  errno = 0;
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    const int code = errno;
    if (status != 0 || code == 0 || code == EBADF) return kFailed;
    return fail("cannot write standard output: " + std::generic_category().message(code),
                nibble::ErrorKind::system);
  }
  return status;
}
