// SPDX-License-Identifier: Apache-2.0
// Options given by name, as programs give them: read by the command's own rules.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace nibble::inline tasks {

// The name without dashes in front, and its values; a flag has none.
using KeywordOption = std::pair<std::string, std::vector<std::string>>;

// Lets `add` describe the options, reads the given ones and calls `work`. Whatever is wrong with an
// option is an Error: "[train] --epochs: …".
void with_keywords(const std::string& task, const std::vector<KeywordOption>& given,
                   const std::function<void(CLI::App&)>& add,
                   const std::function<void(CLI::App&)>& work);

}  // namespace nibble::inline tasks
