// SPDX-License-Identifier: Apache-2.0
// Checks of what a layer says against what it must be; each throws with file and line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "foreign/layer_directory/layer.h"

namespace nibble::inline foreign {

// `why` follows the expected number.
void check_equal(const LayerRecord& record, std::string_view key, std::int64_t got,
                 std::int64_t expected, std::string_view why);
void check_false(const LayerRecord& record, std::string_view key, bool got);
void check_true(const LayerRecord& record, std::string_view key, bool got);
void check_mode(const LayerRecord& record, const std::string& got, const std::string& expected);

// One of the types, and the extents.
void check_tensor(const LayerRecord& record, std::string_view key, const StoredTensor& got,
                  const std::vector<StoredType>& types, const std::vector<std::int64_t>& extents);

}  // namespace nibble::inline foreign
