// SPDX-License-Identifier: Apache-2.0
// Tests of downloads without a server: what is asked for, and what is refused before it is asked.
// tests/cli/data_test.py downloads from one.
#include "data/download.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/test_support.h"

namespace nibble::inline data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

TEST(DownloadSource, IsAFolderBehindHttps) {
  for (const char* name : {"mnist", "fashion-mnist", "cifar10"}) {
    EXPECT_THAT(download_source(name).address, StartsWith("https://"));
    EXPECT_TRUE(download_source(name).address.ends_with('/'));
  }
  EXPECT_EQ(download_source("mnist").files.size(), 4U);
  EXPECT_THAT(download_source("cifar10").files, ElementsAre("cifar-10-binary.tar.gz"));
  EXPECT_TRUE(download_source("digits").files.empty());
}

TEST(Http, SpeaksHttpsOnlyAndHttpWithThisMachineAlone) {
  if (!has_http()) GTEST_SKIP() << "no libcurl";
  const auto error = [](const std::string& address, bool is_local_allowed) {
    return error_of([&] {
      http_get({.address = address,
                .most_bytes = 100,
                .is_local_allowed = is_local_allowed,
                .on_progress = {}});
    });
  };
  EXPECT_THAT(error("http://example.org/", true),
              HasSubstr("protocol: got http, expected https, or http on localhost"));
  EXPECT_THAT(error("http://127.0.0.1@example.org/", true), HasSubstr("protocol: got http"));
  EXPECT_THAT(error("http://localhost.example.org/", true), HasSubstr("protocol: got http"));
  EXPECT_THAT(error("http://127.0.0.1:1/", false), HasSubstr("got http, expected https"));
  EXPECT_THAT(error("ftp://127.0.0.1/", true), HasSubstr("protocol: got ftp"));
  EXPECT_THAT(error("file:///etc/passwd", true), HasSubstr("protocol: got file"));
  EXPECT_THAT(error("no address", true), HasSubstr("no address: "));
  EXPECT_THAT(error("http://127.0.0.1:1/x", true), HasSubstr("[download] http://127.0.0.1:1/x: "));
}

}  // namespace
}  // namespace nibble::inline data
