// SPDX-License-Identifier: Apache-2.0
// Field numbers are those of TensorBoard's .proto files.
#include "report/event_record.h"

#include <bit>

#include "core/crc32.h"
#include "core/name.h"
#include "report/proto_message.h"

namespace nibble::inline report {
namespace {

std::string framed(const ProtoMessage& event) {
  const std::string& bytes = event.bytes();
  std::string record;
  append_fixed64(record, bytes.size());
  append_fixed32(record, masked_crc32c(record));
  record += bytes;
  append_fixed32(record, masked_crc32c(bytes));
  return record;
}

ProtoMessage event_at(const EventTime& time) {
  return ProtoMessage().add_double(1, time.seconds).add_int(2, time.step);
}

std::string summary_record(const EventTime& time, const ProtoMessage& value) {
  return framed(event_at(time).add_message(5, ProtoMessage().add_message(1, value)));
}

}  // namespace

std::uint32_t masked_crc32c(std::string_view bytes) {
  return std::rotr(crc32c_of(std::as_bytes(std::span(bytes))), 15) + 0xa282ead8;
}

std::string version_record(double seconds) {
  return framed(ProtoMessage().add_double(1, seconds).add_bytes(3, "brain.Event:2"));
}

std::string restart_record(const EventTime& time) {
  constexpr int kStart = 1;  // SessionLog.START
  return framed(event_at(time).add_message(7, ProtoMessage().add_int(1, kStart)));
}

std::string scalar_record(const EventTime& time, std::string_view tag, double value) {
  return summary_record(
      time, ProtoMessage().add_bytes(1, well_formed(tag)).add_float(2, static_cast<float>(value)));
}

std::string histogram_record(const EventTime& time, std::string_view tag,
                             const BucketHistogram& histogram) {
  const ProtoMessage counts = ProtoMessage()
                                  .add_double(1, histogram.smallest)
                                  .add_double(2, histogram.largest)
                                  .add_double(3, static_cast<double>(histogram.count))
                                  .add_double(4, histogram.sum)
                                  .add_double(5, histogram.sum_of_squares)
                                  .add_doubles(6, histogram.limits)
                                  .add_doubles(7, histogram.counts);
  return summary_record(time, ProtoMessage().add_bytes(1, well_formed(tag)).add_message(5, counts));
}

std::string text_record(const EventTime& time, std::string_view tag, std::string_view words) {
  constexpr int kString = 7;  // DT_STRING
  const ProtoMessage plugin = ProtoMessage().add_bytes(1, "text");
  const ProtoMessage one = ProtoMessage().add_int(1, 1);  // a vector of one string
  const ProtoMessage tensor = ProtoMessage()
                                  .add_int(1, kString)
                                  .add_message(2, ProtoMessage().add_message(2, one))
                                  .add_bytes(8, words);
  return summary_record(time, ProtoMessage()
                                  .add_bytes(1, well_formed(tag))
                                  .add_message(8, tensor)
                                  .add_message(9, ProtoMessage().add_message(1, plugin)));
}

}  // namespace nibble::inline report
