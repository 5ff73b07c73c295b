// SPDX-License-Identifier: Apache-2.0
// Memory first, then a file.
#include "nibble/quantization/float_batches.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "nibble/core/error.h"

namespace nibble::inline quantization {

// Gone with its descriptor, whatever ends the process.
class FloatBatches::File {
 public:
  File() {
    std::error_code error;
    std::string name = (std::filesystem::temp_directory_path(error) / "nibble-XXXXXX").string();
    if (!error) descriptor_ = mkostemp(name.data(), O_CLOEXEC);
    if (descriptor_ >= 0) unlink(name.c_str());
  }
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // Where it begins in the file; false: it takes no more.
  bool append(const Tensor& batch, std::size_t& begin) {
    begin = size_;
    const std::byte* from = batch.data();
    for (std::size_t left = batch.bytes(); left > 0;) {
      const ssize_t count = pwrite(descriptor_, from, left, static_cast<off_t>(size_));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {
        size_ = begin;
        return false;
      }
      from += count;
      left -= static_cast<std::size_t>(count);
      size_ += static_cast<std::size_t>(count);
    }
    return true;
  }

  void read(std::size_t begin, Tensor& batch) const {
    std::byte* to = batch.data();
    for (std::size_t left = batch.bytes(); left > 0;) {
      const ssize_t count = pread(descriptor_, to, left, static_cast<off_t>(begin));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {
        throw Error("quantize", "a temporary file", std::generic_category().message(errno),
                    "the values written there", ErrorKind::system);
      }
      to += count;
      left -= static_cast<std::size_t>(count);
      begin += static_cast<std::size_t>(count);
    }
  }

 private:
  int descriptor_ = -1;
  std::size_t size_ = 0;
};

FloatBatches::FloatBatches(std::size_t most_held) : most_held_(most_held) {}
FloatBatches::FloatBatches(const std::vector<Tensor>& batches) : FloatBatches() {
  for (const Tensor& each : batches) add(copy_of(each.view()));
}
FloatBatches::FloatBatches(FloatBatches&&) noexcept = default;
FloatBatches& FloatBatches::operator=(FloatBatches&&) noexcept = default;
FloatBatches::~FloatBatches() = default;

void FloatBatches::add(Tensor batch) {
  examples_ += batch.shape()[0];
  Place place{.shape = batch.shape()};
  if (held_ + batch.bytes() > most_held_) {
    if (!file_) file_ = std::make_unique<File>();
    place.is_held = !file_->append(batch, place.begin);
  }
  if (place.is_held) {
    held_ += batch.bytes();
    place.batch = std::move(batch);
  }
  places_.push_back(std::move(place));
}

Tensor FloatBatches::from_file(const Place& place) const {
  Tensor batch(DType::f32, place.shape);
  file_->read(place.begin, batch);
  return batch;
}

Tensor FloatBatches::at(std::size_t i) const {
  return places_[i].is_held ? copy_of(places_[i].batch.view()) : from_file(places_[i]);
}

}  // namespace nibble::inline quantization
