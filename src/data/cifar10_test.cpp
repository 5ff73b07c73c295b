// SPDX-License-Identifier: Apache-2.0
// Tests of CIFAR-10 batches: planes become channels, wrong records are refused.
#include "data/cifar10.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "core/test_corpus.h"
#include "core/test_support.h"

namespace nibble::inline data {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// A record whose planes count up from three starts.
std::string record(int label, int red, int green, int blue) {
  std::string bytes(1, static_cast<char>(label));
  for (const int start : {red, green, blue}) {
    for (int i = 0; i < 1024; ++i) bytes += static_cast<char>(start + i);
  }
  return bytes;
}

std::string error_of_bytes(const std::string& bytes) {
  return error_of([&] { parse_cifar10(bytes_of(bytes), "x.bin"); });
}

TEST(Cifar10Corpus, EveryFileIsReadOrRefusedAsItsNameSays) {
  for_each_corpus_file("cifar10", 20, [](const fs::path& path, bool is_valid) {
    std::ifstream in(path, std::ios::binary);
    const std::string error = error_of_bytes({std::istreambuf_iterator<char>(in), {}});
    EXPECT_EQ(error == "no error", is_valid) << error;
  });
}

TEST(Cifar10, PlanesBecomeTheLastAxis) {
  const std::string bytes = record(3, 10, 20, 30) + record(9, 40, 50, 60);
  const Dataset dataset = parse_cifar10(bytes_of(bytes), "x.bin");
  ASSERT_EQ(dataset.images.shape(), (Shape{2, 32, 32, 3}));
  const auto images = dataset.images.as<std::uint8_t>();
  EXPECT_EQ((std::vector<int>(images.begin(), images.begin() + 6)),
            (std::vector<int>{10, 20, 30, 11, 21, 31}));
  EXPECT_EQ(images[3072], 40);
  EXPECT_EQ(images[6143], static_cast<std::uint8_t>(60 + 1023));
  EXPECT_EQ(dataset.labels.as<std::int32_t>()[0], 3);
  EXPECT_EQ(dataset.labels.as<std::int32_t>()[1], 9);
  EXPECT_EQ(dataset.class_names[9], "truck");
}

TEST(Cifar10, ErrorsNameTheFileAndTheRecord) {
  EXPECT_EQ(error_of_bytes(record(1, 0, 0, 0) + record(10, 0, 0, 0)),
            "[read_cifar10] x.bin: label of record 1: got 10, expected 0 to 9");
  EXPECT_EQ(error_of_bytes(""),
            "[read_cifar10] x.bin: size: got 0 bytes, expected one or more records of 3073 bytes");
  EXPECT_THAT(error_of_bytes(record(1, 0, 0, 0) + "x"), HasSubstr("got 3074 bytes"));
}

TEST(Cifar10, BatchesAreReadInOrderFromEitherFolder) {
  const TemporaryFolder folder;
  EXPECT_FALSE(find_cifar10_batches(folder.path()));
  const std::string inner = "cifar-10-batches-bin";
  for (int i = 1; i <= 5; ++i) {
    EXPECT_FALSE(find_cifar10_batches(folder.path()));
    folder.put(inner + "/data_batch_" + std::to_string(i) + ".bin",
               record(i, i, 0, 0) + (i == 2 ? record(0, 0, 0, 0) : ""));
  }
  folder.put(inner + "/test_batch.bin", record(8, 0, 0, 0));
  const auto found = find_cifar10_batches(folder.path());
  ASSERT_TRUE(found);
  EXPECT_EQ(found, find_cifar10_batches(folder.path() / inner));
  const Dataset train = read_cifar10(*found, Split::train);
  const auto labels = train.labels.as<std::int32_t>();
  EXPECT_EQ((std::vector<int>(labels.begin(), labels.end())), (std::vector<int>{1, 2, 0, 3, 4, 5}));
  EXPECT_EQ(train.images.as<std::uint8_t>()[std::size_t{3} * 3072], 3);
  EXPECT_EQ(read_cifar10(*found, Split::test).labels.as<std::int32_t>()[0], 8);
  folder.put(inner + "/data_batch_4.bin", "short");
  EXPECT_THAT(error_of([&] { read_cifar10(*found, Split::train); }), HasSubstr("data_batch_4.bin"));
}

}  // namespace
}  // namespace nibble::inline data
