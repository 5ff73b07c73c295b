// SPDX-License-Identifier: Apache-2.0
// Pictures of a list as images of one size: decoded by all threads, in memory or each time anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "data/picture_form.h"
#include "data/picture_list.h"
#include "nibble/data/images.h"

namespace nibble::inline data {

// Of several broken pictures the error names the first, and how many there are of those asked for.
std::shared_ptr<const ImageSource> make_picture_source(PictureList list, const PictureForm& form);

// Where all of them take at most `most_bytes`, they are read now.
Images read_pictures(PictureList list, const PictureForm& form, std::int64_t most_bytes);

// Reads every picture once. A warning names each that cannot be read, up to ten, and counts them.
PictureList without_broken(PictureList list, const PictureForm& form);

// The same for anything that is read: calls read(i) for all i below `count`, by all threads, and
// gives those whose file or numbers were not broken.
std::vector<std::int32_t> find_whole(std::size_t count,
                                     const std::function<void(std::size_t i)>& read);

// Whether all that can be read have that height and width; looks at headers until one has not.
bool all_have_size(const PictureList& list, std::int64_t height, std::int64_t width);

// Of the first picture, which has to be one.
Shape first_shape(const PictureList& list);

// 3 where one that can be read has colours, else 1.
std::int64_t channels_of(const PictureList& list);

}  // namespace nibble::inline data
