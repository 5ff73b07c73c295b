// SPDX-License-Identifier: Apache-2.0
// The table of operations for a terminal and as the page of the documentation.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "graph/operation_table.h"

namespace nibble::inline graph {
namespace {

// A cell in one word; the words of a starred one stand below the table.
std::string_view mark_of(const Support& cell) {
  if (!cell.is_there) return "no";
  return cell.words.empty() ? "yes" : "yes*";
}

// What one operation's cells of the same words say.
struct Remark {
  std::string_view operation;
  Support cell;
  std::string capabilities;  // "engine, emit"
};

std::vector<Remark> remarks() {
  std::vector<Remark> list;
  for (const OperationRow& row : operation_table()) {
    const std::size_t first = list.size();
    for (std::size_t c = 0; c < kCapabilities; ++c) {
      const Support& cell = row.cells[c];
      if (cell.words.empty()) continue;
      const std::string_view name = name_of(static_cast<Capability>(c));
      const auto same = std::find_if(
          list.begin() + static_cast<std::ptrdiff_t>(first), list.end(), [&](const Remark& each) {
            return each.cell.is_there == cell.is_there && each.cell.words == cell.words;
          });
      if (same == list.end()) {
        list.push_back({row.operation, cell, std::string(name)});
      } else {
        same->capabilities += fmt::format(", {}", name);
      }
    }
  }
  return list;
}

// The head of a column has two lines where its name has two words.
struct ColumnHead {
  std::string_view top = {};
  std::string_view bottom = {};
  std::size_t width = 0;
};

ColumnHead head_of(Capability capability) {
  const std::string_view name = name_of(capability);
  const std::size_t space = name.find(' ');
  ColumnHead head{.bottom = name};
  if (space != std::string_view::npos) head = {name.substr(0, space), name.substr(space + 1)};
  head.width = std::max({head.top.size(), head.bottom.size(), mark_of({true, "*"}).size()});
  return head;
}

std::string without_end_blanks(const std::string& line) {
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

}  // namespace

std::string operation_table_text() {
  std::size_t width = 0;
  for (const OperationRow& row : operation_table()) width = std::max(width, row.operation.size());
  std::string top = fmt::format("{:{}}", "", width);
  std::string bottom = fmt::format("{:{}}", "operation", width);
  std::vector<ColumnHead> heads;
  for (std::size_t c = 0; c < kCapabilities; ++c) {
    heads.push_back(head_of(static_cast<Capability>(c)));
    top += fmt::format("  {:{}}", heads[c].top, heads[c].width);
    bottom += fmt::format("  {:{}}", heads[c].bottom, heads[c].width);
  }
  std::string text = without_end_blanks(top) + without_end_blanks(bottom);
  for (const OperationRow& row : operation_table()) {
    std::string line = fmt::format("{:{}}", row.operation, width);
    for (std::size_t c = 0; c < kCapabilities; ++c)
      line += fmt::format("  {:{}}", mark_of(row.cells[c]), heads[c].width);
    text += without_end_blanks(line);
  }
  text += "\nWhy not, and what the starred ones ask for:\n\n";
  for (const Remark& each : remarks()) {
    text += fmt::format("{:{}}  {:4}  {}: {}\n", each.operation, width, mark_of(each.cell),
                        each.capabilities, each.cell.words);
  }
  return text;
}

std::string operation_table_page() {
  std::string text =
      "# Operations\n\n"
      "What can be done with each operation of a [network](networks.md). `nibble describe "
      "--operations` prints this table,\nwith `--json` for programs; a test tries every cell. "
      "This page is made from it:\n"
      "`nibble describe --operations --markdown > docs/operations.md`.\n\n"
      "| column | what is typed |\n| --- | --- |\n";
  for (std::size_t c = 0; c < kCapabilities; ++c) {
    const auto capability = static_cast<Capability>(c);
    text += fmt::format("| {} | `{}` |\n", name_of(capability), command_of(capability));
  }
  text += "\n| operation |";
  for (std::size_t c = 0; c < kCapabilities; ++c)
    text += fmt::format(" {} |", name_of(static_cast<Capability>(c)));
  text += "\n| --- |";
  for (std::size_t c = 0; c < kCapabilities; ++c) text += " --- |";
  text += "\n";
  for (const OperationRow& row : operation_table()) {
    text += fmt::format("| `{}` |", row.operation);
    for (const Support& cell : row.cells)
      text += fmt::format(" {} |", cell.words.empty() || !cell.is_there ? mark_of(cell) : "yes\\*");
    text += "\n";
  }
  text += "\n## Why not, and what the starred ones ask for\n\n";
  text += "| operation | | where | |\n| --- | --- | --- | --- |\n";
  for (const Remark& each : remarks()) {
    text += fmt::format("| `{}` | {} | {} | {} |\n", each.operation,
                        each.cell.is_there ? "yes" : "no", each.capabilities, each.cell.words);
  }
  return text;
}

}  // namespace nibble::inline graph
