// SPDX-License-Identifier: Apache-2.0
// Tests of progress on a terminal (a pseudo-terminal here) and in a pipe.
#include "nibble/run_folder/progress.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

#include "core/test_support.h"

namespace nibble::inline run_folder {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Everything that waits at a descriptor.
std::string waiting_at(int descriptor) {
  ::fcntl(descriptor, F_SETFL, O_NONBLOCK);
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t n = 0; (n = ::read(descriptor, buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return text;
}

class Pipe {
 public:
  Pipe() { (void)!::pipe(ends_.data()); }
  ~Pipe() {
    for (const int end : ends_) ::close(end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int in() const { return ends_[1]; }
  std::string text() const { return waiting_at(ends_[0]); }

 private:
  std::array<int, 2> ends_{-1, -1};
};

class Terminal : public testing::Test {
 protected:
  void SetUp() override {
    master_ = ::posix_openpt(O_RDWR | O_NOCTTY);
    if (master_ < 0 || ::grantpt(master_) != 0 || ::unlockpt(master_) != 0) {
      GTEST_SKIP() << "no pseudo-terminals here";
    }
    terminal_ = ::open(::ptsname(master_), O_RDWR | O_NOCTTY);
    const winsize size{.ws_row = 24, .ws_col = 60, .ws_xpixel = 0, .ws_ypixel = 0};
    ::ioctl(terminal_, TIOCSWINSZ, &size);
  }
  void TearDown() override {
    ::close(terminal_);
    ::close(master_);
  }
  std::string text() const { return waiting_at(master_); }

  int master_ = -1;
  int terminal_ = -1;
  const ScopedVariable all_{"LC_ALL", "C"};
  const ScopedVariable term_{"TERM", "xterm"};
  const ScopedVariable no_color_{"NO_COLOR", "1"};
};

TEST(ProgressInAPipe, IsALineNowAndThen) {
  const Pipe pipe;
  Progress progress("epoch 1", 10, {.descriptor = pipe.in(), .seconds_between = 3600});
  for (int i = 0; i < 10; ++i) progress.update(i);
  EXPECT_EQ(pipe.text(), "");
  progress.print("epoch 1: loss 0.5");
  EXPECT_EQ(pipe.text(), "epoch 1: loss 0.5\n");
}

TEST(ProgressInAPipe, HasNoControlCharacters) {
  const Pipe pipe;
  {
    Progress progress("epoch 1", 10, {.descriptor = pipe.in(), .seconds_between = 1e-9});
    progress.update(5);
  }
  const std::string text = pipe.text();
  EXPECT_THAT(text, StartsWith("epoch 1: 5/10, "));
  EXPECT_THAT(text, EndsWith("images/s\n"));
  EXPECT_EQ(text.find_first_of("\r\x1b"), std::string::npos);
}

TEST(ProgressInAPipe, CanBeSilent) {
  const Pipe pipe;
  {
    Progress progress(
        "epoch 1", 10,
        {.style = ProgressStyle::silent, .descriptor = pipe.in(), .seconds_between = 1e-9});
    progress.update(5);
    progress.print("never");
  }
  EXPECT_EQ(pipe.text(), "");
}

TEST(ProgressInAPipe, NobodyReadingIsNoError) {
  Progress progress("epoch 1", 10, {.descriptor = -1, .seconds_between = 1e-9});
  progress.update(5);
  progress.print("lost");
}

TEST_F(Terminal, ShowsABarAtOnceAndTakesItAway) {
  {
    Progress progress("epoch 1", 10, {.descriptor = terminal_});
    progress.update(0);
    const std::string first = text();
    EXPECT_EQ(first, "\repoch 1 [..............................] 0/10\x1b[K");
    progress.update(1);  // too soon for the eye
    EXPECT_EQ(text(), "");
  }
  EXPECT_EQ(text(), "\r\x1b[K");
}

TEST_F(Terminal, TakesTheBarAwayWhenAnErrorFlies) {
  try {
    Progress progress("epoch 1", 10, {.descriptor = terminal_});
    progress.update(0);
    text();
    throw std::runtime_error("full disk");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(text(), "\r\x1b[K");
}

TEST_F(Terminal, PrintsLinesAboveTheBar) {
  Progress progress("epoch 1", 10, {.descriptor = terminal_});
  progress.update(0);
  text();
  progress.print("saved");
  EXPECT_EQ(text(), "\r\x1b[Ksaved\r\n");
  progress.update(1);  // the bar is back at once
  EXPECT_THAT(text(), HasSubstr("1/10"));
  progress.finish();
  text();
  progress.update(2);
  EXPECT_EQ(text(), "");
}

TEST_F(Terminal, KeepsToItsWidth) {
  const winsize narrow{.ws_row = 24, .ws_col = 20, .ws_xpixel = 0, .ws_ypixel = 0};
  ::ioctl(terminal_, TIOCSWINSZ, &narrow);
  Progress progress("epoch 1", 10, {.descriptor = terminal_});
  progress.update(0);
  EXPECT_EQ(text(), "\repoch 1 0/10\x1b[K");
}

TEST_F(Terminal, HasBlocksInUtf8AndColorUnlessForbidden) {
  const ScopedVariable all("LC_ALL", "C.UTF-8");
  {
    Progress progress("epoch 1", 10, {.descriptor = terminal_});
    progress.update(10);
    EXPECT_THAT(text(), HasSubstr("█"));
  }
  EXPECT_THAT(text(), Not(HasSubstr("\x1b[32m")));
  const ScopedVariable no_color("NO_COLOR", std::nullopt);
  Progress progress("epoch 1", 10, {.descriptor = terminal_});
  progress.update(10);
  EXPECT_THAT(text(), HasSubstr("\x1b[32m"));
}

TEST_F(Terminal, ThatIsDumbGetsLines) {
  const ScopedVariable term("TERM", "dumb");
  Progress progress("epoch 1", 10, {.descriptor = terminal_, .seconds_between = 1e-9});
  progress.update(5);
  EXPECT_THAT(text(), StartsWith("epoch 1: 5/10"));
}

}  // namespace
}  // namespace nibble::inline run_folder
