// SPDX-License-Identifier: Apache-2.0
// Rows by single writes; what was written of a row that failed is cut away again.
#include "run_folder/csv_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <system_error>

#include "core/name.h"
#include "core/text_file.h"
#include "nibble/core/error.h"
#include "nibble/core/limits.h"

namespace nibble::inline run_folder {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const char* action, const fs::path& path, int code) {
  throw Error(
      "run",
      fmt::format("cannot {} {}: {}", action, path.string(), std::generic_category().message(code)),
      ErrorKind::system);
}

std::string content_of(const fs::path& path) {
  return read_text_file(path, "run", limits().memory);
}

// The end of the line that begins at `begin`, its line break included. A quoted cell may hold line
// breaks. npos: the line is unfinished.
std::size_t end_of_line(std::string_view text, std::size_t begin) {
  bool is_quoted = false;
  for (std::size_t i = begin; i < text.size(); ++i) {
    if (text[i] == '"') is_quoted = !is_quoted;
    if (text[i] == '\n' && !is_quoted) return i + 1;
  }
  return std::string_view::npos;
}

bool is_up_to_epoch(std::string_view line, std::int64_t last_epoch) {
  std::int64_t epoch = 0;
  const char* end = line.data() + line.size();
  const auto [stop, error] = std::from_chars(line.data(), end, epoch);
  return error == std::errc{} && stop != end && *stop == ',' && epoch <= last_epoch;
}

}  // namespace

CsvRow& CsvRow::add_cell(std::string_view cell) {
  if (!is_empty_) text_ += ',';
  is_empty_ = false;
  text_ += cell;
  return *this;
}

CsvRow& CsvRow::add(std::string_view words) {
  std::string text = well_formed(words);
  if (text.find_first_of("=+-@") == 0) text.insert(0, 1, '\'');  // no formula of a spreadsheet
  if (text.find_first_of(",\"") == std::string::npos) return add_cell(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return add_cell(quoted + '"');
}

CsvRow& CsvRow::add(std::int64_t value) {
  return add_cell(fmt::format("{}", value));
}

CsvRow& CsvRow::add(double value) {
  return add_cell(fmt::format("{}", value));
}

CsvRow& CsvRow::add(std::optional<double> value) {
  return value ? add(*value) : add_cell("");
}

CsvLog::CsvLog(const fs::path& path, std::string_view header) : path_(path) {
  std::error_code ignored;
  const bool is_there = fs::exists(path, ignored);
  const std::string old = is_there ? content_of(path) : "";
  std::size_t kept = 0;
  for (std::size_t end = end_of_line(old, 0); end != std::string::npos;
       end = end_of_line(old, kept)) {
    kept = end;
  }
  const std::string first_line = std::string(header) + "\n";
  if (kept > 0 && !old.starts_with(first_line)) {
    throw Error("run", path.string() + ": header",
                in_quotes(std::string_view(old).substr(0, end_of_line(old, 0) - 1)),
                "'" + std::string(header) + "'", ErrorKind::input);
  }
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail("create", path, errno);
  try {
    if (kept < old.size() && ::ftruncate(descriptor_, static_cast<off_t>(kept)) != 0) {
      fail("cut", path, errno);
    }
    if (kept == 0) append(first_line);
  } catch (...) {
    ::close(descriptor_);
    if (!is_there) ::unlink(path.c_str());
    throw;
  }
}

CsvLog::~CsvLog() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void CsvLog::append(std::string_view lines) {
  struct stat before = {};
  if (::fstat(descriptor_, &before) != 0) fail("write", path_, errno);
  while (!lines.empty()) {
    const ssize_t written = ::write(descriptor_, lines.data(), lines.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const int code = written < 0 ? errno : ENOSPC;
      (void)!::ftruncate(descriptor_, before.st_size);
      fail("write", path_, code);
    }
    lines.remove_prefix(static_cast<std::size_t>(written));
  }
}

void cut_after_epoch(const fs::path& path, std::int64_t last_epoch) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return;
  const std::string text = content_of(path);
  std::size_t kept = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = end_of_line(text, begin);
    if (end == std::string::npos) break;
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    if (begin > 0 && !is_up_to_epoch(line, last_epoch)) break;
    begin = kept = end;
  }
  if (kept == text.size()) return;
  write_text_file(path, std::string_view(text).substr(0, kept));
}

}  // namespace nibble::inline run_folder
