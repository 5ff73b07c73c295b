// SPDX-License-Identifier: Apache-2.0
// Ranks by fork: memory that all share, and a parent that ends all where one fails.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "cluster/board_communicator.h"
#include "cluster/launcher.h"
#include "nibble/cluster/world.h"
#include "nibble/core/error.h"

namespace nibble::inline cluster {
namespace {

constexpr int kGraceSteps = 50;  // of 10 ms, for the others to say what is wrong, too

Communicator* own_world = nullptr;
std::array<volatile pid_t, kMostRanks> children = {};  // 0: none

[[noreturn]] void fail(const std::string& what) {
  throw Error("ranks", "no " + what + ": " + std::generic_category().message(errno),
              ErrorKind::system);
}

// From the terminal, all processes have it already.
void pass_on(int number, siginfo_t* info, void*) {
  if (info->si_code > 0) return;
  for (const pid_t child : children) {
    if (child != 0) ::kill(child, number);
  }
}

void end_all() {
  for (const pid_t child : children) {
    if (child != 0) ::kill(child, SIGKILL);
  }
}

void pause_shortly() {
  const timespec time{.tv_sec = 0, .tv_nsec = 10'000'000};
  ::nanosleep(&time, nullptr);
}

int code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void copy_to_errors(int file) {
  std::array<char, 4096> text;
  ::lseek(file, 0, SEEK_SET);
  for (ssize_t count = 0; (count = ::read(file, text.data(), text.size())) > 0;)
    (void)!::write(STDERR_FILENO, text.data(), static_cast<std::size_t>(count));
}

// The parent: what it says and how it ends is what the ranks did.
class Supervisor {
 public:
  explicit Supervisor(std::vector<int> errors) : errors_(std::move(errors)) {
    struct sigaction action = {};
    action.sa_sigaction = pass_on;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigemptyset(&action.sa_mask);
    for (const int number : {SIGINT, SIGTERM}) ::sigaction(number, &action, nullptr);
  }

  [[noreturn]] void run() {
    while (living_ > 0 && failed_ < 0) note(0);
    for (int i = 0; i < kGraceSteps && living_ > 0; ++i) {
      if (!note(WNOHANG)) pause_shortly();
    }
    const bool has_spoken = code_of_first_ != 0;
    if (living_ > 0) end_all();
    while (living_ > 0) note(0);
    if (failed_ > 0 && !has_spoken) {
      copy_to_errors(errors_[static_cast<std::size_t>(failed_)]);
      if (signal_ != 0) std::fprintf(stderr, "nibble: signal %d ended rank %d\n", signal_, failed_);
    }
    ::_exit(failed_ > 0 && !has_spoken ? code_ : code_of_first_);
  }

 private:
  // Takes note of a rank that ended; false: none did.
  bool note(int options) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, options);
    if (ended <= 0) return false;
    int rank = 0;
    while (children[static_cast<std::size_t>(rank)] != ended) ++rank;
    children[static_cast<std::size_t>(rank)] = 0;
    --living_;
    const int code = code_of(status);
    if (rank == 0) code_of_first_ = code;
    if (code != 0 && failed_ < 0) {
      failed_ = rank;
      code_ = code;
      signal_ = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    }
    return true;
  }

  std::vector<int> errors_;  // files with what the ranks wrote to standard error
  int living_ = static_cast<int>(errors_.size());
  int failed_ = -1;  // the first that did
  int code_ = 0;
  int signal_ = 0;
  int code_of_first_ = 0;  // of rank 0
};

}  // namespace

Communicator* started_world() {
  return own_world;
}

void start_ranks(int count) {
  if (count < 1 || count > kMostRanks)
    throw Error("ranks", "count", std::to_string(count), "1 to " + std::to_string(kMostRanks));
  if (count == 1) return;
  if (launched_processes())
    throw Error("ranks", "started within ranks of mpirun: take one or the other");
  const std::size_t bytes = SharedBoard::bytes_for(count);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("memory that ranks share");
  std::vector<int> errors;
  for (int rank = 0; rank < count; ++rank) {
    errors.push_back(rank == 0 ? STDERR_FILENO : ::memfd_create("errors of a rank", MFD_CLOEXEC));
    if (errors.back() < 0) fail("file for the errors of a rank");
  }
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  for (int rank = 0; rank < count; ++rank) {
    const pid_t child = ::fork();
    if (child < 0) {
      end_all();
      fail("process of a rank");
    }
    if (child > 0) {
      children[static_cast<std::size_t>(rank)] = child;
      continue;
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    if (rank > 0) ::dup2(errors[static_cast<std::size_t>(rank)], STDERR_FILENO);
    static BoardCommunicator communicator(static_cast<std::byte*>(memory), rank, count);
    own_world = &communicator;
    return;
  }
  Supervisor(std::move(errors)).run();
}

}  // namespace nibble::inline cluster
