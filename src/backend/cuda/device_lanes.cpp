// SPDX-License-Identifier: Apache-2.0
// Rings of host memory and two streams.
#include "backend/cuda/device_lanes.h"

#include <cstdlib>
#include <string_view>

#include "core/step_trace.h"
#include "cuda/errors.h"
#include "cuda/event_spans.h"

namespace nibble::cuda {
namespace {

constexpr std::size_t kMostPlaces = 16;  // of the ring up: then it comes around
constexpr std::size_t kPieceGranule = 4096;

cudaEvent_t new_event() {
  cudaEvent_t event = nullptr;
  check("cuda", cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return event;
}

void free_piece(const HostPiece& piece) {
  if (piece.is_pinned)
    cudaFreeHost(piece.memory);
  else
    std::free(piece.memory);
}

}  // namespace

WireKind wire_of(int device) {
  const char* asked = std::getenv("NIBBLE_CUDA_WIRE");
  if (asked != nullptr && *asked != '\0') {
    for (const WireKind kind : {WireKind::pinned, WireKind::pageable, WireKind::mapped}) {
      if (name_of(kind) == std::string_view(asked)) return kind;
    }
    throw Error("cuda", "NIBBLE_CUDA_WIRE", asked, "pinned, pageable or mapped");
  }
  int is_integrated = 0;
  check("cuda", cudaDeviceGetAttribute(&is_integrated, cudaDevAttrIntegrated, device));
  return is_integrated != 0 ? WireKind::mapped : WireKind::pinned;
}

DeviceLanes::DeviceLanes(DeviceQueue& queue)
    : queue_(queue),
      pool_(queue.place()),
      kind_(wire_of(queue.place().device)),
      limits_(device_limits()) {
  const DeviceGuard guard(queue.place());
  check("cuda", cudaStreamCreateWithFlags(&up_, cudaStreamNonBlocking));
  check("cuda", cudaStreamCreateWithFlags(&down_, cudaStreamNonBlocking));
  made_ = new_event();
}

DeviceLanes::~DeviceLanes() {
  set_trace(nullptr);
  const DeviceGuard guard(queue_.place(), std::nothrow);
  for (cudaStream_t each : {up_, down_, compute()}) cudaStreamSynchronize(each);
  free_pieces();
  for (cudaEvent_t each : events_) cudaEventDestroy(each);
  cudaEventDestroy(made_);
  cudaStreamDestroy(up_);
  cudaStreamDestroy(down_);
}

void DeviceLanes::set_kind(WireKind kind) {
  queue_.wait();
  const DeviceGuard guard(queue_.place());
  for (cudaStream_t each : {up_, down_}) check("cuda", cudaStreamSynchronize(each));
  free_pieces();
  kind_ = kind;
}

void DeviceLanes::set_trace(StepTrace* trace) {
  trace_ = trace;
  up_spans_.reset();
  down_spans_.reset();
  if (trace == nullptr) return;
  const int device = queue_.place().device;
  up_spans_ = std::make_unique<EventSpans>(Place{device, up_}, *trace, "GPU copies up");
  down_spans_ = std::make_unique<EventSpans>(Place{device, down_}, *trace, "GPU copies down");
}

void DeviceLanes::copy(cudaStream_t stream, EventSpans* spans, void* to, const void* from,
                       std::size_t bytes) {
  if (spans != nullptr)
    spans->begin_copy(trace_->open(), {}, bytes, stream == up_, std::string(name_of(kind_)));
  delay(stream, limits_.copy_nanoseconds(bytes));
  check(stream == up_ ? "copy up" : "copy down",
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream));
  if (spans != nullptr) spans->end();
}

void DeviceLanes::free_pieces() {
  for (const auto& [size, pieces] : pieces_) {
    for (const HostPiece& each : pieces) free_piece(each);
  }
  pieces_.clear();
  for (std::deque<UpPlace>& ring : rings_) {
    for (UpPlace& each : ring) {
      free_piece(each.piece);
      cudaEventDestroy(each.copied);
      cudaEventDestroy(each.used);
    }
    ring.clear();
  }
  at_ = 0;
}

HostPiece DeviceLanes::take_piece(std::size_t bytes) {
  const std::size_t size = (bytes + kPieceGranule - 1) / kPieceGranule * kPieceGranule;
  std::vector<HostPiece>& ready = pieces_[size];
  if (!ready.empty()) {
    const HostPiece piece = ready.back();
    ready.pop_back();
    return piece;
  }
  HostPiece piece{.memory = nullptr, .size = size, .is_pinned = kind_ != WireKind::pageable};
  if (piece.is_pinned)
    check("cuda", cudaHostAlloc(&piece.memory, size, cudaHostAllocMapped | cudaHostAllocPortable));
  else
    piece.memory = std::aligned_alloc(kPieceGranule, size);
  if (piece.memory == nullptr)
    throw Error("cuda", "memory of the host", "none", std::to_string(size) + " bytes",
                ErrorKind::memory);
  return piece;
}

void DeviceLanes::give_back(const HostPiece& piece) {
  pieces_[piece.size].push_back(piece);
}

DownParcel::DownParcel(DeviceLanes& lanes, std::size_t bytes) : lanes_(lanes), bytes_(bytes) {
  const DeviceGuard guard(lanes.queue_.place());
  if (lanes.kind_ != WireKind::mapped) staging_ = lanes.pool_.take(bytes);
  if (lanes.events_.empty()) lanes.events_.push_back(new_event());
  piece_ = lanes.take_piece(bytes);  // from here on nothing throws
  done_ = lanes.events_.back();
  lanes.events_.pop_back();
}

DownParcel::~DownParcel() {
  if (is_sent_) cudaEventSynchronize(done_);
  lanes_.events_.push_back(done_);
  lanes_.give_back(piece_);
}

void* DownParcel::data() const {
  return staging_.is_empty() ? piece_.memory : staging_.as<void>();
}

void DownParcel::send() {
  lanes_.queue_.flush();
  const DeviceGuard guard(lanes_.queue_.place());
  is_sent_ = true;
  if (staging_.is_empty()) return check("cuda", cudaEventRecord(done_, lanes_.compute()));
  check("cuda", cudaEventRecord(lanes_.made_, lanes_.compute()));
  check("cuda", cudaStreamWaitEvent(lanes_.down_, lanes_.made_, 0));
  lanes_.copy(lanes_.down_, lanes_.down_spans_.get(), piece_.memory, staging_.as<void>(), bytes_);
  check("cuda", cudaEventRecord(done_, lanes_.down_));
}

const void* DownParcel::wait() {
  if (is_sent_) check("cuda", cudaEventSynchronize(done_));
  is_sent_ = false;
  return piece_.memory;
}

UpPlace& DeviceLanes::next(std::size_t bytes) {
  queue_.flush();
  const DeviceGuard guard(queue_.place());
  for (std::deque<UpPlace>& ring : rings_) {  // what reads them is handed over now
    for (UpPlace& each : ring) {
      if (each.state != UpPlace::State::in_use) continue;
      check("cuda", cudaEventRecord(each.used, compute()));
      each.state = UpPlace::State::empty;
    }
  }
  std::deque<UpPlace>& ring = rings_[turn_];
  const auto pass_filled = [&] {
    while (at_ < ring.size() && ring[at_].state != UpPlace::State::empty) ++at_;
  };
  pass_filled();
  if (at_ == ring.size() && at_ >= kMostPlaces) {
    at_ = 0;
    pass_filled();
  }
  if (at_ == ring.size())
    ring.push_back({.piece = {}, .staging = {}, .copied = new_event(), .used = new_event()});
  UpPlace& place = ring[at_++];
  check("cuda", cudaEventSynchronize(place.used));
  if (place.piece.size < bytes) {
    free_piece(place.piece);
    place.piece = {};
    place.piece = take_piece(bytes);
  }
  // By itself: a piece of the host has more room behind the bytes that were asked for.
  if (kind_ != WireKind::mapped && place.staging.size() < bytes) place.staging = pool_.take(bytes);
  place.bytes = bytes;
  place.state = UpPlace::State::filled;
  return place;
}

std::span<std::byte> DeviceLanes::room(UpPlace& place) const {
  return {static_cast<std::byte*>(place.piece.memory), place.bytes};
}

void DeviceLanes::send(UpPlace& place) {
  if (kind_ == WireKind::mapped) return;
  const DeviceGuard guard(queue_.place());
  copy(up_, up_spans_.get(), place.staging.as<void>(), place.piece.memory, place.bytes);
  check("cuda", cudaEventRecord(place.copied, up_));
}

void DeviceLanes::settle(const UpPlace& place) const {
  if (kind_ != WireKind::mapped) check("cuda", cudaEventSynchronize(place.copied));
}

const void* DeviceLanes::use(UpPlace& place) {
  place.state = UpPlace::State::in_use;
  if (kind_ == WireKind::mapped) return place.piece.memory;
  queue_.flush();  // what was asked for before does not wait
  const DeviceGuard guard(queue_.place());
  check("cuda", cudaStreamWaitEvent(compute(), place.copied, 0));
  return place.staging.as<void>();
}

}  // namespace nibble::cuda
