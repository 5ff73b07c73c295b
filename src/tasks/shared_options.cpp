// SPDX-License-Identifier: Apache-2.0
// How many threads compute, who computes, and what numbers may be.
#include "tasks/shared_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "core/device_name.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"

namespace nibble::inline tasks {

std::function<std::string(const std::string&)> within(double least, double most) {
  return [least, most](const std::string& text) -> std::string {
    double value = 0;
    if (CLI::detail::lexical_cast(text, value) && value >= least && value <= most) return {};
    return fmt::format("got {}, expected {} to {}", text, least, most);
  };
}

void add_threads_option(CLI::App& verb, int& threads, const std::string& note) {
  verb.add_option("--threads", threads, "threads (all cores)" + note)
      ->check(CLI::Range(1, kMostThreads));
}

void use_threads(int threads) {
  if (threads > 0) set_thread_count(threads);
  require_threads(thread_count());
}

namespace {

template <class Device>
void add_device(CLI::App& verb, Device& device) {
  verb.add_option("--device", device,
                  "who computes; the integers do not depend on it (cpu):\n"
                  "cpu; cuda or cuda:1, a GPU; reference, the definitions, slowly;\n"
                  "check(cpu,reference), both at once, which ends at the first difference")
      ->check([](const std::string& text) -> std::string {
        try {
          parse_device(text);
        } catch (const Error& error) {
          return error.what();
        }
        return {};
      });
}

}  // namespace

void add_skip_broken_option(CLI::App& verb, bool& skips) {
  verb.add_flag("--skip-broken", skips,
                "leave out pictures that cannot be read, name and count them; all are read once\n"
                "before the work begins. Without it such a picture is an error");
}

void add_device_option(CLI::App& verb, std::string& device) {
  add_device(verb, device);
}

void add_device_option(CLI::App& verb, std::optional<std::string>& device) {
  add_device(verb, device);
}

}  // namespace nibble::inline tasks
