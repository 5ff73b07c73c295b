// SPDX-License-Identifier: Apache-2.0
// Tests of the wire format against bytes worked out by hand.
#include "report/proto_message.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace nibble::inline report {
namespace {

using namespace std::string_literals;

TEST(ProtoMessage, IntegersTakeSevenBitsAByte) {
  EXPECT_EQ(ProtoMessage().add_int(1, 150).bytes(), "\x08\x96\x01"s);  // the example of the manual
  EXPECT_EQ(ProtoMessage().add_int(2, 0).bytes(), "\x10\x00"s);
  EXPECT_EQ(ProtoMessage().add_int(16, 127).bytes(), "\x80\x01\x7f"s);
}

TEST(ProtoMessage, NegativeIntegersTakeTenBytes) {
  EXPECT_EQ(ProtoMessage().add_int(1, -1).bytes(), "\x08"s + std::string(9, '\xff') + "\x01");
}

TEST(ProtoMessage, NumbersAreLittleEndian) {
  EXPECT_EQ(ProtoMessage().add_float(2, 1.0f).bytes(), "\x15\x00\x00\x80\x3f"s);
  EXPECT_EQ(ProtoMessage().add_double(1, -2.0).bytes(), "\x09\x00\x00\x00\x00\x00\x00\x00\xc0"s);
}

TEST(ProtoMessage, RepeatedNumbersArePacked) {
  const std::array values = {1.0, 2.0};
  EXPECT_EQ(ProtoMessage().add_doubles(6, values).bytes(),
            "\x32\x10\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00\x00\x00\x00\x40"s);
}

TEST(ProtoMessage, MessagesNestAsBytes) {
  const ProtoMessage inner = ProtoMessage().add_int(1, 150);
  EXPECT_EQ(ProtoMessage().add_message(3, inner).bytes(), "\x1a\x03\x08\x96\x01"s);
  EXPECT_EQ(ProtoMessage().add_bytes(2, "testing").bytes(), "\x12\x07testing"s);
}

}  // namespace
}  // namespace nibble::inline report
