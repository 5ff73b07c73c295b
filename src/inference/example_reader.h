// SPDX-License-Identifier: Apache-2.0
// Pictures and arrays as the integers that a network takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "data/picture_form.h"
#include "graph/input_table.h"
#include "nibble/core/tensor.h"
#include "nibble/engine/engine.h"
#include "nibble/graph/network.h"

namespace nibble::inline inference {

class ExampleReader {
 public:
  // `info` is the input of the engine that runs the network.
  ExampleReader(const Network& network, const ValueInfo& info);

  // Adds a file's examples to `integers`, each of info.bytes; how many there were. A file is
  //
  // - a picture (JPEG, PNG): its middle, see middle_of_picture, with the shorter side resized to
  //   256/224 of what the network takes; bytes become integers by input_table;
  // - a tensor of the MLPerf harness, see harness_tensor.h: the bytes that enter the network;
  // - any other .npy: one example or several, as the network takes them, or pictures channel by
  //   channel where only that fits. Integers of any width are the integers themselves, but u8 are
  //   bytes of pictures unless the network takes u8 without a zero point; f32 are real numbers.
  std::int64_t read(const std::filesystem::path& path, std::vector<std::byte>& integers) const;
  // One picture, of info.bytes.
  void read_picture(std::span<const std::byte> file, const std::string& name, std::byte* integers,
                    PictureForm::Law law = PictureForm::Law::middle) const;
  std::int64_t take(ConstTensorView array, const std::string& name,
                    std::vector<std::byte>& integers) const;

  // Bytes and real numbers of whole examples, in the order in which the network takes them.
  void from_bytes(std::span<const std::uint8_t> bytes, std::byte* integers) const;
  void from_reals(std::span<const float> reals, std::byte* integers) const;

  const ValueInfo& info() const { return info_; }

 private:
  std::int64_t take_codes(const Tensor& tensor, const std::string& name,
                          std::vector<std::byte>& integers) const;

  ValueInfo info_;
  InputRounder rounder_;
  std::size_t channels_ = 1;         // of the table
  std::vector<std::int32_t> table_;  // of the bytes of pictures
};

}  // namespace nibble::inline inference
