// SPDX-License-Identifier: Apache-2.0
// Tests of the text form of schedules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/test_support.h"
#include "nibble/run_folder/schedule.h"

namespace nibble::inline run_folder {
namespace {

using testing::HasSubstr;

std::string error(const std::string& text) {
  return error_of([&] { parse_schedule(text); });
}

TEST(ScheduleText, SaysTheSameThereAndBack) {
  for (const char* text :
       {"constant", "step(60,80;0.1)", "step(0;0.5)", "values(0:0.1,60:0.01)", "cosine",
        "cosine(0.01)", "cosine(by=epoch)", "cosine(0.01,by=epoch)", "linear", "linear(by=epoch)",
        "linear(0.25,0.75,0.05,over=161,by=epoch)", "plateau(0.1,5)",
        "plateau(0.1,5,min_change=0.001,watch=val_top1)", "warmup(5)+cosine",
        "warmup(500,steps,start=0.1)+step(60;0.2)", "warmup(0.5)+plateau(0.5,3)"}) {
    EXPECT_EQ(to_string(parse_schedule(text)), text);
  }
}

TEST(ScheduleText, SpacesAndDefaultsDoNotMatter) {
  EXPECT_EQ(to_string(parse_schedule("  step( 60 , 80 ; 0.1 )  ")), "step(60,80;0.1)");
  EXPECT_EQ(to_string(parse_schedule("step(60)")), "step(60;0.1)");
  EXPECT_EQ(to_string(parse_schedule("plateau")), "plateau(0.1,10)");
  EXPECT_EQ(to_string(parse_schedule("warmup(3, epochs) + linear(0.5, 0.9, by=step)")),
            "warmup(3)+linear");
}

TEST(ScheduleText, ErrorsNameTheColumn) {
  EXPECT_EQ(error("sine"),
            "[schedule] unknown schedule at column 1 of 'sine': got 'sine', expected constant, "
            "step, values, cosine, linear, onecycle, plateau or warmup");
  EXPECT_THAT(error(""), HasSubstr("unknown schedule at column 1"));
  EXPECT_THAT(error("step"), HasSubstr("unexpected text at column 5 of 'step': got ''"));
  EXPECT_THAT(error("step(80,60)"), HasSubstr("wrong number at column 9"));
  EXPECT_THAT(error("step(60,60)"), HasSubstr("expected an epoch after the one before, above 60"));
  EXPECT_THAT(error("step(0,0)"), HasSubstr("wrong number at column 8"));
  EXPECT_THAT(error("step(60;0)"),
              HasSubstr("column 9 of 'step(60;0)': got '0', expected a factor"));
  EXPECT_THAT(error("step(60;0.1"), HasSubstr("at column 12"));
  EXPECT_THAT(error("step(sixty)"), HasSubstr("wrong number at column 6"));
  EXPECT_THAT(error("values(0:0.1,0:0.2)"), HasSubstr("column 14"));
  EXPECT_THAT(error("values(0)"), HasSubstr("column 9 of 'values(0)': got ')', expected ':'"));
  EXPECT_THAT(error("cosine(2)"), HasSubstr("column 8 of 'cosine(2)': got '2'"));
  EXPECT_THAT(error("cosine(0.1,0.2)"), HasSubstr("argument too many at column 12"));
  EXPECT_THAT(error("cosine(by=week)"), HasSubstr("wrong unit at column 11"));
  EXPECT_THAT(error("cosine(to=0)"), HasSubstr("unknown option at column 8"));
  EXPECT_THAT(error("cosine()"), HasSubstr("column 8"));
  EXPECT_THAT(error("cosine x"), HasSubstr("unexpected text at column 8 of 'cosine x': got 'x'"));
  EXPECT_THAT(error("linear(0.9,0.5)"),
              HasSubstr("got '0.5', expected an end after the start 0.9"));
  EXPECT_THAT(error("linear(0.95)"), HasSubstr("expected a start before the end 0.9"));
  EXPECT_THAT(error("linear(over=0)"), HasSubstr("column 13"));
  EXPECT_THAT(error("onecycle(0.3,0.04,0,1)"), HasSubstr("argument too many at column 21"));
  EXPECT_THAT(error("onecycle(top=1)"), HasSubstr("unknown option at column 10"));
  EXPECT_THAT(error("plateau(0.1,2.5)"), HasSubstr("column 13"));
  EXPECT_THAT(error("plateau(watch=top1)"), HasSubstr("unknown metric at column 15"));
  EXPECT_THAT(error("plateau(nan)"), HasSubstr("unknown option at column 9"));
  EXPECT_THAT(error("step(nan)"), HasSubstr("wrong number at column 6"));
  EXPECT_THAT(error("step(1e999)"), HasSubstr("wrong number at column 6"));
  EXPECT_THAT(error("warmup(5)"), HasSubstr("column 10 of 'warmup(5)': got '', expected '+'"));
  EXPECT_THAT(error("warmup+cosine"), HasSubstr("missing length at column 7"));
  EXPECT_THAT(error("warmup(0)+cosine"), HasSubstr("column 8"));
  EXPECT_THAT(error("warmup(2)+warmup(2)+cosine"), HasSubstr("unknown schedule at column 11"));
}

rc::Gen<double> share() {
  return rc::gen::map(rc::gen::inRange(1, 1000), [](int n) { return n / 1000.0; });
}

RC_GTEST_PROP(ScheduleText, EveryScheduleComesBack, ()) {
  Schedule schedule;
  switch (*rc::gen::inRange(0, 6)) {
    case 0: {
      StepRate step{.factor = *share()};
      double epoch = 0;
      for (int i = *rc::gen::inRange(1, 5); i > 0; --i) {
        epoch += *rc::gen::inRange(1, 100) / 4.0;
        step.milestones.push_back(epoch);
      }
      schedule.rate = step;
      break;
    }
    case 1: {
      ListedRate listed;
      for (int i = *rc::gen::inRange(1, 5); i > 0; --i) {
        listed.values.emplace_back(static_cast<double>(listed.values.size()) * 3.5, *share() / 3);
      }
      schedule.rate = listed;
      break;
    }
    case 2:
      schedule.rate = CosineRate{.floor = *share(), .is_by_epoch = *rc::gen::arbitrary<bool>()};
      break;
    case 3:
      schedule.rate = LinearRate{.start = *share() / 2,
                                 .end = 0.5 + *share() / 2,
                                 .floor = *share(),
                                 .over = *rc::gen::inRange(0, 300) / 3.0,
                                 .is_by_epoch = *rc::gen::arbitrary<bool>()};
      break;
    case 4:
      schedule.rate = OneCycleRate{.peak = *share(), .start = *share(), .floor = *share()};
      break;
    default:
      schedule.rate = PlateauRate{
          .factor = *share(), .patience = *rc::gen::inRange(0, 20), .min_change = *share() / 7};
  }
  if (*rc::gen::arbitrary<bool>()) {
    schedule.warm_up = {
        .length = *share() * 7, .is_in_steps = *rc::gen::arbitrary<bool>(), .start = *share()};
  }
  RC_ASSERT(parse_schedule(to_string(schedule)) == schedule);
}

RC_GTEST_PROP(ScheduleText, AnyTextIsReadOrRefused, ()) {
  const auto text = *rc::gen::container<std::string>(
      rc::gen::elementOf(std::string("stepcosinlarwmuvu()+,;:=.0159-e \x01")));
  try {
    parse_schedule(text);
  } catch (const Error&) {
  }
}

}  // namespace
}  // namespace nibble::inline run_folder
