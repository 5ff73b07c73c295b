// SPDX-License-Identifier: Apache-2.0
// For tests: NVIDIA's INT4 ResNet-50, two made-up inputs, and what is recorded of their integers:
// sums of every block and checksums.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>

#include "core/isa.h"
#include "nibble/engine/engine.h"
#include "nibble/foreign/layer_directory.h"

namespace nibble::inline engine {

inline constexpr std::int64_t kSide = 224;
using Sums = std::map<std::string, std::int64_t>;

inline std::optional<std::filesystem::path> model_folder() {
  const char* data = std::getenv("NIBBLE_DATA");
  if (data == nullptr) return std::nullopt;
  const std::filesystem::path folder = std::filesystem::path(data) / "resnet50-int4" / "model";
  return std::filesystem::exists(folder) ? std::optional(folder) : std::nullopt;
}

// From channels, rows, columns.
inline std::vector<std::byte> as_pixels(const std::vector<std::int8_t>& planes) {
  std::vector<std::byte> pixels;
  for (std::int64_t i = 0; i < kSide * kSide; ++i) {
    for (std::int64_t c = 0; c < 3; ++c) {
      pixels.push_back(
          static_cast<std::byte>(planes[static_cast<std::size_t>(c * kSide * kSide + i)]));
    }
  }
  return pixels;
}

inline std::vector<std::byte> zeros() {
  return std::vector<std::byte>(3 * kSide * kSide);
}

inline std::vector<std::byte> made_up() {
  std::vector<std::int8_t> planes;
  std::uint32_t state = 12345;
  for (std::int64_t i = 0; i < 3 * kSide * kSide; ++i) {
    state = (1103515245U * state + 12345U) & 0x7FFFFFFFU;
    planes.push_back(static_cast<std::int8_t>(static_cast<int>((state >> 16) % 255) - 127));
  }
  return as_pixels(planes);
}

// zlib's, bit by bit.
inline std::uint32_t crc32_of(std::span<const std::uint8_t> bytes) {
  std::uint32_t crc = ~0U;
  for (const std::uint8_t byte : bytes) {
    crc ^= byte;
    for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320U : 0);
  }
  return ~crc;
}

struct Golden {
  Sums sums;
  std::uint32_t last_block_crc;  // u8, channels first
  std::uint32_t answers_crc;     // of fc, s32
  int top;
};

inline const Golden kZeros = {{{"conv1", 3414326272},
                               {"quantize1", 1342208},
                               {"maxpool", 335552},
                               {"layer1_0_quantize3", 1529977},
                               {"layer1_1_quantize3", 1634876},
                               {"layer1_2_quantize3", 1838960},
                               {"layer2_0_quantize3", 330935},
                               {"layer2_1_quantize3", 362283},
                               {"layer2_2_quantize3", 338092},
                               {"layer2_3_quantize3", 359037},
                               {"layer3_0_quantize3", 129205},
                               {"layer3_1_quantize3", 130178},
                               {"layer3_2_quantize3", 126289},
                               {"layer3_3_quantize3", 144603},
                               {"layer3_4_quantize3", 143950},
                               {"layer3_5_quantize3", 136989},
                               {"layer4_0_quantize3", 57798},
                               {"layer4_1_quantize3", 56581},
                               {"layer4_2_quantize3", 132907},
                               {"avgpool", 2632},
                               {"fc", -190046}},
                              0xd0efaa23,
                              0xf5deaa53,
                              549};
inline const Golden kMadeUp = {{{"conv1", 3417210747},
                                {"quantize1", 3230442},
                                {"maxpool", 2200888},
                                {"layer1_0_quantize3", 1447449},
                                {"layer1_1_quantize3", 1591755},
                                {"layer1_2_quantize3", 1743552},
                                {"layer2_0_quantize3", 520036},
                                {"layer2_1_quantize3", 529634},
                                {"layer2_2_quantize3", 456107},
                                {"layer2_3_quantize3", 470130},
                                {"layer3_0_quantize3", 153505},
                                {"layer3_1_quantize3", 161242},
                                {"layer3_2_quantize3", 157726},
                                {"layer3_3_quantize3", 147956},
                                {"layer3_4_quantize3", 133986},
                                {"layer3_5_quantize3", 133919},
                                {"layer4_0_quantize3", 71343},
                                {"layer4_1_quantize3", 54392},
                                {"layer4_2_quantize3", 390802},
                                {"avgpool", 7928},
                                {"fc", -598426}},
                               0xdf40bc0c,
                               0xdaa4af6c,
                               488};

class ResNet50Int4 : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!model_folder()) GTEST_SKIP() << "no resnet50-int4 in NIBBLE_DATA";
  }
  void TearDown() override { reset_isa(); }

  static Engine engine(const EngineOptions& options) {
    return Engine(read_layer_directory(*model_folder()), options);
  }

  static void check_layers(const Engine& engine, std::span<const std::byte> input,
                           const Golden& golden) {
    std::size_t seen = 0;
    engine.run_layers(input, 1, [&](const ValueInfo& info, std::span<const std::byte> bytes) {
      const auto found = golden.sums.find(info.name);
      if (found == golden.sums.end()) return;
      ++seen;
      const std::vector<std::int64_t> values = as_integers(info, bytes);
      EXPECT_EQ(std::accumulate(values.begin(), values.end(), std::int64_t{0}), found->second)
          << info.name;
      if (info.name == "fc") {
        EXPECT_EQ(crc32_of({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}),
                  golden.answers_crc);
      }
      if (info.name == "layer4_2_quantize3") {
        std::vector<std::uint8_t> planes;
        for (std::size_t c = 0; c < 2048; ++c) {
          for (std::size_t p = 0; p < 49; ++p)
            planes.push_back(static_cast<std::uint8_t>(values[p * 2048 + c]));
        }
        EXPECT_EQ(crc32_of(planes), golden.last_block_crc);
      }
    });
    EXPECT_EQ(seen, golden.sums.size());
  }
};

}  // namespace nibble::inline engine
