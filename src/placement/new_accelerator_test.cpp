// SPDX-License-Identifier: Apache-2.0
// An accelerator that a program brings along: all that takes names of devices takes its name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "backend/reference/reference_backend.h"
#include "backend/registry.h"
#include "core/test_support.h"
#include "nibble/graph/network_text.h"
#include "placement/auto_place.h"
#include "placement/one_hash_test_support.h"

namespace nibble::inline placement {
namespace {

using ::testing::HasSubstr;

class Abacus final : public ReferenceBackend {
 public:
  explicit Abacus(std::string_view name) : name_(name) {}
  std::string name() const override { return name_; }
  std::string identity() const override { return name_ + " of " + beads; }

  static inline std::string beads;

 private:
  std::string name_;
};

constexpr std::string_view kCountedNetwork = R"(
input = [6, 6, 2]
layers = [
  { op = "conv2d", name = "conv1", channels = 4, kernel = 3, padding = 1 },
  { op = "batch_norm", name = "norm1" },
  { op = "relu", name = "relu1" },
  { op = "max_pool", name = "pool1", kernel = 2 },
  { op = "flatten" },
  { op = "linear", name = "fc", features = 5, bias = true },
  { op = "softmax_cross_entropy" },
])";

class NewAccelerator : public testing::Test {
 protected:
  NewAccelerator() { set_thread_count(1); }
  ~NewAccelerator() override { set_thread_count(0); }
  static void SetUpTestSuite() {
    register_backend("abacus", [](std::string_view name) -> std::unique_ptr<IntegerBackend> {
      return std::make_unique<Abacus>(name);
    });
  }
  std::uint64_t hash_under(std::string_view place) const {
    IntegerOptions options = options_for(network_);
    choose_place(place, options);
    return hash_after(network_, placement_of(network_, options), 3, kImages);
  }

  static constexpr std::int64_t kImages = 6;
  const Network network_ = parse_network(kCountedNetwork, "counted");
};

TEST_F(NewAccelerator, RulesPlaceOntoItAndBackToOneHash) {
  const std::uint64_t wanted = hash_under("cpu");
  for (const char* place : {"abacus", "conv1=abacus, norm1=abacus", "fc=abacus, fc.update=cpu",
                            "abacus, *.update=abacus:1, pool1=pretend", "fc=check(cpu,abacus)"}) {
    EXPECT_EQ(hash_under(place), wanted) << place;
  }
  IntegerOptions options;
  choose_place("conv1=abacus, norm1=abacus, fc.update=abacus:1", options);
  const Placement placement = placement_of(network_, options);
  EXPECT_EQ(placement.of(1, TrainPass::forward).name(), "abacus");
  EXPECT_EQ(placement.of(6, TrainPass::update).name(), "abacus:1");
  EXPECT_THAT(error_of([] { parse_place("conv1=abacsu"); }), HasSubstr("perhaps abacus"));
}

TEST_F(NewAccelerator, AutoMeasuresItAndKeepsTheHash) {
  const AutoPlace place = parse_auto("auto(cpu, abacus)");
  EXPECT_TRUE(place.has_choice());
  expect_one_hash_of_auto(network_, place.devices[1], 3, kImages);
}

TEST_F(NewAccelerator, CostsAreKeptUnderWhatItSaysOfItself) {
  const TemporaryFolder folder;
  const ScopedVariable cache("NIBBLE_PLACEMENT", (folder.path() / "costs.json").string());
  const IntegerOptions options = options_for(network_);
  const auto is_known = [&] {
    return plan_step(network_, options, {.devices = {"cpu", "abacus"}, .images = 2}).is_from_cache;
  };
  Abacus::beads = "10 beads";
  EXPECT_FALSE(is_known());
  EXPECT_TRUE(is_known());
  Abacus::beads = "12 beads";
  EXPECT_FALSE(is_known());
}

}  // namespace
}  // namespace nibble::inline placement
