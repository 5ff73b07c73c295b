// SPDX-License-Identifier: Apache-2.0
// Tests of Ctrl-C: asked for once, obeyed at once the second time.
#include "nibble/run_folder/interrupt.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "core/atomic_file.h"
#include "core/test_support.h"

namespace nibble::inline run_folder {
namespace {

TEST(Interrupt, IsRememberedAndForgotten) {
  {
    const InterruptGuard guard;
    EXPECT_FALSE(interrupt_requested());
    ::raise(SIGINT);
    EXPECT_TRUE(interrupt_requested());
    EXPECT_EQ(interrupt_signal(), SIGINT);
  }
  EXPECT_FALSE(interrupt_requested());
  {
    const InterruptGuard guard;
    ::raise(SIGTERM);
    EXPECT_EQ(interrupt_signal(), SIGTERM);
  }
}

TEST(Interrupt, HandlersComeBack) {
  struct sigaction before = {};
  struct sigaction after = {};
  ::sigaction(SIGINT, nullptr, &before);
  {
    const InterruptGuard outer;
    { const InterruptGuard inner; }
    ::raise(SIGINT);  // the outer guard still listens
    EXPECT_TRUE(interrupt_requested());
  }
  ::sigaction(SIGINT, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

TEST(Interrupt, ThatWasIgnoredStaysIgnored) {
  const auto old = ::signal(SIGINT, SIG_IGN);
  {
    const InterruptGuard guard;
    ::raise(SIGINT);
    ::raise(SIGINT);
    EXPECT_FALSE(interrupt_requested());
  }
  ::signal(SIGINT, old);
}

TEST(InterruptDeathTest, SecondOneEndsTheProcess) {
  const auto twice = [](int first, int second) {
    const InterruptGuard guard;
    ::raise(first);
    ::raise(second);
    ::_exit(0);
  };
  EXPECT_EXIT(twice(SIGINT, SIGINT), testing::KilledBySignal(SIGINT), "");
  EXPECT_EXIT(twice(SIGTERM, SIGTERM), testing::KilledBySignal(SIGTERM), "");
  EXPECT_EXIT(twice(SIGTERM, SIGINT), testing::KilledBySignal(SIGINT), "");
}

TEST(InterruptDeathTest, WithoutAGuardAProgramEndsInOneLineWithoutATrace) {
  const TemporaryFolder folder;
  const auto ended = [&](int number) {
    end_on_interrupt();
    AtomicFile file(folder.path() / "data");
    ::raise(number);
    ::_exit(0);
  };
  EXPECT_EXIT(ended(SIGINT), testing::ExitedWithCode(130), "^nibble: interrupted\n$");
  EXPECT_EXIT(ended(SIGTERM), testing::ExitedWithCode(143), "^nibble: interrupted\n$");
  EXPECT_EQ(folder.files(), 0);
  const auto guarded = [] {
    end_on_interrupt();
    const InterruptGuard guard;
    ::raise(SIGINT);
    ::raise(SIGINT);
    ::_exit(0);
  };
  EXPECT_EXIT(guarded(), testing::ExitedWithCode(130), "^nibble: interrupted\n$");
}

}  // namespace
}  // namespace nibble::inline run_folder
