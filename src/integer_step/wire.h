// SPDX-License-Identifier: Apache-2.0
// What crosses from one backend to another: int8 with one exponent, sums of gradients in 32 bits
// where they fit. A copy begins when its numbers are made and is waited for when they are needed.
// Everything that crosses is counted.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "backend/backend.h"
#include "core/host_trace.h"

namespace nibble::inline integer_step {

struct Traffic {
  std::int64_t copies = 0;
  std::int64_t bytes = 0;
};

// One copy: of which tensor, and how large.
struct Crossing {
  std::string tensor;  // "conv1.value", "conv1.error", "conv1.weight", "conv1.weight.gradient"
  const IntegerBackend* from;
  const IntegerBackend* to;
  std::int64_t bytes;
};

// One version of a tensor on its way.
struct Flight {
  Crossing crossing;
  std::unique_ptr<Departure> departure = {};  // from a backend that runs ahead
  std::unique_ptr<Landing> landing = {};      // else: the host has written it

  void wait_on_host() const {  // where the host needs it to go on
    if (departure) departure->bytes();
  }
  void settle() const {  // waits until it is where it arrives
    if (departure) departure->bytes();
    if (landing) landing->settle();
  }
};

class Wire {
 public:
  static constexpr std::int64_t kExponentBytes = 4;

  enum class Moment : std::uint8_t { leaves, left, arrives, arrived };
  using Observer = std::function<void(const Flight& flight, Moment moment)>;

  void set_observer(Observer observer) { observer_ = std::move(observer); }
  // Tells what the host does for a copy and how long it waits for one; null: no longer.
  void set_trace(StepTrace* trace) { host_.set_trace(trace); }

  Flight depart(const std::string& tensor, IntegerBackend& from, const Values& source,
                IntegerBackend& to);
  void arrive(Flight& flight, IntegerBackend& to, const Values& target);

  // Whatever `start` and `finish` do with the flight.
  Flight depart(Crossing crossing, const std::function<void(Flight&)>& start);
  void arrive(Flight& flight, const std::function<void()>& finish);

  // Of all copies since the wire was made.
  Traffic between(const IntegerBackend& from, const IntegerBackend& to) const;
  Traffic all() const;

 private:
  void tell(const Flight& flight, Moment moment) const {
    if (observer_) observer_(flight, moment);
  }
  std::map<std::pair<const IntegerBackend*, const IntegerBackend*>, Traffic> traffic_;
  Observer observer_;
  HostTrace host_;
};

}  // namespace nibble::inline integer_step
