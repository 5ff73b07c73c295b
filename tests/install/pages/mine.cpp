// SPDX-License-Identifier: Apache-2.0
// The engine in parts of functions: docs/cpp.md, docs/engine.md without waiting, docs/limits.md.
#include <algorithm>
#include <iostream>
#include <vector>

#include <cpp_0.cpp>

namespace {

int count_answers() {
  const std::size_t bytes = engine.output().bytes;
  std::vector<std::byte> pictures(16 * engine.input().bytes);
  for (std::size_t i = 0; i < pictures.size(); ++i) pictures[i] = std::byte(i * 37 % 128);
  std::vector<std::byte> expected(16 * bytes), answers(16 * bytes);
  engine.run(pictures, 16, expected);
  {
    const nibble::Engine engine = nibble::Engine::load("model.nib");
#include <engine_1.cpp>
  }
  int same = 0;
  for (std::size_t i = 0; i < 16; ++i)
    same += std::equal(&answers[i * bytes], &answers[i * bytes] + bytes, &expected[i * bytes]);
  return same;
}

std::size_t load_a_strangers() {
#include <limits_0.cpp>
  return engine.input().bytes;
}

}  // namespace

int main() {
  std::cout << engine.input().bytes << " bytes, " << count_answers() << " of 16 answers, "
            << load_a_strangers() << " bytes of a stranger's\n";
}
