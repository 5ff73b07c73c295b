// SPDX-License-Identifier: Apache-2.0
// Tests of checkpoints: they come back whole, and those of another run are refused.
#include "run_folder/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "core/test_support.h"

namespace nibble::inline run_folder {
namespace {

using testing::HasSubstr;

class CheckpointTest : public testing::Test {
 protected:
  void save() const {
    const std::array<NamedTensorView, 2> tensors{
        NamedTensorView{"weight", view_of(std::span<const float>(weights_))},
        NamedTensorView{"best/weight", view_of(std::span<const std::int64_t>(counts_))}};
    save_checkpoint(path_, identity_, words_, tensors);
  }
  std::string error(const CheckpointIdentity& identity) const {
    return error_of([&] { load_checkpoint(path_, identity); });
  }

  const TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "checkpoint.safetensors";
  const CheckpointIdentity identity_{"float training", {{"network", "lenet"}, {"seed", "1"}}};
  const Words words_{{"epoch", "3"}, {"note", "a \"b\" é"}};
  const std::array<float, 3> weights_{1.0F, -0.0F, 1e-40F};
  const std::array<std::int64_t, 1> counts_{7};
};

TEST_F(CheckpointTest, ComesBackWhole) {
  save();
  const Checkpoint checkpoint = load_checkpoint(path_, identity_);
  EXPECT_EQ(checkpoint.words, words_);
  const Tensor& weight = checkpoint.tensor("weight", DType::f32, {3});
  EXPECT_EQ(std::memcmp(weight.data(), weights_.data(), sizeof weights_), 0);
  EXPECT_EQ(checkpoint.tensor("best/weight", DType::i64, {1}).as<std::int64_t>()[0], 7);
  EXPECT_EQ(checkpoint.tensors.size(), 2U);
}

TEST_F(CheckpointTest, HasTheSameBytesEachTime) {
  save();
  const std::string first = folder_.content_of("checkpoint.safetensors");
  save();
  EXPECT_EQ(folder_.content_of("checkpoint.safetensors"), first);
}

TEST_F(CheckpointTest, OfAnotherRunNamesTheField) {
  save();
  const std::string start = "[checkpoint] " + path_.string() + " is of another run: ";
  CheckpointIdentity other = identity_;
  other.must_match["network"] = "vgg8b";
  EXPECT_EQ(error(other), start + "network: got 'lenet', expected 'vgg8b'");
  other = identity_;
  other.kind = "integer training";
  EXPECT_EQ(error(other), start + "kind: got 'float training', expected 'integer training'");
  other = identity_;
  other.must_match["batch"] = "64";
  EXPECT_EQ(error(other), start + "batch: got none, expected '64'");
  other = identity_;
  other.must_match.erase("seed");
  EXPECT_EQ(error(other), start + "seed: got '1', expected none");
}

TEST_F(CheckpointTest, OfAnOlderVersionMayLackAFieldButNotContradictIt) {
  save();
  CheckpointIdentity newer = identity_;
  newer.must_match["data_hash"] = "a";
  newer.may_lack = {"data_hash"};
  EXPECT_THAT(load_checkpoint(path_, newer).lacking, testing::ElementsAre("data_hash"));
  save_checkpoint(path_, newer, words_, {});
  EXPECT_TRUE(load_checkpoint(path_, newer).lacking.empty());
  newer.must_match["data_hash"] = "b";
  EXPECT_THAT(error(newer), HasSubstr("is of another run: data_hash: got 'a', expected 'b'"));
}

TEST_F(CheckpointTest, DamageIsSeenInEveryByte) {
  save();
  const std::string good = folder_.content_of("checkpoint.safetensors");
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    folder_.put("checkpoint.safetensors", bad);
    EXPECT_NE(error(identity_), "no error") << "byte " << i;
    if (i % 16 != 0) continue;
    folder_.put("checkpoint.safetensors", good.substr(0, i));
    EXPECT_NE(error(identity_), "no error") << "length " << i;
  }
  std::string bad = good;
  bad.back() = static_cast<char>(bad.back() ^ 1);
  folder_.put("checkpoint.safetensors", bad);
  EXPECT_THAT(error(identity_), HasSubstr(path_.string() + " is damaged: hash: got "));
}

TEST_F(CheckpointTest, OtherFilesAreRefused) {
  EXPECT_THAT(error(identity_), HasSubstr(path_.string()));
  write_safetensors(path_, {{"format", "pt"}}, {});
  EXPECT_EQ(error(identity_), "[checkpoint] " + path_.string() +
                                  ": nibble.checkpoint: got none, expected a checkpoint of nibble");
  write_safetensors(path_, {{"nibble.checkpoint", "2"}}, {});
  EXPECT_THAT(error(identity_), HasSubstr("nibble.checkpoint: got '2', expected '1'"));
}

TEST_F(CheckpointTest, TensorsAreAskedForByTypeAndShape) {
  save();
  const Checkpoint checkpoint = load_checkpoint(path_, identity_);
  EXPECT_THAT(error_of([&] { checkpoint.tensor("bias", DType::f32, {3}); }),
              HasSubstr("tensor bias: got none"));
  EXPECT_THAT(error_of([&] {
                checkpoint.tensor("weight", DType::f32, {1, 3});
              }),
              HasSubstr("tensor weight: got f32 (3,), expected f32 (1, 3)"));
  EXPECT_THAT(error_of([&] { checkpoint.tensor("weight", DType::i32, {3}); }),
              HasSubstr("expected i32 (3,)"));
}

TEST_F(CheckpointTest, OnAFullDiskTheOldOneStays) {
  save();
  const std::string old = folder_.content_of("checkpoint.safetensors");
  {
    const FileSizeLimit full(64);
    EXPECT_THAT(error_of([&] { save(); }), HasSubstr("cannot write " + path_.string()));
  }
  EXPECT_EQ(folder_.content_of("checkpoint.safetensors"), old);
  EXPECT_EQ(folder_.files(), 1);
}

TEST(Checkpoint, DigestIsOfTheText) {
  EXPECT_EQ(digest_of("conv 3x3").size(), 16U);
  EXPECT_NE(digest_of("conv 3x3"), digest_of("conv 5x5"));
}

}  // namespace
}  // namespace nibble::inline run_folder
