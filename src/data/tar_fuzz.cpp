// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes either are an archive whose files lie inside it or throw Error. Few
// mutations keep the sums of the headers: every block is read with the right one, too.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "core/test_fuzz_target.h"
#include "data/tar.h"
#include "nibble/core/error.h"

namespace {

using namespace nibble;

constexpr std::size_t kBlock = 512;
constexpr std::size_t kSumAt = 148;
constexpr std::size_t kSumSize = 8;

void check(std::span<const std::byte> input) {
  try {
    std::size_t total = 0;
    for (const TarFile& file : parse_tar(input, "fuzz")) {
      const bool is_inside = file.data.data() >= input.data() &&
                             file.data.data() + file.data.size() <= input.data() + input.size();
      if (!is_inside || file.name.size() > input.size()) std::abort();
      total += file.data.size() + kBlock;
    }
    if (total > input.size()) std::abort();
  } catch (const Error&) {
  }
}

void correct_sum(std::span<std::byte> block) {
  std::memset(block.data() + kSumAt, ' ', kSumSize);
  unsigned sum = 0;
  for (const std::byte byte : block) sum += std::to_integer<unsigned>(byte);
  for (std::size_t digit = 6; digit-- > 0; sum /= 8) {
    block[kSumAt + digit] = static_cast<std::byte>('0' + sum % 8);
  }
  block[kSumAt + 6] = std::byte{0};
}

}  // namespace

NIBBLE_FUZZ_TARGET(tar) {
  const auto input = std::as_bytes(std::span(data, size));
  check(input);
  std::vector<std::byte> corrected(input.begin(), input.end());
  for (std::size_t at = 0; at + kBlock <= size; at += kBlock) {
    const std::span<std::byte> block = std::span(corrected).subspan(at, kBlock);
    if (block[0] != std::byte{0}) correct_sum(block);
  }
  check(corrected);
  return 0;
}
