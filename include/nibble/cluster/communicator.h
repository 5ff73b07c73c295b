// SPDX-License-Identifier: Apache-2.0
// The processes that train one network together, for whoever computes: an interface that needs no
// library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace nibble::inline cluster {

// Sums and maxima of integers: the order cannot matter, so the result is the same bits at every
// rank and for every launcher. Every rank makes the same calls with the same sizes, from its main
// thread; that a total fits its type is the caller's to know.
class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Whether values of sum and max may lie in a GPU's memory, where nothing else writes them
  // meanwhile.
  virtual bool takes_device_memory() const { return false; }
  virtual void sum(std::span<std::int32_t> values) = 0;  // over all ranks, in place, at all ranks
  virtual void sum(std::span<std::int64_t> values) = 0;
  // As sum, for a rank that has more to do meanwhile: values are those of all ranks after
  // finish_sums(), and stay where they are until then.
  virtual void start_sum(std::span<std::int32_t> values) { sum(values); }
  virtual void start_sum(std::span<std::int64_t> values) { sum(values); }
  virtual void finish_sums() {}
  virtual void max(std::span<std::int64_t> values) = 0;
  // As max, likewise: values are those of all ranks after finish_max(). No other call stands
  // between.
  virtual void start_max(std::span<std::int64_t> values) { max(values); }
  virtual void finish_max() {}
  virtual void broadcast(std::span<std::byte> bytes, int root) = 0;
  virtual void barrier() = 0;
};

}  // namespace nibble::inline cluster
