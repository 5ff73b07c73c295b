// SPDX-License-Identifier: Apache-2.0
// The block of docs/data.md, with few pictures for those of CIFAR-10.
#include <algorithm>
#include <iostream>

#include "data/batch_order.h"
#include "nibble/data/augment.h"
#include "nibble/data/dataset.h"

using namespace nibble;

int main() {
  constexpr int kPictures = 1000;
  std::map<std::string, Tensor> arrays;
  arrays.emplace("images", Tensor(DType::u8, {kPictures, 32, 32, 3}));
  arrays.emplace("labels", Tensor(DType::i32, {kPictures}));
  std::ranges::fill(arrays.at("labels").as<std::int32_t>(), 0);
  const auto bytes = arrays.at("images").as<std::uint8_t>();
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::uint8_t>(i * 2654435761U >> 24);
  const MemoryDataset few("few", std::move(arrays));
  const auto load_dataset = [](std::string_view, Split split) {
    return nibble::load_dataset("few", split);
  };

  const std::uint64_t seed = 5;
  const std::uint32_t epoch = 2;
  const std::int64_t b = 3;
  const Shape one{32, 32, 3};
  Tensor pictures(DType::u8, {128, 32, 32, 3}), expected(DType::u8, one);
#include <data_0.cpp>
  const AugmentOptions options{.padding = 4, .has_flip = true};
  int same = 0;
  for (std::size_t i = 0; i < 128; ++i) {
    const std::int32_t image = epoch_order(kPictures, seed, epoch)[b * 128 + i];
    augment_image({train.images.data() + image * one.elements(), DType::u8, one}, options,
                  draw_augmentation(options, 32, 32, {seed, epoch}, image), expected.view());
    same += std::ranges::equal(expected.as<std::uint8_t>(),
                               pictures.as<std::uint8_t>().subspan(i * 3072, 3072));
  }
  std::cout << same << " of 128 pictures\n";
}
