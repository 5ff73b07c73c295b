// SPDX-License-Identifier: Apache-2.0
// Tuning files: read back, refused when damaged, found where NIBBLE_TUNING says; what counts as a
// gain.
#include "nibble/engine/tuning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "core/test_support.h"

namespace nibble::inline engine {
namespace {

using testing::HasSubstr;

TEST(TuningText, IsReadBack) {
  const Tuning tuning{
      .machine = "a machine, 2 threads",
      .cuts = {{"conv2d 3x3: of 16", {96, 32}}, {"linear", {0, 64}}, {"tile", {128, 256}}}};
  EXPECT_EQ(parse_tuning(to_text(tuning), "t"), tuning);
}

TEST(TuningText, DamageIsAnErrorThatNamesTheLine) {
  const std::string head = "# nibble tuning of x\n";
  EXPECT_THAT(error_of([] { parse_tuning("", "t"); }), HasSubstr("[tuning] t: first line"));
  EXPECT_THAT(error_of([] { parse_tuning("conv2d: pixels 1, outputs 16\n", "t"); }),
              HasSubstr("first line"));
  for (const char* line : {"conv2d", "conv2d: pixels", "conv2d: pixels -1, outputs 16",
                           "conv2d: pixels 65537, outputs 16", "conv2d: pixels 1, outputs 17",
                           "conv2d: pixels 1, outputs 80", "conv2d: outputs 1, pixels 16", ""}) {
    EXPECT_THAT(
        error_of([&] { parse_tuning(head + "a: pixels 1, outputs 16\n" + line + "\n", "t"); }),
        HasSubstr("[tuning] t:3: got '" + std::string(line) + "', expected"));
  }
  EXPECT_THAT(error_of([&] { parse_tuning(head + "\x1b" + std::string(1000, 'x'), "t"); }),
              HasSubstr("t:2: got '\xef\xbf\xbd" + std::string(58, 'x') + "…', expected"));
}

TEST(FindTuning, TakesTheFileOfThisMachineAndSaysWhich) {
  const TemporaryFolder folder;
  const ScopedVariable home("HOME", folder.path().string());
  const ScopedVariable named("NIBBLE_TUNING", std::nullopt);
  EXPECT_EQ(find_tuning(machine_name(3)).state, TuningFile::State::absent);
  EXPECT_EQ(find_tuning(machine_name(3)).to_string(), "none");

  const Tuning tuning{.machine = machine_name(3), .cuts = {{"linear", {96, 32}}}};
  write_tuning(tuning_path(machine_name(3)), tuning);
  EXPECT_EQ(find_tuning(machine_name(3)).state, TuningFile::State::active);
  EXPECT_EQ(find_tuning(machine_name(3)).tuning, tuning);
  EXPECT_EQ(find_tuning(machine_name(3)).to_string(), tuning_path(machine_name(3)).string());
  EXPECT_EQ(find_tuning(machine_name(2)).state, TuningFile::State::absent);
}

TEST(FindTuning, AFileThatIsNamedMustBeThere) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "mine.txt";
  const ScopedVariable named("NIBBLE_TUNING", path.string());
  EXPECT_EQ(error_of([] { find_tuning(machine_name(1)); }),
            "[NIBBLE_TUNING] cannot read " + path.string() + ": No such file or directory");
  folder.put("mine.txt", "rubbish");
  EXPECT_THAT(error_of([] { find_tuning(machine_name(1)); }),
              HasSubstr("mine.txt: first line: got 'rubbish'"));
  write_tuning(path, {.machine = "another", .cuts = {{"linear", {96, 32}}}});
  const TuningFile other = find_tuning(machine_name(1));
  EXPECT_EQ(other.state, TuningFile::State::of_another_machine);
  EXPECT_TRUE(other.tuning.cuts.empty());
  EXPECT_EQ(other.to_string(), "none (" + path.string() + " is of another machine)");
}

TEST(ShowsGain, OnlyWhereTurnsAgree) {
  const std::vector<double> usual(31, 1.0);
  std::vector<double> tuned(31, 0.97);
  EXPECT_TRUE(shows_gain(usual, tuned));
  EXPECT_FALSE(shows_gain(usual, std::vector<double>(31, 0.99))) << "too little";
  for (std::size_t i = 0; i < 10; ++i) tuned[i] = 1.1;
  EXPECT_FALSE(shows_gain(usual, tuned)) << "a third of the turns lost";
  EXPECT_FALSE(shows_gain(tuned, usual)) << "slower";
  EXPECT_NE(error_of([&] { shows_gain(usual, std::vector<double>(30, 1.0)); }), "no error");
}

TEST(ShowsGain, NoiseIsNone) {
  std::mt19937 bits(7);
  std::lognormal_distribution<double> noise(0, 0.3);
  int seen = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    std::vector<double> usual(31), tuned(31);
    for (double& x : usual) x = noise(bits);
    for (double& x : tuned) x = noise(bits);
    seen += shows_gain(usual, tuned) ? 1 : 0;
  }
  EXPECT_LE(seen, 30);
}

}  // namespace
}  // namespace nibble::inline engine
