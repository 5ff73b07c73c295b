// SPDX-License-Identifier: Apache-2.0
// Copies that take their time.
#include "backend/pretend/pretend_device.h"

namespace nibble::inline backend {
namespace {

struct Parcel {
  std::vector<std::byte> memory;
  int exponent = 0;
};

// A device is not asleep while it waits, and who waits for it has no way to be woken: for a moment
// both look again and again.
template <class Result>
const std::shared_future<Result>& soon(const std::shared_future<Result>& future) {
  spin_while([&] { return future.wait_for(std::chrono::seconds(0)) != std::future_status::ready; });
  return future;
}

}  // namespace

// Where the device is lost, nobody keeps the promise any more.
class PretendDevice::LeavingParcel final : public Departure {
 public:
  LeavingParcel(PretendDevice& device, std::shared_ptr<Parcel> parcel,
                std::shared_future<PretendClock::time_point> copy)
      : device_(device), parcel_(std::move(parcel)), copy_(std::move(copy)) {}

  std::span<const std::byte> bytes() override {
    wait();
    return parcel_->memory;
  }
  int exponent() override {
    wait();
    return parcel_->exponent;
  }
  void wait() {
    try {
      wait_until(soon(copy_).get());
    } catch (const std::future_error&) {
      device_.queue_.wait();  // throws what has happened
      throw;
    }
  }

 private:
  PretendDevice& device_;
  std::shared_ptr<Parcel> parcel_;
  std::shared_future<PretendClock::time_point> copy_;  // its end, known once it has begun
};

class PretendDevice::LandingParcel final : public Landing {
 public:
  LandingParcel(PretendDevice& device, std::size_t bytes) : device_(device) {
    parcel->memory.resize(bytes);
  }
  std::span<std::byte> room() override { return parcel->memory; }
  void send(int exponent) override {
    parcel->exponent = exponent;
    if (device_.wire_ == WireKind::mapped) return;
    copied =
        device_.sent(device_.up_, kUpTrack, device_.label(), parcel->memory.size(), device_.wire_);
    if (device_.wire_ == WireKind::pageable) settle();
  }
  void settle() override { wait_until(copied); }

  std::shared_ptr<Parcel> parcel = std::make_shared<Parcel>();
  PretendClock::time_point copied;

 private:
  PretendDevice& device_;
};

PretendDevice::Traced::Traced(PretendDevice& device, const char* track, const std::string& label)
    : device_(device) {
  if (!label.empty()) span_ = {.track = track, .name = label, .begin = device.trace_->now()};
}

PretendDevice::Traced::~Traced() {
  if (span_.name.empty()) return;
  span_.end = device_.trace_->now();
  device_.tell(std::move(span_));
}

void PretendDevice::tell(TraceSpan span) {
  const std::lock_guard lock(spans_mutex_);
  spans_.push_back(std::move(span));
}

void PretendDevice::set_trace(StepTrace* trace) {
  queue_.settle();
  if (trace_ != nullptr) {
    for (TraceSpan& each : spans_) trace_->add(std::move(each));
  }
  spans_.clear();
  trace_ = trace;
}

void PretendDevice::use_wire(WireKind wire) {
  queue_.settle();
  wire_ = wire;
}

void PretendDevice::reach_host(std::size_t bytes) {
  queue_.push([this, label = label(), bytes] {
    const Traced traced(*this, "pretend", label);
    wait_until(PretendClock::now() + pace_.copy_time(bytes, WireKind::mapped));
  });
}

PretendClock::time_point PretendDevice::sent(PretendLane& lane, const char* track,
                                             const std::string& label, std::size_t bytes,
                                             WireKind wire) {
  const PretendLane::Copy copy = lane.send(pace_.copy_time(bytes, wire));
  if (!label.empty()) {
    const auto on_trace = [&, now = PretendClock::now()](PretendClock::time_point time) {
      return trace_->now() + std::chrono::nanoseconds(time - now).count();
    };
    tell({.track = track,
          .name = label,
          .begin = on_trace(copy.begin),
          .end = on_trace(copy.end),
          .details = {{"bytes", std::to_string(bytes)},
                      {"direction", track == kUpTrack ? "up" : "down"},
                      {"memory", std::string(name_of(wire))}}});
  }
  return copy.end;
}

std::unique_ptr<Departure> PretendDevice::leave(std::size_t bytes, Fill fill) {
  auto parcel = std::make_shared<Parcel>();
  auto promise = std::make_shared<std::promise<PretendClock::time_point>>();
  std::shared_future<PretendClock::time_point> copied = promise->get_future().share();
  later([this, bytes, parcel, promise, label = label(), fill = std::move(fill)](CpuBackend& cpu) {
    parcel->memory.resize(bytes);
    parcel->exponent = fill(cpu, parcel->memory);
    if (wire_ != WireKind::mapped) promise->set_value(sent(down_, kDownTrack, label, bytes, wire_));
  });
  if (wire_ == WireKind::mapped) {
    reach_host(bytes);
    queue_.push([promise] { promise->set_value(PretendClock::now()); });
  }
  promise.reset();  // so that a device that is lost breaks it
  auto leaving = std::make_unique<LeavingParcel>(*this, std::move(parcel), std::move(copied));
  if (wire_ == WireKind::pageable) leaving->wait();
  return leaving;
}

std::unique_ptr<Landing> PretendDevice::land(std::size_t bytes) {
  return std::make_unique<LandingParcel>(*this, bytes);
}

void PretendDevice::arrive(Landing& landing, Use use) {
  const auto& own = static_cast<const LandingParcel&>(landing);
  if (wire_ == WireKind::mapped)
    reach_host(own.parcel->memory.size());
  else
    queue_.push([end = own.copied] { wait_until(end); });
  later([parcel = own.parcel, use = std::move(use)](CpuBackend& cpu) {
    use(cpu, parcel->memory, parcel->exponent);
  });
}

}  // namespace nibble::inline backend
