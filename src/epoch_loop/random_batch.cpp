// SPDX-License-Identifier: Apache-2.0
// Makes a batch of random pictures.
#include "epoch_loop/random_batch.h"

#include "nibble/core/philox.h"

namespace nibble::inline epoch_loop {

Dataset random_batch(const Network& network, std::int64_t images) {
  Dataset data{.name = "random", .images = {}, .labels = {}, .class_names = {}, .targets = {}};
  const Shape& picture = input_of(network).shape;
  const Shape shape = picture.rank() == 3 ? Shape{images, picture[0], picture[1], picture[2]}
                                          : Shape{images, 1, 1, picture[0]};
  data.images = Tensor(DType::u8, shape);
  data.labels = Tensor(DType::i32, {images});
  const auto bytes = data.images.as<std::uint8_t>();
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::uint8_t>(draw32({1, 2, 3}, i));
  const auto labels = data.labels.as<std::int32_t>();
  const Shape answer = infer_shapes(network)[output_of(network)];
  const auto classes = static_cast<std::uint32_t>(answer.elements());
  for (std::size_t i = 0; i < labels.size(); ++i)
    labels[i] = static_cast<std::int32_t>(draw32({4, 5, 6}, i) % classes);
  return data;
}

}  // namespace nibble::inline epoch_loop
