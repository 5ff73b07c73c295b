// SPDX-License-Identifier: Apache-2.0
// What pictures of any size become, so that they fit into one array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "data/picture.h"

namespace nibble::inline data {

struct PictureForm {
  enum class Law : std::uint8_t {
    as_is,   // a picture of another size is an error
    square,  // resize_picture
    middle,  // middle_of_picture by published_middle: the published preprocessing
  };
  Law law = Law::as_is;
  Shape shape{1, 1, 3};      // of the result: height, width, 1 or 3 channels
  std::string size_of = {};  // as_is: the picture that has that size, for errors

  std::size_t bytes() const { return static_cast<std::size_t>(shape.elements()); }
};

// The shorter side becomes 256/224 of the longer one that is kept: Resize(256), CenterCrop(224).
MiddleOptions published_middle(std::int64_t height, std::int64_t width);

// Decodes a file into form.bytes() bytes. Pictures that have to be in memory whole wait for others,
// so that all of them together take at most some 256 MiB, whatever the number of threads.
void read_in_form(std::span<const std::byte> file, const std::string& name, const PictureForm& form,
                  std::uint8_t* to);

}  // namespace nibble::inline data
