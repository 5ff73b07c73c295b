// SPDX-License-Identifier: Apache-2.0
// Tests of data sets in one .npz file: the names that are known, labels and targets.
#include "data/array_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/test_support.h"

namespace nibble::inline data {
namespace {

using testing::HasSubstr;

class NpzDataset : public testing::Test {
 protected:
  Dataset load(const std::string& name, Split split = Split::train) const {
    const auto path = folder_.path() / (name + ".npz");
    std::filesystem::copy_file(std::filesystem::path(NIBBLE_CORPUS_DIR) / "npz" / name, path,
                               std::filesystem::copy_options::overwrite_existing);
    return load_dataset(path.string(), split);
  }
  std::string error(const std::string& name, Split split = Split::train) const {
    return error_of([&] { load(name, split); });
  }

  const TemporaryFolder folder_;
};

TEST_F(NpzDataset, ImagesAndLabelsAreTheTrainSplit) {
  const Dataset dataset = load("valid_stored");
  EXPECT_EQ(dataset.name, "valid_stored");
  EXPECT_EQ(dataset.images.shape(), (Shape{2, 3, 4, 1}));
  EXPECT_EQ(dataset.images.as<std::uint8_t>()[23], 23);
  EXPECT_EQ(dataset.labels.as<std::int32_t>()[0], 1);
  EXPECT_EQ(dataset.class_names, (std::vector<std::string>{"0", "1"}));
  EXPECT_FALSE(dataset.has_targets());
  EXPECT_THAT(error("valid_stored", Split::test), HasSubstr("test split: got a train split alone"));
}

TEST_F(NpzDataset, SplitsAreKnownByTwoWaysToNameThem) {
  for (const char* name : {"valid_splits", "valid_keras"}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(load(name).size(), 2);
    const Dataset test = load(name, Split::test);
    EXPECT_EQ(test.size(), 1);
    EXPECT_EQ(test.class_names.size(), 2U);
    EXPECT_EQ(test.labels.as<std::int32_t>()[0], 1);
  }
}

TEST_F(NpzDataset, FeaturesAndTargetsAreFloats) {
  const Dataset dataset = load("valid_targets");
  ASSERT_TRUE(dataset.has_targets());
  EXPECT_EQ(dataset.images.shape(), (Shape{2, 1, 1, 12}));
  EXPECT_EQ(dataset.images.as<float>()[13], 13.0F);
  EXPECT_EQ(dataset.targets.shape(), (Shape{2, 1}));
  EXPECT_EQ(dataset.targets.as<float>()[0], 0.5F);
  EXPECT_TRUE(dataset.class_names.empty());
  EXPECT_EQ(dataset.labels.elements(), 0);
}

TEST_F(NpzDataset, OtherArchivesAreRefused) {
  EXPECT_THAT(error("valid_no_array"), HasSubstr("got no images with labels or targets"));
  EXPECT_THAT(error("valid_plain"), HasSubstr("got no images with labels or targets"));
  EXPECT_THAT(error("bad_crc"), HasSubstr("got no images with labels or targets"));
  EXPECT_THAT(error_of([] { load_dataset("absent.npz", Split::train); }),
              HasSubstr("cannot read absent.npz"));
}

}  // namespace
}  // namespace nibble::inline data
