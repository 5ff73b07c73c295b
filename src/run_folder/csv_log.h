// SPDX-License-Identifier: Apache-2.0
// A table on disk that only grows, by whole rows: what a crash or a full disk cuts is not there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace nibble::inline run_folder {

// One row, cell by cell. Text with a comma or a quote is quoted, well-formed (core/name.h),
// and where it could be a formula of a spreadsheet begins with an apostrophe.
class CsvRow {
 public:
  CsvRow& add(std::string_view text);
  CsvRow& add(std::int64_t value);
  CsvRow& add(double value);  // the shortest text that reads back to the same bits
  CsvRow& add(std::optional<double> value);
  std::string line() const { return text_ + "\n"; }

 private:
  CsvRow& add_cell(std::string_view cell);

  std::string text_;
  bool is_empty_ = true;
};

class CsvLog {
 public:
  // Creates the file with its header, or continues one that has the same header. An unfinished last
  // row is cut away.
  CsvLog(const std::filesystem::path& path, std::string_view header);
  ~CsvLog();
  CsvLog(const CsvLog&) = delete;
  CsvLog& operator=(const CsvLog&) = delete;

  // One or more whole lines. When they cannot be written, none of them stays.
  void append(std::string_view lines);

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

// Keeps the header and the rows in front of the first one whose first cell is no epoch up to
// `last_epoch`; a missing file is left missing. The file is replaced at once or not at all.
void cut_after_epoch(const std::filesystem::path& path, std::int64_t last_epoch);

}  // namespace nibble::inline run_folder
