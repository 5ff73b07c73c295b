// SPDX-License-Identifier: Apache-2.0
// Examples, pictures with labels or features with targets, found by name or by path.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nibble/core/tensor.h"
#include "nibble/data/images.h"

namespace nibble::inline data {

enum class Split : std::uint8_t { train, test };

std::string_view name_of(Split split);

// Either classes (labels, class_names) or targets of a regression, the others are empty; pictures
// for calibration may have neither.
struct Dataset {
  std::string name;
  Images images;  // (n, height, width, channels): u8 pictures, or f32, where k features of an
                  // example are (1, 1, k)
  Tensor labels;  // i32 (n), each an index of class_names
  std::vector<std::string> class_names;
  Tensor targets;  // f32 (n, k), finite

  std::int64_t size() const { return images.shape()[0]; }
  bool has_targets() const { return targets.data() != nullptr; }
  bool has_answers() const { return has_targets() || labels.data() != nullptr; }
};

struct LoadOptions {
  // Side of the square that pictures become, see resize_picture; 0: see `input`. Refused for data
  // that is not pictures.
  std::int64_t image_size = 0;
  // (height, width, channels) that a network takes. Where all pictures have that height and width,
  // they stay as they are; else of each the middle is taken as published: the shorter side becomes
  // 256/224 of what the network takes, the middle is cut out. Without it all must have one size.
  std::optional<Shape> input = {};
  // Pictures that cannot be read are left out, and a warning names and counts them; all are read
  // once to find them.
  bool skips_broken = false;
  // Pictures that take more bytes are read and decoded when they are asked for. Without it: what
  // NIBBLE_DATA_IN_MEMORY says, else 128 MiB.
  std::optional<std::int64_t> most_in_memory = {};
  // Whether a known data set must have the hash of the catalog.
  bool is_checked = true;
  // Whether pictures without classes, FILE or train/FILE, or archives of such, are taken, too:
  // calibration and speed ask for no answers.
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
//   splits are all grey, else three, unless LoadOptions::input says it.
// - Archives of pictures, X.tar, or a folder of them, or folders train and test (or val) of them.
//   A picture's class is the folder it has in its archive, the number in KEY.cls beside KEY.jpg, or
//   the name of its archive, the first of these that there is.
// - A folder of pictures with val_map.txt in it or beside it, lines NAME LABEL: one split, taken as
//   either.
Dataset load_dataset(std::string_view name_or_path, Split split, const LoadOptions& options = {});

// Whether load_dataset would look for that split: one's own data may have a train split alone.
bool has_split(std::string_view name_or_path, Split split);

struct ArraySet;

// Arrays of a program as a data set: while this lives, load_dataset and has_split know its name. Of
// several with one name a thread finds the last that it has made itself, so that callbacks and
// calls in several threads need no names of their own; where it has made none they throw.
class MemoryDataset {
 public:
  // The arrays have the names that an .npz has, see load_dataset; `images` alone is taken for
  // calibration. Throws where the name is that of a known data set.
  MemoryDataset(const std::string& name, std::map<std::string, Tensor> arrays);
  ~MemoryDataset();
  MemoryDataset(const MemoryDataset&) = delete;
  MemoryDataset& operator=(const MemoryDataset&) = delete;

 private:
  std::shared_ptr<const ArraySet> set_;
};

// XXH3 of the image bytes followed by the labels as 32-bit little-endian integers or by the targets
// as 32-bit floats. Of pictures that are not in memory their names, sizes and labels stand for the
// bytes.
std::uint64_t hash_of(const Dataset& dataset);
std::string sha256_of(const Dataset& dataset);  // of the same bytes

}  // namespace nibble::inline data
