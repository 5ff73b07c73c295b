// SPDX-License-Identifier: Apache-2.0
// How many threads compute, who computes, and what numbers may be.
#include "tasks/shared_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>

#include "core/device_name.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"
#include "tasks/open_model.h"

namespace nibble::inline tasks {
namespace {

template <class IsRight>
OptionCheck expecting(const std::string& words, IsRight is_right) {
  return [words, is_right](const std::string& text) -> std::string {
    double value = 0;
    if (CLI::detail::lexical_cast(text, value) && is_right(value)) return {};
    return fmt::format("got {}, expected {}", text, words);
  };
}

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

OptionCheck within(double least, double most) {
  return expecting(fmt::format("{} to {}", least, most),
                   [least, most](double value) { return value >= least && value <= most; });
}

OptionCheck positive() {
  return expecting("a finite number above 0",
                   [](double value) { return value > 0 && std::isfinite(value); });
}

OptionCheck not_negative() {
  return expecting("a finite number, 0 or more",
                   [](double value) { return value >= 0 && std::isfinite(value); });
}

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  const auto normalize = [least, most](std::string& text) -> std::string {
    std::uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stop != end || value < least || value > most) {
      return fmt::format("got '{}', expected a whole number from {} to {}", text, least, most);
    }
    text = std::to_string(value);
    return {};
  };
  return CLI::Validator(normalize, "", "whole number");
}

OptionCheck ending_in(const std::vector<std::string>& endings) {
  return [endings](const std::string& path) -> std::string {
    const std::string ending = std::filesystem::path(path).extension().string();
    if (ending.empty() || std::ranges::find(endings, ending) != endings.end()) return {};
    return fmt::format("got '{}', expected a name that ends in {}", path, fmt::join(endings, ", "));
  };
}

CLI::Option* add_model_option(CLI::App& verb, std::string& model, const std::string& note) {
  return verb
      .add_option("MODEL", model, "an integer model: a .nib file or the folder of its run" + note)
      ->type_name("")
      ->transform([](const std::string& path) { return model_file_of(path).string(); });
}

void add_threads_option(CLI::App& verb, int& threads, const std::string& note) {
  verb.add_option("--threads", threads, "threads (all cores)" + note)
      ->transform(whole_number(1, kMostThreads));
}

void use_threads(int threads) {
  if (threads > 0) set_thread_count(threads);
  require_threads(thread_count());
}

void add_switch(CLI::App& verb, const std::string& name, std::optional<bool>& is_on,
                const std::string& help) {
  const auto check = [](const std::string& text) -> std::string {
    const bool is_right = text == "true" || text == "false";
    return is_right ? "" : fmt::format("got {}, expected true or false", text);
  };
  verb.add_flag_function(
          name, [&is_on](std::int64_t times) { is_on = times > 0; }, help)
      ->check(check);
}

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
