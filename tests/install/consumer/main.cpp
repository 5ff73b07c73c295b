// SPDX-License-Identifier: Apache-2.0
// A program outside the tree: installed headers and libraries are all it sees.
#include <nibble/core/tensor.h>
#include <nibble/kernels/accumulate.h>
#include <nibble/kernels/quantize.h>
#include <nibble/version.h>

#include <iostream>

int main() {
  nibble::Tensor tensor(nibble::DType::f32, nibble::Shape{1, 3});
  auto values = tensor.as<float>();
  values[0] = 0.3F, values[1] = -1000.0F, values[2] = 3.14159F;
  nibble::quantize(tensor.view(), tensor.view(), nibble::parse_format("e4m3"));
  std::cout << "nibble " << nibble::kVersion << ' ' << tensor.shape().to_string();
  for (const float value : values) std::cout << ' ' << value;
  std::cout << '\n';
  return values[0] == 0.3125F && values[1] == -448.0F && values[2] == 3.25F ? 0 : 1;
}
