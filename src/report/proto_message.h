// SPDX-License-Identifier: Apache-2.0
// Writes the wire format of protocol buffers: as much of it as event files need.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace nibble::inline report {

// Fields in the order in which they are added; the number is the one of the .proto file.
class ProtoMessage {
 public:
  ProtoMessage& add_int(int field, std::int64_t value);  // int64, int32, enum
  ProtoMessage& add_float(int field, float value);
  ProtoMessage& add_double(int field, double value);
  ProtoMessage& add_doubles(int field, std::span<const double> values);  // repeated, packed
  ProtoMessage& add_bytes(int field, std::string_view bytes);            // string, bytes
  ProtoMessage& add_message(int field, const ProtoMessage& message);

  const std::string& bytes() const { return bytes_; }

 private:
  void add_varint(std::uint64_t value);
  void add_key(int field, int wire_type);

  std::string bytes_;
};

// Little-endian, whatever the machine.
void append_fixed32(std::string& bytes, std::uint32_t value);
void append_fixed64(std::string& bytes, std::uint64_t value);

}  // namespace nibble::inline report
