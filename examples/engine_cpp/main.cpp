// SPDX-License-Identifier: Apache-2.0
// Loads a .nib model and asks it about one made-up picture.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <iostream>
#include <vector>

#include "nibble/engine/engine.h"

namespace {

// What one answer of the network says: an index, or the largest of one number a class.
std::int64_t class_of(const nibble::ValueInfo& info, const std::vector<std::byte>& answer) {
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(info.shape.elements()));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (info.dtype == nibble::DType::i8) numbers[i] = static_cast<std::int8_t>(answer[i]);
    if (info.dtype == nibble::DType::u8) numbers[i] = static_cast<std::uint8_t>(answer[i]);
    if (info.dtype == nibble::DType::i32) std::memcpy(&numbers[i], &answer[4 * i], 4);
  }
  if (numbers.size() == 1) return numbers[0];
  return std::ranges::max_element(numbers) - numbers.begin();
}

}  // namespace

int main(int count, char** arguments) try {
  if (count != 2) {
    std::cerr << "usage: engine_cpp MODEL.nib\n";
    return 2;
  }
  const nibble::Engine engine = nibble::Engine::load(arguments[1], {.threads = 1});
  std::cout << engine.name() << ": " << engine.input().shape.to_string() << " "
            << name_of(engine.input().dtype) << " to " << engine.output().shape.to_string() << " "
            << name_of(engine.output().dtype) << "\n";
  std::vector<std::byte> picture(engine.input().bytes);
  if (engine.input().dtype != nibble::DType::i32) {
    for (std::size_t i = 0; i < picture.size(); ++i) picture[i] = static_cast<std::byte>(i % 100);
  }
  std::vector<std::byte> answer(engine.output().bytes);
  engine.run(picture, 1, answer);
  std::cout << "class " << class_of(engine.output(), answer) << "\n";
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
