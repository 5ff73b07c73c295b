// SPDX-License-Identifier: Apache-2.0
// Draws the bar no more often than an eye can follow, writes lines where nobody looks.
#include "nibble/run_folder/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <optional>

namespace nibble::inline run_folder {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kDefaultWidth = 80;
constexpr std::string_view kClearLine = "\r\x1b[K";

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

// Looks at the variables themselves: a program that never calls setlocale is in the "C" locale.
bool has_utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (!is_set(name)) continue;
    const std::string_view value = std::getenv(name);
    return value.find("UTF-8") != value.npos || value.find("utf8") != value.npos ||
           value.find("utf-8") != value.npos || value.find("UTF8") != value.npos;
  }
  return false;
}

int width_of(int descriptor) {
  winsize size = {};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return kDefaultWidth;
}

bool is_dumb_terminal() {
  const char* term = std::getenv("TERM");
  return term != nullptr && std::string_view(term) == "dumb";
}

ProgressStyle resolved(const ProgressOptions& options) {
  if (options.style != ProgressStyle::automatic) return options.style;
  const bool is_terminal = ::isatty(options.descriptor) != 0 && !is_dumb_terminal();
  return is_terminal ? ProgressStyle::bar : ProgressStyle::lines;
}

// Progress that cannot be shown is no reason to stop a run.
void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

struct Progress::State {
  State(std::string label_text, std::int64_t total_count, const ProgressOptions& options)
      : label(std::move(label_text)),
        total(total_count),
        unit(options.unit),
        descriptor(options.descriptor),
        style(resolved(options)),
        interval(options.seconds_between > 0   ? options.seconds_between
                 : style == ProgressStyle::bar ? 0.1
                                               : 10.0) {
    look.has_blocks = has_utf8_locale();
    look.has_color = !is_set("NO_COLOR");
  }

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start).count(); }

  void take_bar_away() {
    if (!is_bar_shown) return;
    write_all(descriptor, kClearLine);
    is_bar_shown = false;
  }

  std::string label;
  std::int64_t total;
  std::string unit;
  int descriptor;
  ProgressStyle style;
  double interval;
  BarLook look;
  Clock::time_point start = Clock::now();
  std::optional<double> last_shown;
  bool is_bar_shown = false;
  bool is_finished = false;
};

Progress::Progress(std::string label, std::int64_t total, const ProgressOptions& options)
    : state_(std::make_unique<State>(std::move(label), total, options)) {}

Progress::~Progress() {
  finish();
}

void Progress::update(std::int64_t done, std::span<const ProgressValue> values) {
  State& s = *state_;
  if (s.is_finished || s.style == ProgressStyle::silent) return;
  const double now = s.seconds();
  // A bar appears at once, a line only after the first interval.
  const bool is_bar = s.style == ProgressStyle::bar;
  const double last = s.last_shown.value_or(is_bar ? -s.interval : 0);
  if (now - last < s.interval) return;
  s.last_shown = now;
  const ProgressView view{.label = s.label,
                          .done = done,
                          .total = s.total,
                          .seconds = now,
                          .unit = s.unit,
                          .values = values};
  if (!is_bar) {
    write_all(s.descriptor, line_text(view) + "\n");
    return;
  }
  s.look.width = width_of(s.descriptor) - 1;  // the last column may wrap
  write_all(s.descriptor, "\r" + bar_text(view, s.look) + "\x1b[K");
  s.is_bar_shown = true;
}

void Progress::print(std::string_view line) {
  State& s = *state_;
  if (s.style == ProgressStyle::silent) return;
  s.take_bar_away();
  write_all(s.descriptor, std::string(line) + "\n");
  s.last_shown.reset();
}

double Progress::seconds() const {
  return state_->seconds();
}

void Progress::finish() {
  state_->take_bar_away();
  state_->is_finished = true;
}

}  // namespace nibble::inline run_folder
