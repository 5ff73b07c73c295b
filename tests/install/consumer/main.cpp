// SPDX-License-Identifier: Apache-2.0
// A program outside the tree: installed headers and libraries are all it sees.
#include <nibble/core/tensor.h>
#include <nibble/version.h>

#include <iostream>

int main() {
  nibble::Tensor tensor(nibble::DType::f32, nibble::Shape{2, 3});
  for (float& value : tensor.as<float>()) value = 0.0F;
  std::cout << "nibble " << nibble::kVersion << ' ' << tensor.shape().to_string() << '\n';
  return 0;
}
