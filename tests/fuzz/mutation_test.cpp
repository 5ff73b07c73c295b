// SPDX-License-Identifier: Apache-2.0
// A short fuzz run without libFuzzer: NIBBLE_FUZZ_RUNS seeded mutations of the corpus go through
// the fuzz target that NIBBLE_FUZZ_TARGET names. Every run is the same; `make fuzz` searches
// further.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/test_fuzz_target.h"
#include "nibble/core/philox.h"

namespace nibble {
namespace {

namespace fs = std::filesystem;

std::string target_name() {
  const char* name = std::getenv("NIBBLE_FUZZ_TARGET");
  return name == nullptr ? "" : name;
}

// What was running when the target aborted, for the report.
std::string current_input;

void print_input(int) {
  std::fprintf(stderr, "aborted on %zu bytes:", current_input.size());
  for (const char c : current_input) std::fprintf(stderr, " %02x", static_cast<unsigned char>(c));
  std::fputs("\n", stderr);
  std::signal(SIGABRT, SIG_DFL);
}

// Only Error may leave the reader, and the target catches it: anything else terminates here.
void run_target(FuzzTarget* target, const std::string& input) noexcept {
  current_input = input;
  const std::vector<std::uint8_t> bytes(input.begin(), input.end());  // exactly sized, for ASan
  target(bytes.data(), bytes.size());
}

std::vector<std::string> corpus_of(const std::string& target) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(fs::path(NIBBLE_CORPUS_DIR) / target))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> inputs;
  for (const fs::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return inputs;
}

class Mutator {
 public:
  Mutator(std::vector<std::string> inputs, std::uint64_t seed)
      : inputs_(std::move(inputs)), seed_(seed) {}

  std::string next() {
    std::string text = any_input();
    for (std::uint32_t changes = 1 + below(4); changes > 0; --changes) change(text);
    return text;
  }

 private:
  std::uint32_t below(std::size_t bound) {
    return static_cast<std::uint32_t>(draw32({.seed = seed_}, drawn_++) % bound);
  }
  const std::string& any_input() { return inputs_[below(inputs_.size())]; }
  char any_byte() { return static_cast<char>(below(256)); }

  void change(std::string& text) {
    static const std::array<std::string, 16> kWords = {"0",
                                                       "-1",
                                                       "4294967296",
                                                       "9223372036854775807",
                                                       "99999999999999999999",
                                                       "1e999",
                                                       "nan",
                                                       "inf",
                                                       "(",
                                                       ")",
                                                       ",",
                                                       "=",
                                                       "'",
                                                       " ",
                                                       "[",
                                                       "]"};
    const std::size_t at = below(text.size() + 1);
    const std::size_t length = std::min<std::size_t>(below(8), text.size() - at);
    switch (below(7)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
      case 1:
        if (at < text.size()) text[at] = any_byte();
        break;
      case 2:
        text.insert(at, 1, any_byte());
        break;
      case 3:
        text.erase(at, length);
        break;
      case 4:
        text.insert(at, text.substr(at, length));
        break;
      case 5:
        text.replace(at, length, kWords[below(kWords.size())]);
        break;
      default: {  // the head of this one, the tail of another
        const std::string& other = any_input();
        text = text.substr(0, at) + other.substr(below(other.size() + 1));
      }
    }
  }

  std::vector<std::string> inputs_;
  std::uint64_t seed_;
  std::uint64_t drawn_ = 0;
};

TEST(ShortFuzz, MutationsOfTheCorpusNeitherCrashNorEscape) {
  const auto target = fuzz_targets().find(target_name());
  ASSERT_NE(target, fuzz_targets().end()) << "NIBBLE_FUZZ_TARGET: " << target_name();
  const std::vector<std::string> inputs = corpus_of(target->first);
  ASSERT_GE(inputs.size(), 20U);
  std::signal(SIGABRT, print_input);
  for (const std::string& input : inputs) run_target(target->second, input);
  run_target(target->second, "");
  Mutator mutator(inputs, 1);
  const char* runs = std::getenv("NIBBLE_FUZZ_RUNS");
  for (int i = runs == nullptr ? 10000 : std::stoi(runs); i > 0; --i)
    run_target(target->second, mutator.next());
  std::signal(SIGABRT, SIG_DFL);
}

}  // namespace
}  // namespace nibble
