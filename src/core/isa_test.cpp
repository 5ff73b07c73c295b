// SPDX-License-Identifier: Apache-2.0
// Tests of the choice of the instruction-set path.
#include "nibble/core/isa.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include "nibble/core/error.h"

namespace nibble {
namespace {

// Gives every test a NIBBLE_ISA of its own and puts the old one back.
class IsaChoice : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* old = std::getenv("NIBBLE_ISA")) old_ = old;
    ::unsetenv("NIBBLE_ISA");
    reset_isa();
  }
  void TearDown() override {
    ::unsetenv("NIBBLE_ISA");
    if (old_) ::setenv("NIBBLE_ISA", old_->c_str(), 1);
    reset_isa();
  }

 private:
  std::optional<std::string> old_;
};

TEST_F(IsaChoice, ReferenceAndPortableAreAlwaysThereAndTheOrderAscends) {
  const auto isas = supported_isas();
  ASSERT_GE(isas.size(), 2u);
  EXPECT_EQ(isas[0], Isa::reference);
  EXPECT_EQ(isas[1], Isa::portable);
  EXPECT_TRUE(std::is_sorted(isas.begin(), isas.end()));
  EXPECT_EQ(isas.size(), static_cast<std::size_t>(isas.back()) + 1) << "one is left out";
}

TEST_F(IsaChoice, TheBestOneIsTheDefault) {
  EXPECT_EQ(active_isa(), supported_isas().back());
}

TEST_F(IsaChoice, EverySupportedOneCanBeNamedInTheEnvironment) {
  for (const Isa isa : supported_isas()) {
    ::setenv("NIBBLE_ISA", std::string(name_of(isa)).c_str(), 1);
    reset_isa();
    EXPECT_EQ(active_isa(), isa);
  }
}

TEST_F(IsaChoice, TheEnvironmentIsReadOnce) {
  ::setenv("NIBBLE_ISA", "reference", 1);
  EXPECT_EQ(active_isa(), Isa::reference);
  ::setenv("NIBBLE_ISA", "portable", 1);
  EXPECT_EQ(active_isa(), Isa::reference);
}

TEST_F(IsaChoice, AnUnknownNameIsAnErrorEachTimeThatListsTheSupportedOnes) {
  ::setenv("NIBBLE_ISA", "mmx", 1);
  for (int i = 0; i < 2; ++i) {
    try {
      active_isa();
      FAIL();
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("got mmx, expected one of reference portable"), std::string::npos)
          << text;
    }
  }
}

TEST_F(IsaChoice, SetIsaComesBeforeTheEnvironment) {
  ::setenv("NIBBLE_ISA", "reference", 1);
  set_isa(Isa::portable);
  EXPECT_EQ(active_isa(), Isa::portable);
  reset_isa();
  EXPECT_EQ(active_isa(), Isa::reference);
}

TEST_F(IsaChoice, SetIsaRefusesWhatTheMachineCannotRun) {
  const auto isas = supported_isas();
  for (const Isa isa :
       {Isa::reference, Isa::portable, Isa::avx2, Isa::avx512, Isa::avx512vnni, Isa::amx}) {
    if (std::find(isas.begin(), isas.end(), isa) != isas.end()) {
      EXPECT_NO_THROW(set_isa(isa));
    } else {
      EXPECT_THROW(set_isa(isa), Error);
    }
  }
}

TEST_F(IsaChoice, AKernelTakesTheBestOfItsPathsThatIsNotBeyondTheChosenOne) {
  constexpr Isa kPaths[] = {Isa::reference, Isa::avx2, Isa::avx512vnni};
  EXPECT_EQ(best_path(kPaths, Isa::reference), Isa::reference);
  EXPECT_EQ(best_path(kPaths, Isa::portable), Isa::reference);
  EXPECT_EQ(best_path(kPaths, Isa::avx2), Isa::avx2);
  EXPECT_EQ(best_path(kPaths, Isa::avx512), Isa::avx2);
  EXPECT_EQ(best_path(kPaths, Isa::avx512vnni), Isa::avx512vnni);
  EXPECT_EQ(best_path(kPaths, Isa::amx), Isa::avx512vnni);
}

TEST_F(IsaChoice, TheReportedPathIsRemembered) {
  report_isa_used(Isa::portable);
  EXPECT_EQ(last_isa_used(), Isa::portable);
  report_isa_used(Isa::reference);
  EXPECT_EQ(last_isa_used(), Isa::reference);
}

}  // namespace
}  // namespace nibble
