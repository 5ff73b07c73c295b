// SPDX-License-Identifier: Apache-2.0
// nibble describe --operations: what can be done with each operation.
#pragma once

namespace nibble {

enum class TableForm { text, json, markdown };

void print_operations(TableForm form);

}  // namespace nibble
