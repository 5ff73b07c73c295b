// SPDX-License-Identifier: Apache-2.0
// Batches of f32 that passes over a network read again and again, one at a
// time: a few in memory, the others in a file, so that any number of them takes
// no more memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "nibble/core/tensor.h"

namespace nibble::inline quantization {

class FloatBatches {
 public:
  static constexpr std::size_t kMostHeld = std::size_t{64} << 20;

  // Beyond so many bytes batches go into a file without a name in the system's
  // folder for temporary ones; where it takes no more, they stay in memory.
  explicit FloatBatches(std::size_t most_held = kMostHeld);
  FloatBatches(const std::vector<Tensor>& batches);  // copies
  FloatBatches(FloatBatches&&) noexcept;
  FloatBatches& operator=(FloatBatches&&) noexcept;
  ~FloatBatches();

  void add(Tensor batch);  // (n, …) of f32

  std::size_t size() const { return places_.size(); }
  std::int64_t examples() const { return examples_; }  // of all batches
  Tensor at(std::size_t i) const;

  // body(ConstTensorView), of one after the other.
  template <class Body>
  void for_each(const Body& body) const {
    for (const Place& place : places_) {
      const Tensor read = place.is_held ? Tensor() : from_file(place);
      body((place.is_held ? place.batch : read).view());
    }
  }

 private:
  class File;
  struct Place {
    bool is_held = true;
    Tensor batch = {};  // where it is held
    Shape shape = {0};
    std::size_t begin = 0;  // in the file, where it is not
  };

  Tensor from_file(const Place& place) const;

  std::size_t most_held_;
  std::size_t held_ = 0;  // bytes
  std::int64_t examples_ = 0;
  std::vector<Place> places_;
  std::unique_ptr<File> file_;
};

}  // namespace nibble::inline quantization
