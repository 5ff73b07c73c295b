// SPDX-License-Identifier: Apache-2.0
#include "emit/c_text.h"

#include <gtest/gtest.h>

namespace nibble::inline emit {
namespace {

TEST(CText, NamesBeginWithThePrefix) {
  EXPECT_EQ(with_names("int net_run(NET_OK, nets, my_net_x, net);", "a1"),
            "int a1_run(A1_OK, nets, my_net_x, net);");
}

TEST(CText, WordsAreWholeIdentifiersOrPartsOfThem) {
  const CWords words = {{"IN", "u8"}, {"IN_t", "uint8_t"}};
  EXPECT_EQ(with_names("net_dot_IN(const IN_t *IN, INNER)", "net", words),
            "net_dot_u8(const uint8_t *u8, INNER)");
}

TEST(CText, ArraysStayWithinLines) {
  const CArray array{"x", CType::s8, std::vector<std::int64_t>(100, -128)};
  const std::string text = definition_of(array);
  EXPECT_TRUE(text.starts_with("const int8_t x[100] NET_FLASH = {\n  -128, -128,")) << text;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    EXPECT_LE(end - begin, 100U);
    begin = end + 1;
  }
  EXPECT_EQ(declaration_of(array), "extern const int8_t x[100];\n");
}

TEST(CText, SmallestIntegersAreConstants) {
  const CArray array{"x", CType::s32, {-2147483647, 5}};
  EXPECT_EQ(definition_of(array),
            "const int32_t x[2] NET_FLASH = {\n  INT32_C(-2147483647), INT32_C(5),\n};\n");
}

TEST(CText, FieldsNest) {
  EXPECT_EQ(CFields().add("a", 1).add("b", CFields().add("c", "x").text()).text(),
            "{\n  .a = 1,\n  .b = {\n    .c = x,\n  },\n}");
}

TEST(CText, PartsOfNamesAreThoseOfC) {
  EXPECT_EQ(c_part("layer1.0-conv"), "layer1_0_conv");
  EXPECT_TRUE(is_c_identifier("_a9"));
  EXPECT_FALSE(is_c_identifier("9a"));
  EXPECT_FALSE(is_c_identifier("a b"));
}

TEST(CText, WordsInCommentsEndNoCommentAndNoLine) {
  EXPECT_EQ(comment_part("resnet20 (v1.5), größe=2"), "resnet20 (v1.5), größe=2");
  EXPECT_EQ(comment_part("a\n#include <x>\n//"), "a _include _x_ //");
  EXPECT_EQ(comment_part("a */ b /* \\"), "a _/ b /_ _");
  EXPECT_EQ(comment_part("?\?/"), "__/");  // a backslash in C99
  EXPECT_EQ(comment_part("\x1b[31m`$(x)`|"), "\xef\xbf\xbd_31m__(x)__");
}

}  // namespace
}  // namespace nibble::inline emit
