// SPDX-License-Identifier: Apache-2.0
// Writes the wire format of protocol buffers.
#include "report/proto_message.h"

#include <bit>

namespace nibble::inline report {
namespace {

constexpr int kVarint = 0;
constexpr int kFixed64 = 1;
constexpr int kLengthDelimited = 2;
constexpr int kFixed32 = 5;

template <class T>
void append_fixed(std::string& bytes, T value) {
  for (unsigned shift = 0; shift < 8 * sizeof(T); shift += 8) {
    bytes.push_back(static_cast<char>((value >> shift) & 0xff));
  }
}

}  // namespace

void append_fixed32(std::string& bytes, std::uint32_t value) {
  append_fixed(bytes, value);
}

void append_fixed64(std::string& bytes, std::uint64_t value) {
  append_fixed(bytes, value);
}

void ProtoMessage::add_varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>((value & 0x7f) | 0x80));
  bytes_.push_back(static_cast<char>(value));
}

void ProtoMessage::add_key(int field, int wire_type) {
  add_varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wire_type));
}

ProtoMessage& ProtoMessage::add_int(int field, std::int64_t value) {
  add_key(field, kVarint);
  add_varint(static_cast<std::uint64_t>(value));
  return *this;
}

ProtoMessage& ProtoMessage::add_float(int field, float value) {
  add_key(field, kFixed32);
  append_fixed32(bytes_, std::bit_cast<std::uint32_t>(value));
  return *this;
}

ProtoMessage& ProtoMessage::add_double(int field, double value) {
  add_key(field, kFixed64);
  append_fixed64(bytes_, std::bit_cast<std::uint64_t>(value));
  return *this;
}

ProtoMessage& ProtoMessage::add_doubles(int field, std::span<const double> values) {
  add_key(field, kLengthDelimited);
  add_varint(8 * values.size());
  for (const double value : values) append_fixed64(bytes_, std::bit_cast<std::uint64_t>(value));
  return *this;
}

ProtoMessage& ProtoMessage::add_bytes(int field, std::string_view bytes) {
  add_key(field, kLengthDelimited);
  add_varint(bytes.size());
  bytes_ += bytes;
  return *this;
}

ProtoMessage& ProtoMessage::add_message(int field, const ProtoMessage& message) {
  return add_bytes(field, message.bytes());
}

}  // namespace nibble::inline report
