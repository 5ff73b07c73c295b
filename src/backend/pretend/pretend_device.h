// SPDX-License-Identifier: Apache-2.0
// What pretends to be a device: a thread that computes, and copies that take as long as they are
// told to, up to it and down from it, beside the host and beside each other.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "backend/pretend/pretend_pace.h"
#include "backend/pretend/pretend_room.h"
#include "backend/pretend/work_queue.h"

namespace nibble::inline backend {

class PretendDevice {
 public:
  explicit PretendDevice(const PretendOptions& options) : pace_(options), room_(options.memory) {}

  // Throws where there is too little, after waiting for work in the queue that may give some back.
  PretendLoan lend(std::int64_t bytes) {
    if (!room_.has(bytes)) queue_.settle();
    return {room_, bytes};
  }

  std::int64_t free_bytes() {
    queue_.settle();  // which gives back
    return room_.left();
  }

  // Waits for what was asked for, then calls on the inner backend.
  template <class Call>
  auto now(const Call& call) {
    queue_.wait();
    return call(inner_);
  }
  // The same of something that a real device would send: an operation as any.
  template <class Call>
  auto read(const Call& call) {
    queue_.wait();
    pace_.count_operation();
    return call(inner_);
  }
  template <class Work>
  void later(Work work) {
    queue_.push([this, label = label(), work = std::move(work)]() mutable {
      pace_.operate([&] {
        const Traced traced(*this, "pretend", label);
        work(inner_);
      });
    });
  }
  // Before something goes that work to come may use.
  void settle() { queue_.settle(); }
  // Memory goes back without being an operation.
  void give_back(std::shared_ptr<MemoryHandle> memory) {
    queue_.push([memory = std::move(memory)] { memory->release(); });
  }

  // A copy for which the host waits.
  void copy(std::size_t bytes) const { wait_until(PretendClock::now() + pace_.copy_time(bytes)); }
  // Work on bytes of the host, which come behind what was asked for before, as a GPU's do.
  template <class Work>
  void bring(std::size_t bytes, Work work) {
    queue_.push([this, label = label(), bytes] { wait_until(sent(up_, kUpTrack, label, bytes)); });
    later(std::move(work));
  }

  // `fill` writes the bytes, on the device's thread, and returns their exponent.
  using Fill = std::function<int(CpuBackend& cpu, std::span<std::byte> to)>;
  std::unique_ptr<Departure> leave(std::size_t bytes, Fill fill);
  std::unique_ptr<Landing> land(std::size_t bytes);
  using Use = std::function<void(CpuBackend& cpu, std::span<const std::byte> bytes, int exponent)>;
  void arrive(Landing& landing, Use use);  // one of land()

  WireKind wire() const { return wire_; }
  void use_wire(WireKind wire);  // waits for what was asked for

  void set_trace(StepTrace* trace);  // waits; whoever traced before is told

 private:
  // A span of one of the threads, where somebody traces.
  class Traced {
   public:
    Traced(PretendDevice& device, const char* track, const std::string& label);
    ~Traced();
    Traced(const Traced&) = delete;
    Traced& operator=(const Traced&) = delete;

   private:
    PretendDevice& device_;
    TraceSpan span_;
  };
  std::string label() const { return trace_ == nullptr ? std::string() : trace_->open(); }
  class LeavingParcel;
  class LandingParcel;

  static constexpr const char* kUpTrack = "pretend copies up";
  static constexpr const char* kDownTrack = "pretend copies down";

  // The device itself reads or writes mapped memory, and does nothing else meanwhile.
  void reach_host(std::size_t bytes);
  // When the copy ends.
  PretendClock::time_point sent(PretendLane& lane, const char* track, const std::string& label,
                                std::size_t bytes, WireKind wire = WireKind::pinned);
  void tell(TraceSpan span);

  PretendPace pace_;
  PretendRoom room_;
  WireKind wire_ = WireKind::pinned;
  StepTrace* trace_ = nullptr;
  std::mutex spans_mutex_;
  std::vector<TraceSpan> spans_;  // of this trace so far
  CpuBackend inner_;
  PretendLane up_;
  PretendLane down_;
  WorkQueue queue_;  // last: its thread works on the backend and sends down
};

}  // namespace nibble::inline backend
