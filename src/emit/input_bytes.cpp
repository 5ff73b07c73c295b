// SPDX-License-Identifier: Apache-2.0
// Makes the table of bytes.
#include "emit/emitted_parts.h"

#include <algorithm>

#include "graph/input_table.h"

namespace nibble::inline emit {
namespace {

bool is_channel_like_first(const std::vector<std::int64_t>& codes, std::size_t begin) {
  return std::equal(codes.begin(), codes.begin() + kTableEntries,
                    codes.begin() + static_cast<std::ptrdiff_t>(begin));
}

}  // namespace

std::optional<CArray> table_of_bytes(const NetworkView& view, const EmitPlan& plan) {
  const Node& input = view.node(0);
  if (input.value.format.scaling.kind != ScaleKind::given) return std::nullopt;
  const Input& op = std::get<Input>(input.op);
  const std::size_t channels = std::max<std::size_t>(op.mean.size(), 1);
  const std::vector<std::int32_t> integers = input_table(op, input.value, channels);
  CArray table{"net_codes_of_bytes", plan.storage[0].type, {}};
  for (const std::int32_t each : integers) table.numbers.push_back(each + plan.storage[0].zero);
  bool is_alike = true;
  for (std::size_t c = 1; c < channels; ++c)
    is_alike = is_alike && is_channel_like_first(table.numbers, c * kTableEntries);
  if (is_alike) table.numbers.resize(kTableEntries);
  bool is_byte_itself = is_alike;
  for (std::size_t byte = 0; byte < kTableEntries; ++byte)
    is_byte_itself = is_byte_itself && table.numbers[byte] == static_cast<std::int64_t>(byte);
  if (is_byte_itself) return std::nullopt;
  return table;
}

}  // namespace nibble::inline emit
