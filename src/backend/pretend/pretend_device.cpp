// SPDX-License-Identifier: Apache-2.0
// Copies that take their time.
#include "backend/pretend/pretend_device.h"

namespace nibble::inline backend {
namespace {

constexpr const char* kUpTrack = "pretend copies up";
constexpr const char* kDownTrack = "pretend copies down";

struct Parcel {
  std::vector<std::byte> memory;
  int exponent = 0;
};

}  // namespace

// Where the device is lost, nobody keeps the promise any more.
class PretendDevice::LeavingParcel final : public Departure {
 public:
  LeavingParcel(PretendDevice& device, std::shared_ptr<Parcel> parcel,
                std::shared_future<void> copy)
      : device_(device), parcel_(std::move(parcel)), copy_(std::move(copy)) {}

  std::span<const std::byte> bytes() override {
    wait();
    return parcel_->memory;
  }
  int exponent() override {
    wait();
    return parcel_->exponent;
  }

 private:
  void wait() {
    try {
      copy_.get();
    } catch (const std::future_error&) {
      device_.queue_.wait();  // throws what has happened
      throw;
    }
  }

  PretendDevice& device_;
  std::shared_ptr<Parcel> parcel_;
  std::shared_future<void> copy_;
};

class PretendDevice::LandingParcel final : public Landing {
 public:
  LandingParcel(PretendDevice& device, std::size_t bytes) : device_(device) {
    parcel->memory.resize(bytes);
  }
  std::span<std::byte> room() override { return parcel->memory; }
  void send(int exponent) override {
    parcel->exponent = exponent;
    copy = device_.sent(parcel->memory.size());
  }
  void settle() override { copy.wait(); }

  std::shared_ptr<Parcel> parcel = std::make_shared<Parcel>();
  std::shared_future<void> copy;

 private:
  PretendDevice& device_;
};

PretendDevice::Traced::Traced(PretendDevice& device, const char* track, const std::string& label,
                              std::size_t bytes)
    : device_(device) {
  if (label.empty()) return;
  span_ = {.track = track, .name = label, .begin = device.trace_->now()};
  if (bytes > 0)
    span_.details = {{"bytes", std::to_string(bytes)},
                     {"direction", track == kUpTrack ? "up" : "down"},
                     {"memory", "pinned"}};
}

PretendDevice::Traced::~Traced() {
  if (span_.name.empty()) return;
  span_.end = device_.trace_->now();
  const std::lock_guard lock(device_.spans_mutex_);
  device_.spans_.push_back(std::move(span_));
}

void PretendDevice::set_trace(StepTrace* trace) {
  for (WorkQueue* each : {&up_, &queue_, &down_}) each->settle();
  if (trace_ != nullptr) {
    for (TraceSpan& each : spans_) trace_->add(std::move(each));
  }
  spans_.clear();
  trace_ = trace;
}

void PretendDevice::traced_copy(const char* track, const std::string& label, std::size_t bytes) {
  const Traced traced(*this, track, label, bytes);
  copy(bytes);
}

std::shared_future<void> PretendDevice::sent(std::size_t bytes) {
  const auto promise = std::make_shared<std::promise<void>>();
  up_.push([this, bytes, promise, label = label()] {
    traced_copy(kUpTrack, label, bytes);
    promise->set_value();
  });
  return promise->get_future().share();
}

void PretendDevice::wait_for(std::shared_future<void> copy) {
  queue_.push([copy = std::move(copy)] { copy.wait(); });
}

std::unique_ptr<Departure> PretendDevice::leave(std::size_t bytes, Fill fill) {
  auto parcel = std::make_shared<Parcel>();
  auto promise = std::make_shared<std::promise<void>>();
  std::shared_future<void> copied = promise->get_future().share();
  later([this, bytes, parcel, promise = std::move(promise), label = label(),
         fill = std::move(fill)](CpuBackend& cpu) mutable {
    parcel->memory.resize(bytes);
    parcel->exponent = fill(cpu, parcel->memory);
    down_.push([this, bytes, label, promise = std::move(promise)] {
      traced_copy(kDownTrack, label, bytes);
      promise->set_value();
    });
  });
  return std::make_unique<LeavingParcel>(*this, std::move(parcel), std::move(copied));
}

std::unique_ptr<Landing> PretendDevice::land(std::size_t bytes) {
  return std::make_unique<LandingParcel>(*this, bytes);
}

void PretendDevice::arrive(Landing& landing, Use use) {
  const auto& own = static_cast<const LandingParcel&>(landing);
  wait_for(own.copy);
  later([parcel = own.parcel, use = std::move(use)](CpuBackend& cpu) {
    use(cpu, parcel->memory, parcel->exponent);
  });
}

}  // namespace nibble::inline backend
