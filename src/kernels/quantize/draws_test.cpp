// SPDX-License-Identifier: Apache-2.0
// Draws in bulk are the draws of the elements one by one, on every instruction set.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/quantize/kernels.h"

namespace nibble::inline kernels {
namespace {

using Path = KernelPath<const QuantizeKernels*>;

constexpr std::uint32_t kUntouched = 0xDEADBEEFU;
constexpr RandomKey kKey{.seed = 0x123456789ABCDEF0U, .stream = 77, .step = 5};

std::uint32_t draw_of_element(int random_bits, std::uint64_t element) {
  if (random_bits <= 16) {
    return static_cast<std::uint32_t>(draw16(kKey, element)) >> (16 - random_bits);
  }
  return draw32(kKey, element) >> (32 - random_bits);
}

// Also that nothing past the slack is written.
void expect_draws(const Path& path, int random_bits, std::uint64_t first, std::size_t count) {
  constexpr std::size_t kGuard = 64;
  std::vector<std::uint32_t> out(count + kDrawSlack + kGuard, kUntouched);
  const std::vector<float> upcoming(count + 1);
  const std::uint32_t* draws =
      path.kernel->fill_draws(kKey, random_bits, first, count, out.data(), upcoming.data());
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ(draws[i], draw_of_element(random_bits, first + i))
        << name_of(path.isa) << ", " << random_bits << " bits, element " << first << " + " << i;
  }
  ASSERT_TRUE(std::all_of(out.end() - kGuard, out.end(), [](auto x) { return x == kUntouched; }))
      << name_of(path.isa) << " wrote past the slack: " << random_bits << " bits, from element "
      << first << ", " << count << " draws";
}

std::vector<Path> paths_with_kernels() {
  std::vector<Path> paths = supported_paths(kQuantizePaths);
  std::erase_if(paths, [](const Path& path) { return path.kernel == nullptr; });
  return paths;
}

TEST(Draws, EveryNumberOfRandomBitsTakesTheTopOfItsLane) {
  for (const Path& path : paths_with_kernels()) {
    for (int bits = 1; bits <= 32; ++bits) {
      for (const std::uint64_t first : {0, 5, 4096}) {
        expect_draws(path, bits, first, 300);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Draws, StartAndEndAnywhere) {
  for (const Path& path : paths_with_kernels()) {
    for (const int bits : {16, 32}) {
      for (std::uint64_t first = 0; first < 40; ++first) {
        for (std::size_t count = 0; count < 20; ++count) expect_draws(path, bits, first, count);
        for (std::size_t count = 240; count < 280; ++count) expect_draws(path, bits, first, count);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// A counter holds 4 draws of 32 bits or 8 of 16, so its upper word changes at 2^34 and 2^35.
TEST(Draws, CarryIntoTheUpperWordOfTheCounter) {
  for (const Path& path : paths_with_kernels()) {
    for (const int bits : {1, 16, 17, 32}) {
      const std::uint64_t edge = std::uint64_t{1} << (bits > 16 ? 34 : 35);
      for (std::uint64_t before = 0; before < 600; before += 37) {
        expect_draws(path, bits, edge - before, 700);
        if (HasFatalFailure()) return;
      }
      expect_draws(path, bits, 5 * edge - 3, 700);
      expect_draws(path, bits, 5 * edge + 3, 700);
    }
  }
}

}  // namespace
}  // namespace nibble::inline kernels
