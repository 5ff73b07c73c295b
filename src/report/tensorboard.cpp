// SPDX-License-Identifier: Apache-2.0
// TensorBoardSink on POSIX calls, so that the reason of a failed write is known.
#include "nibble/report/tensorboard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string>

#include "core/temporary.h"
#include "report/event_record.h"

namespace nibble::inline report {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLongestWait{1000};
constexpr std::size_t kMostBytes = std::size_t{1} << 20;

double now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

// A file of its own, also for the second sink of a second.
int create(const fs::path& folder, fs::path& path) {
  for (auto seconds = static_cast<std::int64_t>(now());; ++seconds) {
    path = folder / fmt::format("events.out.tfevents.{}.nibble", seconds);
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0) return descriptor;
    if (errno != EEXIST) fail_write("create", path, errno);
  }
}

}  // namespace

struct TensorBoardSink::State {
  explicit State(const fs::path& folder) : descriptor(create(folder, path)) {}
  ~State() {
    (void)drain();  // whoever wants to know asked flush()
    ::close(descriptor);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // The reason of the first failure, or 0; what could not be written stays.
  int drain() {
    std::size_t done = 0;
    int code = 0;
    while (done < waiting.size() && code == 0) {
      const ssize_t written = ::write(descriptor, waiting.data() + done, waiting.size() - done);
      if (written >= 0)
        done += static_cast<std::size_t>(written);
      else if (errno != EINTR)
        code = errno;
    }
    waiting.erase(0, done);
    last_drain = Clock::now();
    return code;
  }

  void flush() {
    if (const int code = drain(); code != 0) fail_write("write", path, code);
  }

  void add(const std::string& record) {
    waiting += record;
    if (waiting.size() >= kMostBytes || Clock::now() - last_drain >= kLongestWait) flush();
  }

  fs::path path;
  int descriptor;
  std::string waiting;
  Clock::time_point last_drain = Clock::now();
};

TensorBoardSink::TensorBoardSink(const fs::path& folder, std::optional<std::int64_t> resumed_at)
    : state_(std::make_unique<State>(folder)) {
  state_->add(version_record(now()));
  if (resumed_at) state_->add(restart_record({.seconds = now(), .step = *resumed_at}));
  state_->flush();
}

TensorBoardSink::~TensorBoardSink() = default;

void TensorBoardSink::scalar(std::string_view tag, std::int64_t step, double value) {
  state_->add(scalar_record({.seconds = now(), .step = step}, tag, value));
}

void TensorBoardSink::histogram(std::string_view tag, std::int64_t step,
                                std::span<const float> values) {
  add(tag, step, bucket_histogram(values));
}

void TensorBoardSink::counted_histogram(std::string_view tag, std::int64_t step,
                                        std::span<const CountedValue> values) {
  add(tag, step, bucket_histogram(values));
}

void TensorBoardSink::add(std::string_view tag, std::int64_t step, const BucketHistogram& counted) {
  if (counted.count == 0) return;
  state_->add(histogram_record({.seconds = now(), .step = step}, tag, counted));
}

void TensorBoardSink::text(std::string_view tag, std::int64_t step, std::string_view words) {
  state_->add(text_record({.seconds = now(), .step = step}, tag, words));
}

void TensorBoardSink::flush() {
  state_->flush();
}

const fs::path& TensorBoardSink::path() const {
  return state_->path;
}

}  // namespace nibble::inline report
