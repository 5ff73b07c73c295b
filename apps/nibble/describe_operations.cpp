// SPDX-License-Identifier: Apache-2.0
// Prints the table of operations.
#include "apps/nibble/verb_parts.h"

#include <fmt/format.h>

#include <cctype>
#include <string>

#include "graph/operation_table.h"
#include "tasks/json.h"

namespace nibble {
namespace {

// "emit --train" is emit_train for programs.
std::string key_of(Capability capability) {
  std::string key;
  for (const char c : name_of(capability)) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      key += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (key.back() != '_') {
      key += '_';
    }
  }
  return key;
}

Json operations_json() {
  Json list = Json::array();
  for (const OperationRow& row : operation_table()) {
    Json entry{{"operation", row.operation}};
    for (std::size_t c = 0; c < kCapabilities; ++c)
      entry[key_of(static_cast<Capability>(c))] = {{"is_there", row.cells[c].is_there},
                                                   {"words", row.cells[c].words}};
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

void print_operations(TableForm form) {
  switch (form) {
    case TableForm::text:
      return fmt::print("{}", operation_table_text());
    case TableForm::json:
      return fmt::print("{}\n", operations_json().dump(2));
    case TableForm::markdown:
      return fmt::print("{}", operation_table_page());
  }
}

}  // namespace nibble
