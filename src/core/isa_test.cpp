// SPDX-License-Identifier: Apache-2.0
// Tests of the choice of the instruction-set path.
#include "core/isa.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include "nibble/core/error.h"

namespace nibble::inline core {
namespace {

constexpr Isa kAll[] = {Isa::reference, Isa::portable,   Isa::avx2,
                        Isa::avx512,    Isa::avx512vnni, Isa::amx};

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

TEST_F(IsaChoice, ReferenceAndPortableAreAlwaysThereAndTheBestComesLast) {
  const auto isas = supported_isas();
  ASSERT_GE(isas.size(), 2u);
  EXPECT_EQ(isas[0], Isa::reference);
  EXPECT_EQ(isas[1], Isa::portable);
  EXPECT_TRUE(std::is_sorted(isas.begin(), isas.end()));
}

TEST_F(IsaChoice, WhatASupportedOneIncludesIsSupported) {
  const auto isas = supported_isas();
  for (const Isa path : kAll) {
    const bool is_included = std::ranges::any_of(isas, [&](Isa isa) { return allows(isa, path); });
    EXPECT_EQ(is_included, std::ranges::find(isas, path) != isas.end()) << name_of(path);
  }
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
  for (const Isa isa : kAll) {
    if (std::find(isas.begin(), isas.end(), isa) != isas.end()) {
      EXPECT_NO_THROW(set_isa(isa));
    } else {
      EXPECT_THROW(set_isa(isa), Error);
    }
  }
}

TEST(IsaFeatures, AreSetsWithoutAnOrder) {
  using namespace isa_feature;
  EXPECT_TRUE(includes(avx2 | amx, amx));
  EXPECT_TRUE(includes(avx2, 0));
  EXPECT_FALSE(includes(avx2, avx2 | amx));
  EXPECT_FALSE(includes(avx512vnni, avx2));  // neither of two
  EXPECT_FALSE(includes(avx2, avx512vnni));
}

TEST(IsaFeatures, EachPathAllowsItselfAndTheDefinition) {
  for (const Isa isa : kAll) {
    EXPECT_TRUE(allows(isa, isa)) << name_of(isa);
    EXPECT_TRUE(allows(isa, Isa::reference)) << name_of(isa);
  }
  EXPECT_TRUE(allows(Isa::amx, Isa::avx512vnni));
  EXPECT_FALSE(allows(Isa::avx512, Isa::avx512vnni));
  EXPECT_FALSE(allows(Isa::reference, Isa::portable));
}

TEST_F(IsaChoice, TheReportedPathIsRemembered) {
  report_isa_used(Isa::portable);
  EXPECT_EQ(last_isa_used(), Isa::portable);
  report_isa_used(Isa::reference);
  EXPECT_EQ(last_isa_used(), Isa::reference);
}

}  // namespace
}  // namespace nibble::inline core
