// SPDX-License-Identifier: Apache-2.0
// Tests of wrong format texts: each is refused, and the message says where and what was expected.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nibble/core/error.h"
#include "nibble/numerics/format.h"

namespace nibble::inline numerics {
namespace {

std::string error_of(std::string_view text) {
  try {
    parse_format(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(FormatError, SaysTheColumn) {
  struct Row {
    const char* text;
    int column;
  };
  const std::vector<Row> table = {
      {"e4m", 1},
      {" fp17", 2},
      {"float(4)", 9},
      {"float(4,three)", 9},
      {"float(4,3", 10},
      {"float(4,3,bias=x)", 11},
      {"float(4,3,specials=iee)", 11},
      {"float(4,3,subnormals=maybe)", 11},
      {"float(4,3,symmetric)", 11},
      {"float(4,,3)", 9},
      {"float()", 7},
      {"float(4,3,(2))", 11},
      {"fixed(8)", 9},
      {"fixed(8,4,unsigned)", 11},
      {"fixed(=8,4)", 7},
      {"fixed(=)", 7},
      {"int8(clamp=off)", 6},
      {"int8(scale=0)", 6},
      {"int8(scale=nan)", 6},
      {"int8(scale=1,scale=2)", 14},
      {"int8(zero=128)", 6},
      {"e4m3(zero=1)", 6},
      {"int8(scale=absmax,zero=1)", 19},
      {"int8(block=32)", 6},
      {"int8(scale=absmax,block=0)", 19},
      {"int8(axis=9)", 6},
      {"int8(rule=floor)", 6},
      {"bfp(8,rule=round)", 7},
      {"mxfp4(scale=absmax)", 7},
      {"p3109(8,8)", 1},
      {"p3109(17,8)", 1},
      {"p3109(8,-2147483648)", 1},
      {"posit(8,1,2)", 11},
      {"codebook()", 10},
      {"codebook(nf5)", 10},
      {"codebook([1,x])", 13},
      {"codebook([1,nan,2])", 13},
      {"codebook([1,2)", 14},
      {"codebook([[1,2]])", 11},
      {"codebook([])", 11},
      {"int99999999999", 1},
  };
  for (const Row& row : table) {
    const std::string message = error_of(row.text);
    EXPECT_NE(message.find(" at column " + std::to_string(row.column) + " of '"), std::string::npos)
        << row.text << ": " << message;
  }
}

TEST(FormatError, SaysWhatItGotAndWhatItExpected) {
  EXPECT_EQ(error_of(""), "[format] empty format: got '', expected a name such as e4m3");
  EXPECT_EQ(
      error_of("float(4,3,specials=iee)"),
      "[format] unknown specials at column 11 of 'float(4,3,specials=iee)': got 'iee', expected "
      "ieee, finite, fn, fnuz or p3109");
  EXPECT_EQ(error_of("float(4)"),
            "[format] missing argument at column 9 of 'float(4)': got '', expected mantissa bits");
  EXPECT_EQ(
      error_of("int8(zero=128)"),
      "[format] impossible zero point at column 6 of 'int8(zero=128)': got '128', expected a code "
      "of an integer format with a given scale");
  EXPECT_EQ(
      error_of("posit(8,4)"),
      "[format] exponent bits of a posit: got 4, expected 0 to 3, at column 1 of 'posit(8,4)'");
  EXPECT_EQ(
      error_of("posit(8,2,scale=pow2)"),
      "[format] shared exponent: got 'posit(8,2,scale=pow2)', expected a float or fixed-point "
      "element");
  EXPECT_EQ(error_of("float(4,3,nozero)"),
            "[format] a signed float without zero: got nozero, expected unsigned beside it, "
            "at column 1 of 'float(4,3,nozero)'");
  EXPECT_EQ(error_of("codebook([1])"),
            "[format] entries of a codebook: got 1, expected 2 to 65536, "
            "at column 1 of 'codebook([1])'");
}

TEST(FormatError, RefusesATensorScaleWithoutTwoLevels) {
  for (const char* text : {"int8(tensor_scale=0.1)", "mxfp4(tensor_scale=2)", "nvfp4(scale=0.1)",
                           "nvfp4(tensor_scale=0)", "nvfp4(tensor_scale=-1)",
                           "nvfp4(tensor_scale=inf)", "nvfp4(tensor_scale=absmax)"}) {
    EXPECT_THROW(parse_format(text), Error) << text;
  }
}

TEST(FormatError, RefusesHalvesThatDoNotFit) {
  for (const char* text :
       {"codebook(nf4,scale=pow2)", "e4m3(scale=two-level)", "posit(8,2,scale=two-level,block=16)",
        "e4m3(scale=minmax)", "fixed(8,4,scale=minmax)", "fixed(8,4,clamp=off,scale=absmax)",
        "posit(32,3,scale=2)", "float(8,10,specials=finite,scale=2)",
        "codebook([-2,-1],scale=absmax)", "bfp(8,clamp=off)", "fixed(1,0,scale=2)", "bfp(30)"}) {
    EXPECT_THROW(parse_format(text), Error) << text;
  }
}

TEST(FormatError, RefusesNumbersThatWouldOverflow) {
  for (const char* text :
       {"bfp(-2147483648)", "fixed(8,-2147483648)", "p3109(-2147483648,2147483647)",
        "float(-2147483648,2147483647)", "e4m3b2147483647", "e4m3b99999999999",
        "posit(2147483647,3)", "int2147483647(zero=1)", "int8(scale=1e99)",
        "float(4,3,bias=-2147483648)", "mxfp4(block=-1)"}) {
    EXPECT_THROW(parse_format(text), Error) << text;
  }
}

}  // namespace
}  // namespace nibble::inline numerics
