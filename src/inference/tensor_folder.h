// SPDX-License-Identifier: Apache-2.0
// The pictures of a data set as tensors of the MLPerf harness, a file each, for runs that must not
// decode: a folder that load_examples and the harness itself read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "inference/example_reader.h"
#include "nibble/data/dataset.h"
#include "nibble/run_folder/progress.h"

namespace nibble::inline inference {

struct TensorFolderOptions {
  std::string data;  // pictures: classes in folders, archives, val_map.txt, or no classes
  Split split = Split::test;
  std::filesystem::path out;
  bool skips_broken = false;  // see LoadOptions
  ProgressStyle progress = ProgressStyle::automatic;
};

struct TensorFolderResult {
  std::int64_t written = 0;
  std::int64_t kept = 0;     // that were there, with the right hash
  std::int64_t renewed = 0;  // of those written: they were there with another hash
};

// Writes out/NAME.npy for every picture, of the size that load_dataset gives it, out/val_map.txt
// with their labels in the order of the data, and out/hashes.txt: the hashes of each tensor and of
// its picture, and before them that of what the network takes. At most a few pictures are in
// memory. Where it was interrupted it goes on: what lies there with the hashes that hashes.txt has,
// its own and its picture's, stays, all else is made. A folder that was made for another input is
// refused.
TensorFolderResult write_tensor_folder(const TensorFolderOptions& options,
                                       const ExampleReader& reader);

}  // namespace nibble::inline inference
