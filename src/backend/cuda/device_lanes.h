// SPDX-License-Identifier: Apache-2.0
// Copies of a GPU beside its computing: a stream down to the host and one up from it, through
// memory of the host that is used again and again.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "backend/cuda/device_limits.h"
#include "backend/cuda/device_pool.h"
#include "backend/parcel.h"

namespace nibble::cuda {

class DeviceLanes;

// Memory of the host; a GPU reads and writes it unless it is pageable.
struct HostPiece {
  void* memory = nullptr;
  std::size_t size = 0;
  bool is_pinned = false;
};

// Bytes on their way down. Kernels write to data(), then it is sent.
class DownParcel {
 public:
  DownParcel(DeviceLanes& lanes, std::size_t bytes);
  ~DownParcel();
  DownParcel(const DownParcel&) = delete;
  DownParcel& operator=(const DownParcel&) = delete;

  void* data() const;  // for kernels
  void send();
  const void* wait();  // for the copy; the bytes live as long as this

 private:
  DeviceLanes& lanes_;
  std::size_t bytes_;
  HostPiece piece_;
  DeviceBuffer staging_;  // none where the piece is mapped
  cudaEvent_t done_ = nullptr;
  bool is_sent_ = false;
};

// A place of the ring up.
struct UpPlace {
  HostPiece piece;
  DeviceBuffer staging;
  std::size_t bytes = 0;
  cudaEvent_t copied = nullptr;
  cudaEvent_t used = nullptr;
  enum class State : std::uint8_t { empty, filled, in_use } state = State::empty;
};

class DeviceLanes {
 public:
  explicit DeviceLanes(DeviceQueue& queue);
  ~DeviceLanes();
  DeviceLanes(const DeviceLanes&) = delete;
  DeviceLanes& operator=(const DeviceLanes&) = delete;

  WireKind kind() const { return kind_; }
  void set_kind(WireKind kind);  // waits for all copies
  // Every copy that follows is timed, by the name of what the host is in; null: no longer.
  void set_trace(StepTrace* trace);

  // Up: the host fills room, sends it, and what is queued from use() on finds it there. A place is
  // used again when the ring has come around, and then waited for.
  UpPlace& next(std::size_t bytes);
  std::span<std::byte> room(UpPlace& place) const;
  void send(UpPlace& place);
  void settle(const UpPlace& place) const;
  const void* use(UpPlace& place);
  // A step begins: in every second one the same copies have the same places, so that it can be
  // replayed while the one before it still runs.
  void restart() {
    turn_ = 1 - turn_;
    at_ = 0;
  }

 private:
  friend class DownParcel;

  void copy(cudaStream_t stream, EventSpans* spans, void* to, const void* from, std::size_t bytes);
  HostPiece take_piece(std::size_t bytes);
  void give_back(const HostPiece& piece);
  void free_pieces();
  cudaStream_t compute() const { return static_cast<cudaStream_t>(queue_.place().stream); }

  DeviceQueue& queue_;
  DevicePool pool_;  // whose memory no kernel writes that a copy still reads
  WireKind kind_;
  DeviceLimits limits_;
  cudaStream_t up_ = nullptr;
  cudaStream_t down_ = nullptr;
  cudaEvent_t made_ = nullptr;  // what goes down is there
  StepTrace* trace_ = nullptr;
  std::unique_ptr<EventSpans> up_spans_;  // while somebody traces
  std::unique_ptr<EventSpans> down_spans_;
  std::map<std::size_t, std::vector<HostPiece>> pieces_;  // by size: the last one back goes first
  std::vector<cudaEvent_t> events_;                       // that nobody waits for
  std::array<std::deque<UpPlace>, 2> rings_;
  std::size_t turn_ = 0;
  std::size_t at_ = 0;  // in the ring of this turn
};

// NIBBLE_CUDA_WIRE, else mapped where GPU and host have one memory, else pinned.
WireKind wire_of(int device);

}  // namespace nibble::cuda
