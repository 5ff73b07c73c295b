// SPDX-License-Identifier: Apache-2.0
// Options that several verbs have: MODEL of those that run one, --threads of those that compute for
// long, --device of those that compute on integers.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace nibble::inline tasks {

// For an option's check: a number from least to most; a finite one above 0, or from 0 on. CLI11's
// own ranges let nan through, and show limits with hundreds of digits.
using OptionCheck = std::function<std::string(const std::string&)>;
OptionCheck within(double least, double most);
OptionCheck positive();
OptionCheck not_negative();

// For an option's transform: digits alone. CLI11 makes a large number of -1, and a smaller one of
// what is too large.
CLI::Validator whole_number(std::uint64_t least = 0,
                            std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

// For the check of an option that names a file to write: a name with no ending, one of these, or -.
OptionCheck ending_in(const std::vector<std::string>& endings);

// An integer model by its file or the folder of its run; `model` becomes the file.
CLI::Option* add_model_option(CLI::App& verb, std::string& model, const std::string& note = "");

// `note` is added to the help of the option.
void add_threads_option(CLI::App& verb, int& threads, const std::string& note = "");

// Before the verb begins: a number that the system does not let run is refused, not found out in
// the middle. 0: the default.
void use_threads(int threads);

void add_device_option(CLI::App& verb, std::string& device);
void add_device_option(CLI::App& verb, std::optional<std::string>& device);

// A flag that turns something on, and off by `=false` where a recipe has turned it on.
void add_switch(CLI::App& verb, const std::string& name, std::optional<bool>& is_on,
                const std::string& help);

// --skip-broken of verbs that read pictures.
void add_skip_broken_option(CLI::App& verb, bool& skips);

}  // namespace nibble::inline tasks
