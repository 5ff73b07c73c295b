// SPDX-License-Identifier: Apache-2.0
// What crosses from one backend to another: int8 with one exponent, sums of gradients in 64 bits.
// Everything that crosses is counted.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "backend/backend.h"

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

class Wire {
 public:
  static constexpr std::int64_t kExponentBytes = 4;

  // Called before a copy with `is_done` false, and after it.
  using Observer = std::function<void(const Crossing& crossing, bool is_done)>;

  void set_observer(Observer observer) { observer_ = std::move(observer); }

  void carry(const std::string& tensor, IntegerBackend& from, const Values& source,
             IntegerBackend& to, const Values& target);
  // Whatever `copy` does.
  void carry(const Crossing& crossing, const std::function<void()>& copy);

  // Of all copies since the wire was made.
  Traffic between(const IntegerBackend& from, const IntegerBackend& to) const;
  Traffic all() const;

 private:
  std::map<std::pair<const IntegerBackend*, const IntegerBackend*>, Traffic> traffic_;
  Observer observer_;
};

}  // namespace nibble::inline integer_step
