// SPDX-License-Identifier: Apache-2.0
// Tests of the best value so far and of early stopping.
#include "nibble/run_folder/best.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/test_support.h"
#include "run_folder/run_rows.h"
#include "run_folder/words.h"

namespace nibble::inline run_folder {
namespace {

using testing::HasSubstr;

TEST(BestSoFar, KeepsTheFirstOfEqualValues) {
  BestSoFar best{.metric = Metric::val_top1};
  EXPECT_FALSE(best.has_value());
  EXPECT_TRUE(best.update(0.5, 0));
  EXPECT_FALSE(best.update(0.5, 1));
  EXPECT_TRUE(best.update(0.6, 2));
  EXPECT_FALSE(best.update(0.4, 3));
  EXPECT_EQ(best.value, 0.6);
  EXPECT_EQ(best.epoch, 2);
}

TEST(BestSoFar, OfALossIsTheLowest) {
  BestSoFar best{.metric = Metric::val_loss};
  EXPECT_TRUE(best.update(2.0, 0));
  EXPECT_FALSE(best.update(3.0, 1));
  EXPECT_TRUE(best.update(1.0, 2));
}

TEST(BestSoFar, NanIsNeverTheBest) {
  BestSoFar best{.metric = Metric::val_loss};
  EXPECT_FALSE(best.update(std::nan(""), 0));
  EXPECT_FALSE(best.has_value());
  EXPECT_TRUE(best.update(5.0, 1));
  EXPECT_FALSE(best.update(std::nan(""), 2));
  EXPECT_EQ(best.value, 5.0);
}

TEST(EarlyStopping, EndsAfterThePatience) {
  const EarlyStopping rule{.metric = Metric::val_loss, .patience = 2, .min_change = 0.1};
  EarlyStoppingState state;
  EXPECT_FALSE(update(rule, state, 1.0, 0));
  EXPECT_FALSE(update(rule, state, 0.95, 1));  // too small a change
  EXPECT_FALSE(update(rule, state, 0.8, 2));
  EXPECT_FALSE(update(rule, state, 0.9, 3));
  EXPECT_TRUE(update(rule, state, std::nan(""), 4));
  EXPECT_EQ(state.best.epoch, 2);
}

TEST(EarlyStopping, WithoutPatienceNeverEnds) {
  EarlyStoppingState state;
  for (int epoch = 0; epoch < 100; ++epoch) EXPECT_FALSE(update({}, state, 0.5, epoch));
  EXPECT_EQ(state.epochs_without, 99);
}

TEST(EarlyStopping, GoesOnFromItsWords) {
  const EarlyStopping rule{.metric = Metric::train_loss, .patience = 3};
  EarlyStoppingState state;
  update(rule, state, 1.0 / 3, 0);
  update(rule, state, 0.4, 1);
  Words words;
  put_words(words, "stop.", state);
  EXPECT_EQ(early_stopping_words(words, "stop."), state);
  words.erase("stop.epoch");
  EXPECT_THAT(error_of([&] { early_stopping_words(words, "stop."); }),
              HasSubstr("word stop.epoch"));
}

TEST(Metric, HasANameAndIsFoundByIt) {
  for (const Metric metric :
       {Metric::train_loss, Metric::train_top1, Metric::val_loss, Metric::val_top1}) {
    EXPECT_EQ(metric_by_name(name_of(metric)), metric);
  }
  EXPECT_THAT(error_of([] { metric_by_name("top1"); }),
              HasSubstr("got 'top1', expected one of train_loss train_top1 val_loss val_top1"));
}

}  // namespace
}  // namespace nibble::inline run_folder
