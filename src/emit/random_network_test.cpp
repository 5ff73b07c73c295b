// SPDX-License-Identifier: Apache-2.0
// Networks by chance: emitted C gives what the definitions give, whatever the compiler does to it.
#include "graph/test_random_network.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "emit/test_emitted_program.h"
#include "graph/test_naive_examples.h"
#include "nibble/graph/network_text.h"

namespace nibble::inline emit {
namespace {

constexpr std::int64_t kExamples = 3;

std::vector<std::string> compilers() {
  std::vector<std::string> list = {
      "gcc -O0", "gcc -O1", "gcc -O2", "gcc -O3",
      "gcc -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"};
  if (std::system("clang --version > /dev/null 2>&1") == 0) list.push_back("clang -O2");
  return list;
}

void check_seed(std::uint64_t seed, const std::string& compiler) {
  RandomNetwork random(seed);
  const Model model = random.model();
  if (model.network.nodes.size() < 2) return;  // nothing to do
  SCOPED_TRACE(::testing::Message() << seed << "\n" << to_toml(model.network));
  const NaiveExamples examples(model, random.dice(), random.input_low(), random.input_high(),
                               kExamples);
  const TestVectors vectors{
      .count = kExamples, .inputs = examples.input, .outputs = examples.values.back()};
  EmitSettings settings;
  settings.batch = 1 + static_cast<std::int64_t>(seed % 3);
  const std::string failure = EmittedProgram(emit_c(model, settings, vectors)).failure(compiler);
  EXPECT_TRUE(failure.empty()) << failure;
}

TEST(RandomNetworks, InCAnswerAsTheDefinitionsSay) {
  const char* first = std::getenv("NIBBLE_SEED");  // by hand: others
  const char* count = std::getenv("NIBBLE_SEEDS");
  const std::uint64_t begin = first == nullptr ? 0 : std::strtoull(first, nullptr, 10);
  const std::uint64_t end = begin + (count == nullptr ? 30 : std::strtoull(count, nullptr, 10));
  const std::vector<std::string> all = compilers();
  for (std::uint64_t seed = begin; seed < end; ++seed) {
    try {
      check_seed(seed, all[seed % all.size()]);
    } catch (const std::exception& error) {
      ADD_FAILURE() << seed << ": " << error.what();
    }
  }
}

}  // namespace
}  // namespace nibble::inline emit
