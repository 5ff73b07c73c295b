// SPDX-License-Identifier: Apache-2.0
// The memory of a device that pretends: as much as it is told to have.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "nibble/core/error.h"

namespace nibble::inline backend {

class PretendRoom {
 public:
  explicit PretendRoom(std::int64_t bytes) : bytes_(bytes) {}  // 0: as many as are asked for

  void resize(std::int64_t bytes) { bytes_ = bytes; }
  bool has(std::int64_t bytes) const { return bytes_ == 0 || in_use_ + bytes <= bytes_; }
  std::int64_t left() const { return bytes_ == 0 ? 0 : bytes_ - in_use_; }  // 0 where it has any

 private:
  friend class PretendLoan;
  std::atomic<std::int64_t> bytes_;
  std::atomic<std::int64_t> in_use_ = 0;  // given back by the device's thread, too
};

// Bytes of it, until this goes.
class PretendLoan {
 public:
  PretendLoan() = default;
  PretendLoan(PretendRoom& room, std::int64_t bytes) {
    if (!room.has(bytes))
      throw Error("pretend", "memory", std::to_string(room.bytes_) + " bytes in all",
                  std::to_string(bytes) + " more", ErrorKind::memory);
    room_ = &room;
    bytes_ = bytes;
    room.in_use_ += bytes;
  }
  ~PretendLoan() { release(); }
  PretendLoan(PretendLoan&& other) noexcept
      : room_(std::exchange(other.room_, nullptr)), bytes_(other.bytes_) {}
  PretendLoan& operator=(PretendLoan&& other) noexcept {
    if (this == &other) return *this;
    release();
    room_ = std::exchange(other.room_, nullptr);
    bytes_ = other.bytes_;
    return *this;
  }

  void release() {
    if (room_ != nullptr) std::exchange(room_, nullptr)->in_use_ -= bytes_;
  }

 private:
  PretendRoom* room_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace nibble::inline backend
