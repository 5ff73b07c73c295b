// SPDX-License-Identifier: Apache-2.0
// Several arrays written together: all files appear, or none does.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/atomic_file.h"
#include "nibble/core/tensor.h"

namespace nibble {

class NpyOutputs {
 public:
  // Writes the array beside its target; "-" is standard output. No two may have the same target.
  void add(const std::string& path, ConstTensorView array);

  void commit();  // renames all of them

 private:
  std::vector<std::string> paths_;
  std::vector<std::unique_ptr<AtomicFile>> files_;
  std::vector<ConstTensorView> to_standard_output_;
};

}  // namespace nibble
