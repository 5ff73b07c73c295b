// SPDX-License-Identifier: Apache-2.0
// Emits networks by chance, so that every operation runs on every target:
//   random_networks OUT FIRST COUNT    writes OUT/random-SEED for COUNT seeds from FIRST on
#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>

#include "graph/test_naive_examples.h"
#include "graph/test_random_network.h"
#include "nibble/emit/emit.h"

namespace nibble {
namespace {

// False where chance gave no layer at all.
bool emit_seed(const std::filesystem::path& folder, std::uint64_t seed) {
  constexpr std::int64_t kExamples = 6;
  RandomNetwork random(seed);
  const Model model = random.model();
  if (model.network.nodes.size() < 2) return false;
  const NaiveExamples examples(model, random.dice(), random.input_low(), random.input_high(),
                               kExamples);
  const TestVectors vectors{
      .count = kExamples, .inputs = examples.input, .outputs = examples.values.back()};
  EmitSettings settings;
  settings.uses_dsp = seed % 2 == 1;
  settings.batch = 1 + static_cast<std::int64_t>(seed % 3);
  std::filesystem::create_directories(folder);
  for (const EmittedFile& file : emit_c(model, settings, vectors).files) {
    std::ofstream(folder / file.name) << file.text;
  }
  return true;
}

}  // namespace
}  // namespace nibble

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: random_networks OUT FIRST COUNT\n");
    return 2;
  }
  try {
    std::uint64_t seed = std::strtoull(argv[2], nullptr, 10);
    for (std::int64_t left = std::atoll(argv[3]); left > 0; ++seed) {
      const auto folder = std::filesystem::path(argv[1]) / fmt::format("random-{:03}", seed);
      left -= nibble::emit_seed(folder, seed) ? 1 : 0;
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "random_networks: {}\n", error.what());
    return 1;
  }
  return 0;
}
