// SPDX-License-Identifier: Apache-2.0
// The kernels that a network uses: texts of src/emit/c with their types put in.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "emit/c_text.h"

namespace nibble::inline emit {

// A text of src/emit/c: a file, or of a file with several what follows the line "//@ NAME"; throws
// where there is none.
std::string_view kernel_text(std::string_view name);

// The types of one kernel; those that its text does not name are ignored.
struct KernelTypes {
  CType in = CType::s8;
  std::string_view weight = "s8";  // or "s4", two to a byte
  CType sum = CType::s32;
};

class KernelSet {
 public:
  // The kernel and all that it stands on; the name of the function that its text defines.
  std::string use(std::string_view name, const KernelTypes& types = {});

  // All used ones, each after those it needs.
  std::string text(std::string_view prefix) const;

 private:
  std::set<std::pair<std::size_t, std::string>> used_;  // by place in the list of kernels
};

}  // namespace nibble::inline emit
