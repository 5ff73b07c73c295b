// SPDX-License-Identifier: Apache-2.0
// NVIDIA's INT4 ResNet-50 on two made-up inputs: sums and checksums of every block as recorded, on
// every path, with any number of threads, fused or not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>

#include "nibble/core/isa.h"
#include "nibble/engine/engine.h"
#include "nibble/graph/layer_directory.h"

namespace nibble {
namespace {

constexpr std::int64_t kSide = 224;
using Sums = std::map<std::string, std::int64_t>;

std::optional<std::filesystem::path> model_folder() {
  const char* data = std::getenv("NIBBLE_DATA");
  if (data == nullptr) return std::nullopt;
  const std::filesystem::path folder = std::filesystem::path(data) / "resnet50-int4" / "model";
  return std::filesystem::exists(folder) ? std::optional(folder) : std::nullopt;
}

// From channels, rows, columns.
std::vector<std::byte> as_pixels(const std::vector<std::int8_t>& planes) {
  std::vector<std::byte> pixels;
  for (std::int64_t i = 0; i < kSide * kSide; ++i) {
    for (std::int64_t c = 0; c < 3; ++c) {
      pixels.push_back(
          static_cast<std::byte>(planes[static_cast<std::size_t>(c * kSide * kSide + i)]));
    }
  }
  return pixels;
}

std::vector<std::byte> zeros() {
  return std::vector<std::byte>(3 * kSide * kSide);
}

std::vector<std::byte> made_up() {
  std::vector<std::int8_t> planes;
  std::uint32_t state = 12345;
  for (std::int64_t i = 0; i < 3 * kSide * kSide; ++i) {
    state = (1103515245U * state + 12345U) & 0x7FFFFFFFU;
    planes.push_back(static_cast<std::int8_t>(static_cast<int>((state >> 16) % 255) - 127));
  }
  return as_pixels(planes);
}

std::vector<std::int64_t> integers(const ValueInfo& info, std::span<const std::byte> bytes) {
  std::vector<std::int64_t> result;
  for (std::size_t at = 0; at < bytes.size(); at += size_of(info.dtype)) {
    std::int32_t word = 0;
    if (info.dtype == DType::i32) {
      std::memcpy(&word, &bytes[at], 4);
    } else {
      word = info.dtype == DType::i8 ? static_cast<std::int8_t>(bytes[at])
                                     : static_cast<std::uint8_t>(bytes[at]);
    }
    result.push_back(word);
  }
  return result;
}

// zlib's, bit by bit.
std::uint32_t crc32_of(std::span<const std::uint8_t> bytes) {
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

const Golden kZeros = {{{"conv1", 3414326272},
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
const Golden kMadeUp = {{{"conv1", 3417210747},
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
      const std::vector<std::int64_t> values = integers(info, bytes);
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

TEST_F(ResNet50Int4, HasTheRecordedSumsAtEveryBlock) {
  for (const Isa isa : supported_isas()) {
    if (isa == Isa::reference) continue;  // minutes: resnet50_int4_reference
    set_isa(isa);
    const Engine layers = engine({.threads = 2, .keeps_layers = true});
    check_layers(layers, zeros(), kZeros);
    check_layers(layers, made_up(), kMadeUp);
  }
}

TEST_F(ResNet50Int4, AnswersTheSameFusedInBatchesOnAnyThreads) {
  std::vector<std::byte> input = made_up();
  const std::vector<std::byte> dark = zeros();
  input.insert(input.end(), dark.begin(), dark.end());
  input.insert(input.end(), input.begin(), input.begin() + 3 * kSide * kSide);
  std::vector<std::byte> wanted;
  for (const auto& [threads, batch] : {std::pair{1, 1}, {2, 3}, {3, 2}}) {
    const Engine fused = engine({.max_batch = batch, .threads = threads});
    std::vector<std::byte> output(fused.output().bytes * 3);
    fused.run(input, 3, output);
    if (wanted.empty()) wanted = output;
    EXPECT_EQ(output, wanted);
    const std::vector<std::int64_t> logits = integers(fused.output(), output);
    for (const auto& [image, top] : {std::pair{0, 488}, {1, 549}, {2, 488}}) {
      const auto first = logits.begin() + image * 1000;
      EXPECT_EQ(std::max_element(first, first + 1000) - first, top);
    }
  }
}

}  // namespace
}  // namespace nibble
