// SPDX-License-Identifier: Apache-2.0
// Tests of the search for data: the order of places, what counts as found, what is said otherwise.
#include "data/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/test_support.h"

namespace nibble::inline data {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Catalog : public testing::Test {
 protected:
  void put_mnist(const std::string& folder, const std::string& ending) const {
    for (const char* name : {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                             "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}) {
      folder_.put((fs::path(folder) / "mnist" / (name + ending)).string(), "");
    }
  }

  const TemporaryFolder folder_;
  const fs::path data_ = folder_.path() / "data";
  const fs::path cache_ = folder_.path() / "home/.cache/nibble";
  const ScopedVariable data_variable_{"NIBBLE_DATA", data_.string()};
  const ScopedVariable home_variable_{"HOME", (folder_.path() / "home").string()};
};

TEST_F(Catalog, GivenFolderComesBeforeTheCacheAndThePackages) {
  EXPECT_EQ(data_folder(), data_);
  EXPECT_EQ(places_of("mnist"), (std::vector<fs::path>{data_ / "mnist", cache_ / "mnist"}));
  EXPECT_EQ(places_of("fashion-mnist").back(), "/usr/share/datasets/fashion-mnist");
  EXPECT_EQ(places_of("digits").front(), data_ / "digits");
  const ScopedVariable none("NIBBLE_DATA", "");
  EXPECT_EQ(data_folder(), cache_);
  EXPECT_EQ(places_of("mnist"), std::vector<fs::path>{cache_ / "mnist"});
  const ScopedVariable homeless("HOME", "");
  EXPECT_TRUE(places_of("mnist").empty());
}

TEST_F(Catalog, OnlyAWholeDataSetIsFound) {
  EXPECT_FALSE(find_data("mnist"));
  put_mnist("home/.cache/nibble", ".gz");
  EXPECT_EQ(find_data("mnist"), cache_ / "mnist");
  put_mnist("data", "");
  EXPECT_EQ(find_data("mnist"), data_ / "mnist");
  fs::remove(data_ / "mnist/t10k-labels-idx1-ubyte");
  EXPECT_EQ(find_data("mnist"), cache_ / "mnist") << "the next place serves";
}

TEST_F(Catalog, OtherNamesAreFoundAsFolders) {
  EXPECT_FALSE(find_data("some-model"));
  folder_.put("data/some-model/weights", "");
  EXPECT_EQ(find_data("some-model"), data_ / "some-model");
}

TEST_F(Catalog, DigitsAreAlwaysThere) {
  EXPECT_TRUE(find_data("digits"));
}

TEST_F(Catalog, AbsenceIsExplained) {
  EXPECT_THAT(explain_absence("mnist"), HasSubstr((cache_ / "mnist").string()));
  EXPECT_THAT(explain_absence("mnist"), HasSubstr("nibble data get mnist"));
  EXPECT_THAT(explain_absence("cifar10"), HasSubstr("absent"));
  folder_.put("data/cifar10/cifar10.medpack.xz", "");
  EXPECT_EQ(explain_absence("cifar10"), "cifar10 is still packed: run '" +
                                            (data_ / "cifar10/unpack").string() + " " +
                                            (cache_ / "cifar10").string() + "'");
}

TEST_F(Catalog, KnownDataSetsAreFoundByName) {
  for (const KnownDataset& known : known_datasets()) {
    EXPECT_EQ(find_known_dataset(known.name), &known);
    EXPECT_EQ(known.class_names.size(), 10U);
  }
  EXPECT_EQ(find_known_dataset("imagenet"), nullptr);
}

}  // namespace
}  // namespace nibble::inline data
