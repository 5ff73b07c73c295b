// SPDX-License-Identifier: Apache-2.0
// Writes a small integer network for the examples: the largest of ten rows of an 8x8 picture.
#include "nibble/graph/model_file.h"
#include "nibble/graph/network_text.h"

int main(int, char** arguments) {
  nibble::Model model;
  model.network = nibble::parse_network(R"(
name = "rows"
input = { shape = [8, 8, 1], format = "int8" }
layers = [
  { op = "flatten" },
  { op = "linear", features = 10 },
  { op = "rescale", shift = 6 },
]
)",
                                        "make_model");
  nibble::Tensor weight(nibble::DType::i8, {10, 64});
  for (std::size_t i = 0; i < 640; ++i)
    weight.as<std::int8_t>()[i] = static_cast<std::int8_t>(i / 64 == 7 ? 3 : i % 5 - 2);
  nibble::Tensor multiplier(nibble::DType::i32, {1});
  multiplier.as<std::int32_t>()[0] = 1;
  model.parameters.push_back(std::move(weight));
  model.parameters.push_back(std::move(multiplier));
  nibble::write_model(arguments[1], model, {});
}
