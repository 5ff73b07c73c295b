// SPDX-License-Identifier: Apache-2.0
// Elements to codes and back by tables.
#include "kernels/quantize/code_map.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>
#include <utility>

namespace nibble::inline kernels {
namespace {

std::uint32_t pattern_of(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

// How many low bits of the entries tell none from another; 32 where 16 others do not.
int idle_bits(const std::vector<float>& entries) {
  for (int bits = 31; bits >= 16; --bits) {
    std::vector<std::uint32_t> rest;
    for (const float entry : entries) rest.push_back(pattern_of(entry) >> bits);
    std::ranges::sort(rest);
    if (std::ranges::adjacent_find(rest) == rest.end()) return bits;
  }
  return 32;
}

}  // namespace

std::optional<CodeMap> CodeMap::make(const Element& element) {
  const ElementInfo info = describe(element);
  if (info.code_bits > 16 || !info.decodes_to_fp32) return std::nullopt;
  if (const auto* grid = std::get_if<GridElement>(&element)) {
    if (grid->fraction_bits < -100 || grid->fraction_bits > 100) return std::nullopt;
  }
  CodeMap map;
  const auto* table = std::get_if<CodebookElement>(&element);
  const std::size_t count =
      table != nullptr ? table->values.size() : std::size_t{1} << info.code_bits;
  map.values_.resize(count);
  for (std::uint32_t code = 0; code < count; ++code) {
    map.values_[code] = static_cast<float>(decode_code(element, code));
  }
  if (const auto* grid = std::get_if<GridElement>(&element)) {
    map.grid_ = {static_cast<float>(1 / grid->step()), (1U << grid->bits) - 1};
    return map;
  }
  const auto zero = std::ranges::find(map.values_, 0.0F);
  const bool has_alias = table != nullptr && zero != map.values_.end();  // -0 is 0
  if (table != nullptr) {
    std::vector<float> entries = map.values_;
    if (has_alias) entries.push_back(-0.0F);
    map.shift_ = idle_bits(entries);
    if (map.shift_ == 32) return map;
  } else {
    std::uint32_t used_bits = 0x80000000U;
    for (const float value : map.values_) {
      if (!std::isnan(value)) used_bits |= pattern_of(value);
    }
    map.shift_ = std::countr_zero(used_bits);
  }
  map.codes_.resize(std::size_t{1} << (32 - map.shift_));
  // Downwards: of several codes for one value (zero without subnormals) the least stays.
  for (std::size_t code = count; code-- > 0;) {
    const float value = map.values_[code];
    if (!std::isnan(value))
      map.codes_[pattern_of(value) >> map.shift_] = static_cast<std::uint16_t>(code);
  }
  if (has_alias) {
    map.codes_[pattern_of(-0.0F) >> map.shift_] =
        static_cast<std::uint16_t>(zero - map.values_.begin());
  }
  if (info.has_nan) map.nan_code_ = encode_value(element, std::nan(""));
  map.line_ = FloatLine::of(element);
  return map;
}

std::shared_ptr<const CodeMap> CodeMap::of(const Element& element) {
  constexpr std::size_t kKept = 8;
  static std::mutex mutex;
  static std::vector<std::pair<Element, std::shared_ptr<const CodeMap>>> kept;  // the latest first
  const std::lock_guard lock(mutex);
  auto found = std::ranges::find(kept, element, &decltype(kept)::value_type::first);
  if (found == kept.end()) {
    std::optional<CodeMap> map = make(element);
    if (!map) return nullptr;
    if (kept.size() == kKept) kept.pop_back();
    found = kept.emplace(kept.end(), element, std::make_shared<const CodeMap>(std::move(*map)));
  }
  std::rotate(kept.begin(), found, found + 1);
  return kept.front().second;
}

std::uint32_t CodeMap::code_of(float value) const {
  if (grid_.mask != 0) return grid_.code_of(value);
  if (!codes_.empty()) {
    return std::isnan(value) ? nan_code_ : codes_[pattern_of(value) >> shift_];
  }
  return static_cast<std::uint32_t>(std::lower_bound(values_.begin(), values_.end(), value) -
                                    values_.begin());
}

template <class Code>
void CodeMap::write_codes(const float* values, std::size_t count, Code* codes) const {
  const auto write = [&](const auto& rule) {
    for (std::size_t i = 0; i < count; ++i) codes[i] = static_cast<Code>(rule.code_of(values[i]));
  };
  if (grid_.mask != 0) return write(GridLine(grid_));
  if (line_) return write(FloatLine(*line_));
  write(*this);
}

template void CodeMap::write_codes(const float*, std::size_t, std::uint8_t*) const;
template void CodeMap::write_codes(const float*, std::size_t, std::uint16_t*) const;
template void CodeMap::write_codes(const float*, std::size_t, std::uint32_t*) const;

}  // namespace nibble::inline kernels
