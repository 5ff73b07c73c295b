// SPDX-License-Identifier: Apache-2.0
// Options given by name as the words of a command line.
#include "tasks/keyword_options.h"

#include <algorithm>
#include <CLI/CLI.hpp>

#include "nibble/core/error.h"

namespace nibble::inline tasks {

void with_keywords(const std::string& task, const std::vector<KeywordOption>& given,
                   const std::function<void(CLI::App&)>& add,
                   const std::function<void(CLI::App&)>& work) {
  CLI::App verb("", task);
  add(verb);
  std::vector<std::string> words;
  for (const auto& [name, values] : given) {
    const std::string option = "--" + name;
    if (verb.get_option_no_throw(option) == nullptr) {
      throw Error(task, "option", "'" + name + "'",
                  "one that 'nibble " + task + " --help' lists, with _ for -");
    }
    if (values.empty()) words.push_back(option);
    for (const std::string& value : values) words.push_back(option + "=" + value);
  }
  try {
    std::ranges::reverse(words);  // as CLI11 takes them
    verb.parse(words);
    work(verb);
  } catch (const CLI::ParseError& error) {
    throw Error(task, error.what());
  }
}

}  // namespace nibble::inline tasks
