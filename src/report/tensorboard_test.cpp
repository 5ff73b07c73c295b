// SPDX-License-Identifier: Apache-2.0
// Tests of event files: framing, liveness, failures; tests/interop reads them with TensorBoard.
#include "nibble/report/tensorboard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <iterator>

#include "report/event_record.h"
#include "report/report_test_support.h"

namespace nibble::inline report {
namespace {

using testing::HasSubstr;

// The payloads of the records; every length and checksum is checked.
std::vector<std::string> records_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::vector<std::string> records;
  const auto check = [&](std::size_t begin, std::size_t size) {
    std::uint32_t stored = 0;
    std::memcpy(&stored, bytes.data() + begin + size, 4);
    EXPECT_EQ(stored, masked_crc32c(std::string_view(bytes).substr(begin, size)));
  };
  for (std::size_t at = 0; at < bytes.size();) {
    std::uint64_t size = 0;
    std::memcpy(&size, bytes.data() + at, 8);
    if (at + 16 + size > bytes.size()) {
      ADD_FAILURE() << "a record is cut";
      break;
    }
    check(at, 8);
    check(at + 12, size);
    records.push_back(bytes.substr(at + 12, size));
    at += 16 + size;
  }
  return records;
}

TEST(EventRecord, TheMaskOfItsChecksumTurnsAndAdds) {
  EXPECT_EQ(masked_crc32c(""), 0xa282ead8u);
  EXPECT_EQ(masked_crc32c("123456789"), 0xc78ab0e5u);
}

TEST(TensorBoard, AnEventIsOneCheckedRecord) {
  const TemporaryFolder folder;
  TensorBoardSink sink(folder.path());
  const std::array values = {1.0f, -2.0f};
  sink.scalar("train/loss", 3, 0.5);
  sink.histogram("weight/conv1", 3, values);
  sink.text("settings", 0, "words");
  sink.flush();
  const std::vector<std::string> records = records_of(sink.path());
  ASSERT_EQ(records.size(), 4u);
  EXPECT_THAT(records[0], HasSubstr("brain.Event:2"));
  EXPECT_THAT(records[1], HasSubstr("train/loss"));
  EXPECT_THAT(records[3], HasSubstr("words"));
  EXPECT_TRUE(sink.path().filename().string().starts_with("events.out.tfevents."));
  EXPECT_TRUE(sink.path().filename().string().ends_with(".nibble"));
}

TEST(TensorBoard, TheFileCanBeOpenedAtOnce) {
  const TemporaryFolder folder;
  const TensorBoardSink sink(folder.path(), 40);
  EXPECT_EQ(records_of(sink.path()).size(), 2u);  // the version, and where the run goes on
}

TEST(TensorBoard, TheDestructorWritesTheRest) {
  const TemporaryFolder folder;
  std::filesystem::path path;
  {
    TensorBoardSink sink(folder.path());
    sink.scalar("a", 1, 1);
    path = sink.path();
  }
  EXPECT_EQ(records_of(path).size(), 2u);
}

TEST(TensorBoard, TwoSinksOfASecondHaveFilesOfTheirOwn) {
  const TemporaryFolder folder;
  const TensorBoardSink first(folder.path());
  const TensorBoardSink second(folder.path());
  EXPECT_NE(first.path(), second.path());
}

TEST(TensorBoard, AHistogramOfNothingIsNotTold) {
  const TemporaryFolder folder;
  TensorBoardSink sink(folder.path());
  sink.histogram("a", 1, {});
  sink.flush();
  EXPECT_EQ(records_of(sink.path()).size(), 1u);
}

TEST(TensorBoard, AFolderThatIsNotThereIsAnError) {
  EXPECT_THAT(error_of([] { TensorBoardSink("/nonexistent/folder"); }),
              HasSubstr("[write] cannot create /nonexistent/folder/events.out.tfevents."));
}

}  // namespace
}  // namespace nibble::inline report
