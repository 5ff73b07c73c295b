// SPDX-License-Identifier: Apache-2.0
// Which runs go on: those whose numbers mean what they mean today.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "core/test_support.h"
#include "nibble/graph/network_text.h"
#include "nibble/integer_training/train_integers.h"
#include "nibble/run_folder/run_folder.h"
#include "run_folder/test_checkpoint.h"

namespace nibble::inline integer_training {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ResumedRuns : public ::testing::Test {
 protected:
  ResumedRuns()
      : folder_(fs::temp_directory_path() / ("nibble_resumed_" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    recipe_.network = load_network("mlp-64-32-10");
    recipe_.data = "digits";
    recipe_.epochs = 2;
    set_usual_course(recipe_);
    use_sgd(recipe_);
  }
  ~ResumedRuns() override { fs::remove_all(folder_); }

  void begin(int fraction_bits) {
    std::get<SgdUpdate>(recipe_.options.update).fraction_bits = fraction_bits;
    TrainOptions options = in(RunFolderMode::overwrite);
    options.stop_after = 1;
    train_integers(recipe_, options);
    // Before momentum had bits of its own nothing was said of them.
    change_identity(checkpoint_in(folder_), [](Words& match) { match.erase("momentum_bits"); });
  }
  TrainResult go_on() { return train_integers(recipe_, in(RunFolderMode::resume)); }

 private:
  TrainOptions in(RunFolderMode mode) const {
    return {.folder = folder_, .mode = mode, .progress = ProgressStyle::silent};
  }

  fs::path folder_;
  IntegerRecipe recipe_;
};

TEST_F(ResumedRuns, AreRefusedWhereMomentumHadTheBitsOfTheirMasters) {
  begin(12);
  EXPECT_THAT(error_of([&] { go_on(); }),
              HasSubstr("is of another run: momentum_bits: got none, expected '16'"));
}

TEST_F(ResumedRuns, GoOnWhereItHadAsManyAsToday) {
  begin(16);
  EXPECT_TRUE(go_on().is_complete);
}

}  // namespace
}  // namespace nibble::inline integer_training
