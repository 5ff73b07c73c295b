// SPDX-License-Identifier: Apache-2.0
// Tests of words made harmless in pages.
#include "report/escape.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

namespace nibble::inline report {
namespace {

TEST(Escape, MarkupBecomesText) {
  EXPECT_EQ(escaped("<b a=\"1\" c='2'>&"), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;");
}

RC_GTEST_PROP(Escape, NoMarkupSurvivesAndAllIsWellFormed, (const std::string& words)) {
  const std::string result = escaped(words);
  RC_ASSERT(result.find_first_of("<>\"'\n") == std::string::npos);
  RC_ASSERT(well_formed(result) == result);
}

}  // namespace
}  // namespace nibble::inline report
