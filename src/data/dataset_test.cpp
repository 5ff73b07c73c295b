// SPDX-License-Identifier: Apache-2.0
// Tests of load_dataset: the bundled digits always, the others where they are.
#include "nibble/data/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "core/test_support.h"
#include "data/catalog.h"

namespace nibble::inline data {
namespace {

using testing::HasSubstr;

class KnownDatasets : public testing::TestWithParam<std::string> {};

TEST_P(KnownDatasets, HoldWhatTheCatalogSays) {
  const KnownDataset& known = *find_known_dataset(GetParam());
  if (!find_data(known.name)) GTEST_SKIP() << explain_absence(known.name);
  const auto [height, width, channels] = known.image;
  for (const Split split : {Split::train, Split::test}) {
    const Dataset dataset = load_dataset(known.name, split);
    const auto i = static_cast<std::size_t>(split);
    EXPECT_EQ(dataset.name, known.name);
    EXPECT_EQ(dataset.images.shape(), (Shape{known.counts[i], height, width, channels}));
    EXPECT_EQ(dataset.images.dtype(), DType::u8);
    EXPECT_EQ(dataset.labels.shape(), Shape{known.counts[i]});
    EXPECT_TRUE(std::ranges::equal(dataset.class_names, known.class_names));
    EXPECT_EQ(hash_of(dataset), known.hashes[i]);
    EXPECT_EQ(sha256_of(dataset), known.sha256[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(All, KnownDatasets,
                         testing::Values("digits", "mnist", "fashion-mnist", "cifar10"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(Digits, AreThePixelsOfTheOriginalScaledToBytes) {
  const Dataset train = load_dataset("digits", Split::train);
  // The second row of the first picture is 0 0 13 15 10 15 5 0 of 16.
  const auto pixels = train.images.as<std::uint8_t>();
  EXPECT_EQ((std::vector<int>(pixels.begin() + 8, pixels.begin() + 16)),
            (std::vector<int>{0, 0, 207, 239, 159, 239, 80, 0}));
  const auto labels = train.labels.as<std::int32_t>();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(labels[static_cast<std::size_t>(i)], i);
  EXPECT_EQ(*std::ranges::max_element(pixels), 255);
}

TEST(Digits, OfAllClassesComeInBothSplits) {
  for (const Split split : {Split::train, Split::test}) {
    const Dataset dataset = load_dataset("digits", split);
    std::array<int, 10> counts{};
    for (const std::int32_t label : dataset.labels.as<std::int32_t>()) {
      ++counts[static_cast<std::size_t>(label)];
    }
    EXPECT_GT(*std::ranges::min_element(counts), dataset.size() / 12);
  }
}

TEST(LoadDataset, RefusesUnknownNames) {
  EXPECT_EQ(error_of([] { load_dataset("imagenet", Split::train); }),
            "[load_dataset] data set: got 'imagenet', expected digits, mnist, fashion-mnist, "
            "cifar10, a folder of arrays or pictures, an .npz or a .tar file");
  EXPECT_THAT(error_of([] { load_dataset("mnits", Split::train); }),
              testing::EndsWith("a .tar file, perhaps mnist"));
}

class BrokenDataset : public testing::Test {
 protected:
  // IDX bytes: images (count, 28, 28) of zeros, or labels.
  static std::string images(int count, int side) {
    return std::string("\0\0\x08\x03\0\0\0", 7) + static_cast<char>(count) +
           std::string("\0\0\0", 3) + static_cast<char>(side) + std::string("\0\0\0", 3) +
           static_cast<char>(side) + std::string(static_cast<std::size_t>(count * side * side), 0);
  }
  static std::string labels(const std::string& values) {
    return std::string("\0\0\x08\x01\0\0\0", 7) + static_cast<char>(values.size()) + values;
  }
  void put(const std::string& train_images, const std::string& train_labels) const {
    folder_.put("mnist/train-images-idx3-ubyte", train_images);
    folder_.put("mnist/train-labels-idx1-ubyte", train_labels);
    folder_.put("mnist/t10k-images-idx3-ubyte", images(1, 28));
    folder_.put("mnist/t10k-labels-idx1-ubyte", labels(std::string(1, 7)));
  }
  static std::string error() {
    return error_of([] { load_dataset("mnist", Split::train, {.is_checked = false}); });
  }

  const TemporaryFolder folder_;
  const ScopedVariable data_{"NIBBLE_DATA", folder_.path().string()};
  const ScopedVariable home_{"HOME", folder_.path().string()};
};

TEST_F(BrokenDataset, AbsentFilesAreExplained) {
  EXPECT_THAT(error(), HasSubstr("[load_dataset] mnist is absent: looked in " +
                                 (folder_.path() / "mnist").string()));
}

TEST_F(BrokenDataset, FilesThatDisagreeAreRefused) {
  put(images(2, 28), labels("\x01\x09"));
  EXPECT_EQ(error(), "no error");
  EXPECT_THAT(error_of([] { load_dataset("mnist", Split::train); }),
              HasSubstr("mnist: hash of the train split: got "));
  put(images(2, 28), labels("\x01\x0a"));
  EXPECT_THAT(error(), HasSubstr("train-labels-idx1-ubyte: label 1: got 10, expected 0 to 9"));
  put(images(2, 28), labels("\x01"));
  EXPECT_THAT(error(), HasSubstr("train-labels-idx1-ubyte: shape: got (1,), expected (2,)"));
  put(images(2, 27), labels("\x01\x02"));
  EXPECT_THAT(error(), HasSubstr("train-images-idx3-ubyte: shape: got (2, 27, 27), expected "));
  put(labels("\x01\x02"), labels("\x01\x02"));
  EXPECT_THAT(error(), HasSubstr("train-images-idx3-ubyte: shape: got (2,), expected "));
}

TEST_F(BrokenDataset, DigitsOfAnotherCountAreRefused) {
  folder_.put("digits/images.idx3", images(2, 8));
  folder_.put("digits/labels.idx1", labels("\x01\x02"));
  EXPECT_THAT(error_of([] { load_dataset("digits", Split::train); }),
              HasSubstr("images.idx3: images: got 2, expected 1797"));
}

}  // namespace
}  // namespace nibble::inline data
