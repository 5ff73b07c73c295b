// SPDX-License-Identifier: Apache-2.0
// Reads a table of comma-separated values (RFC 4180, a row a line), column by name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nibble::inline report {

class CsvTable {
 public:
  // The first line names the columns. A last line without an end is somebody's who still writes:
  // it is left out.
  CsvTable(const std::filesystem::path& path, std::string_view text);

  std::size_t rows() const { return rows_.size(); }

  // Throws where the table has no such column.
  void require(std::string_view column) const;

  // Of a column that is not there: "", no number.
  std::string text(std::size_t row, std::string_view column) const;
  std::optional<double> number(std::size_t row, std::string_view column) const;
  std::int64_t whole(std::size_t row, std::string_view column) const;  // has to be there

  // "[report] PATH line N: COLUMN: got X, expected Y"
  [[noreturn]] void fail(std::size_t row, std::string_view column, std::string_view got,
                         std::string_view expected) const;

 private:
  struct Row {
    std::size_t line = 0;
    std::vector<std::string> fields;
  };

  std::optional<std::size_t> place_of(std::string_view column) const;

  std::string path_;
  std::vector<std::string> columns_;
  std::vector<Row> rows_;
};

}  // namespace nibble::inline report
