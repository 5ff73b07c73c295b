// SPDX-License-Identifier: Apache-2.0
// Work for one GPU in the order in which it was asked for. Launches are kept until someone needs
// their results; a sequence that comes again, byte by byte, is one CUDA graph from then on.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "nibble/cuda/device.h"

namespace nibble::inline core {
class StepTrace;
}

namespace nibble::cuda {

struct Grid {
  unsigned int blocks = 1;
  unsigned int threads = 256;
  unsigned int shared_bytes = 0;
  unsigned int planes = 1;  // of blocks: blockIdx.y
  bool operator==(const Grid&) const = default;
};

struct DeviceBytes {
  const void* data;
  std::size_t size;
};

class DeviceQueue;
class EventSpans;
struct PinnedPiece;

// Launches that were recorded: a queue issues them any number of times.
class DeviceGraph {
 public:
  explicit DeviceGraph(cudaGraphExec_t runnable) : runnable_(runnable) {}
  ~DeviceGraph();
  DeviceGraph(const DeviceGraph&) = delete;
  DeviceGraph& operator=(const DeviceGraph&) = delete;

  cudaGraphExec_t runnable() const { return runnable_; }

 private:
  cudaGraphExec_t runnable_;
};

// Bytes on their way to the host.
class DeviceArrival {
 public:
  DeviceArrival(DeviceQueue& queue, std::unique_ptr<PinnedPiece> piece);
  ~DeviceArrival();
  DeviceArrival(const DeviceArrival&) = delete;
  DeviceArrival& operator=(const DeviceArrival&) = delete;

  void* wait() const;  // for them; they live as long as this

 private:
  friend class DeviceQueue;
  DeviceQueue& queue_;
  std::unique_ptr<PinnedPiece> piece_;
};

class DeviceQueue {
 public:
  explicit DeviceQueue(int device);
  ~DeviceQueue();
  DeviceQueue(const DeviceQueue&) = delete;
  DeviceQueue& operator=(const DeviceQueue&) = delete;

  template <class Params>
  void launch(void (*kernel)(Params), const Grid& grid, const Params& params) {
    static_assert(std::has_unique_object_representations_v<Params>,
                  "gaps have no bytes to compare");
    add(reinterpret_cast<const void*>(kernel), grid, &params, sizeof params);
  }

  // What is launched until end_aside() may run beside what is launched after it, until join().
  void begin_aside() { is_aside_ = true; }
  void end_aside() { is_aside_ = false; }
  void join() { joins_ = true; }

  // Copies bytes of the host to memory that no launch since the last flush() touches: they arrive
  // before those launches. Little ones that lie one behind the other, from multiples of 256 bytes
  // on, travel together.
  void put(void* to, const void* from, std::size_t bytes);
  // What is put there, one piece behind the other, travels together. No copy may reach over the end
  // of its memory: so it is said where that is.
  void set_inbox(void* memory, std::size_t bytes) {
    inbox_ = static_cast<std::byte*>(memory);
    inbox_size_ = bytes;
  }

  // Between any two memories, behind all launches; a host's that is not pinned may be waited for.
  void copy(void* to, const void* from, std::size_t bytes);

  // What was launched since the last flush(): recorded, and not done.
  std::unique_ptr<DeviceGraph> record();
  void replay(const DeviceGraph& graph);  // behind all launches

  void flush();                                             // hands launches over to the GPU
  void wait();                                              // and returns when all is done
  void get(void* to, const void* from, std::size_t bytes);  // waits
  // One piece behind the other, without waiting. The queue must outlive them.
  std::unique_ptr<DeviceArrival> get_later(std::initializer_list<DeviceBytes> pieces);
  // The host changes numbers in pinned memory, and they go back to where they were. Waits.
  template <class Number, class Change>
  void change(Number* numbers, std::size_t count, const Change& change) {
    const std::size_t bytes = count * sizeof(Number);
    std::unique_ptr<DeviceArrival> here = get_later({{numbers, bytes}});
    change(std::span(static_cast<Number*>(here->wait()), count));
    put_back(numbers, std::move(here), bytes);
  }

  // Everything that follows is timed, one by one and without graphs; null: no longer.
  void set_trace(StepTrace* trace);
  // Who asks for what follows, where it is timed.
  bool is_traced() const { return spans_ != nullptr; }
  void set_label(std::string label);
  std::string label() const;

  const Place& place() const { return place_; }
  unsigned int multiprocessors() const { return multiprocessors_; }

 private:
  struct Launch {
    const void* kernel;
    Grid grid;
    bool is_aside;
    bool joins;         // with what ran aside before
    std::size_t begin;  // of the parameters
    std::size_t size;
    bool operator==(const Launch&) const = default;
  };
  struct Sequence {
    std::vector<Launch> launches;
    std::vector<std::byte> params;
    bool operator==(const Sequence&) const = default;
    std::uint64_t hash() const;
    void clear();
  };
  struct KnownGraph;
  friend class DeviceArrival;

  std::unique_ptr<PinnedPiece> take_piece(std::size_t bytes);
  void send(void* to, std::unique_ptr<PinnedPiece> piece, std::size_t bytes);
  void send_gathered();
  void put_back(void* to, std::unique_ptr<DeviceArrival> from, std::size_t bytes);

  void add(const void* kernel, const Grid& grid, const void* params, std::size_t size);
  void issue(const Sequence& sequence);
  void await_reading();
  void wait_for_other(cudaStream_t waits, cudaStream_t other);
  void remember(std::uint64_t hash);
  cudaStream_t stream() const { return static_cast<cudaStream_t>(place_.stream); }

  Place place_;
  cudaStream_t side_ = nullptr;  // for what runs beside
  cudaStream_t down_ = nullptr;  // for what the host reads later, beside the next step's bytes
  cudaEvent_t meeting_ = nullptr;
  bool is_read_ = false;   // something is on its way down that no launch may write before
  bool is_aside_ = false;  // the next launch
  bool joins_ = false;
  unsigned int multiprocessors_ = 0;
  bool can_overlap_ = false;  // the end of a kernel and the start of the next
  Sequence pending_;
  std::vector<std::uint64_t> seen_;  // hashes of sequences that came once
  std::vector<std::unique_ptr<KnownGraph>> graphs_;
  std::vector<std::unique_ptr<PinnedPiece>> pieces_;  // the one that is done first in front
  std::unique_ptr<PinnedPiece> gathered_;             // bytes that wait for more
  std::byte* inbox_ = nullptr;
  std::size_t inbox_size_ = 0;
  std::byte* gathered_to_ = nullptr;   // where the first of them goes
  std::size_t gathered_size_ = 0;      // in multiples of 256
  std::size_t gathered_end_ = 0;       // of their bytes
  std::unique_ptr<EventSpans> spans_;  // while somebody traces
  std::vector<std::string> labels_;    // then: of pending launches
};

}  // namespace nibble::cuda
