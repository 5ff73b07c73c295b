// SPDX-License-Identifier: Apache-2.0
// Checks of what a layer says.
#include "foreign/layer_directory/layer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "graph/node_error.h"

namespace nibble::inline foreign {
namespace {

std::string text_of(const StoredTensor& tensor) {
  return fmt::format("{},{}:{}", name_of(tensor.type), tensor.extents.size(),
                     fmt::join(tensor.extents, " "));
}

}  // namespace

void check_equal(const LayerRecord& record, std::string_view key, std::int64_t got,
                 std::int64_t expected, std::string_view why) {
  if (got == expected) return;
  record.fail(key, std::to_string(got), fmt::format("{}{}", expected, why));
}

void check_false(const LayerRecord& record, std::string_view key, bool got) {
  if (got) record.fail(key, "True", "False");
}

void check_true(const LayerRecord& record, std::string_view key, bool got) {
  if (!got) record.fail(key, "False", "True");
}

void check_mode(const LayerRecord& record, const std::string& got, const std::string& expected) {
  if (got != expected) record.fail("compute_mode", in_quotes(got), in_quotes(expected));
}

void check_tensor(const LayerRecord& record, std::string_view key, const StoredTensor& got,
                  const std::vector<StoredType>& types, const std::vector<std::int64_t>& extents) {
  const bool is_fitting =
      got.extents == extents && std::find(types.begin(), types.end(), got.type) != types.end();
  if (is_fitting) return;
  std::vector<std::string> expected;
  expected.reserve(types.size());
  for (const StoredType type : types) expected.push_back(text_of({type, extents, {}}));
  record.fail(key, text_of(got), fmt::format("{}", fmt::join(expected, " or ")));
}

}  // namespace nibble::inline foreign
