// SPDX-License-Identifier: Apache-2.0
// Elements to codes and back by tables, for elements of at most 16 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/quantize/code_line.h"
#include "nibble/numerics/element.h"

namespace nibble::inline kernels {

class CodeMap {
 public:
  // Nothing for wider elements and for values that are no fp32 values.
  static std::optional<CodeMap> make(const Element& element);

  // The same, null for nothing; made once: 65,536 codes take milliseconds, and calls on small
  // arrays come in thousands. The maps of the last few elements are kept.
  static std::shared_ptr<const CodeMap> of(const Element& element);

  // Code of an element's value as round_to gives it; NaN where the element has one.
  std::uint32_t code_of(float value) const;

  // The same for a whole stretch. Codes are u8 or u16 (or u32, the half of which nobody needs).
  template <class Code>
  void write_codes(const float* values, std::size_t count, Code* codes) const;

  // Whether numbers next to a value, as divisions by a scale leave them, get its code as well.
  bool takes_neighbors() const { return grid_.mask != 0 || line_; }

  // The values of all codes; a codebook may have fewer of them than bits allow.
  const std::vector<float>& values() const { return values_; }

 private:
  std::vector<float> values_;
  // Every value has low `shift_` bits that are clear or tell it from no other; the rest is an
  // index.
  std::vector<std::uint16_t> codes_;
  int shift_ = 0;
  std::uint32_t nan_code_ = 0;
  GridLine grid_;  // of a grid: the code is the number of steps
  std::optional<FloatLine> line_;
};

}  // namespace nibble::inline kernels
