// SPDX-License-Identifier: Apache-2.0
// Examples in memory, pictures with labels or features with targets, found by name or by path.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nibble/core/tensor.h"

namespace nibble::inline data {

enum class Split : std::uint8_t { train, test };

std::string_view name_of(Split split);

// Either classes (labels, class_names) or targets of a regression, the others are empty; pictures
// for calibration may have neither.
struct Dataset {
  std::string name;
  Tensor images;  // (n, height, width, channels): u8 pictures, or f32, where k features of an
                  // example are (1, 1, k)
  Tensor labels;  // i32 (n), each an index of class_names
  std::vector<std::string> class_names;
  Tensor targets;  // f32 (n, k), finite

  std::int64_t size() const { return images.shape()[0]; }
  bool has_targets() const { return targets.data() != nullptr; }
  bool has_answers() const { return has_targets() || labels.data() != nullptr; }
};

struct LoadOptions {
  // Side of the square that pictures of a picture folder become, see resize_picture; 0: they keep
  // their size, which must be the same for all. Refused for data that is not such a folder.
  std::int64_t image_size = 0;
  // Whether a known data set must have the hash of the catalog.
  bool is_checked = true;
  // Whether a folder with pictures in it and no folders of classes, FILE or train/FILE, is taken,
  // too: calibration asks for no answers.
  bool takes_unlabelled = false;
};

// A known name (see src/data/catalog.h), whose content must be what the catalog says, the name of a
// MemoryDataset, or a path:
//
// - A folder of arrays, each NAME.npy, or one file X.npz that holds them. `images` is u8 (n, h, w)
//   or (n, h, w, c), or f32 of these shapes or (n, k). Beside it are `labels`, integers (n), or
//   `targets`, f32 (n) or (n, k). These are the train split. Both splits are train/images … and
//   test/images … (in a folder: folders), or train_images … and test_images …, or x_train, y_train,
//   x_test, y_test, where f32 answers are targets. In a folder the names of the classes stand in
//   class_names.txt, one a line; otherwise they are 0 up to the largest label of both splits.
// - A folder of pictures (PNG, JPEG), CLASS/FILE for the train split alone, or train/CLASS/FILE and
//   test/CLASS/FILE (or val). Classes and, in each, files come in the order of the bytes of their
//   names; only .png, .jpg and .jpeg are taken. There is one channel when the pictures of both
//   splits are all grey, else three.
Dataset load_dataset(std::string_view name_or_path, Split split, const LoadOptions& options = {});

// Whether load_dataset would look for that split: one's own data may have a train split alone.
bool has_split(std::string_view name_or_path, Split split);

// XXH3 of the image bytes followed by the labels as 32-bit little-endian integers or by the targets
// as 32-bit floats.
std::uint64_t hash_of(const Dataset& dataset);
std::string sha256_of(const Dataset& dataset);  // of the same bytes

}  // namespace nibble::inline data
