// SPDX-License-Identifier: Apache-2.0
// What a stream did when, by events around every piece of work, on the clock of a trace.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/step_trace.h"
#include "nibble/cuda/device.h"

namespace nibble::cuda {

// The name of a kernel as its source has it, without parameters.
std::string kernel_name(const void* kernel);

class EventSpans {
 public:
  static constexpr const char* kTrack = "GPU";

  // Waits for what is queued: from here on both clocks are compared.
  EventSpans(const Place& place, StepTrace& trace, std::string track = kTrack);
  ~EventSpans();  // waits, and tells the trace
  EventSpans(const EventSpans&) = delete;
  EventSpans& operator=(const EventSpans&) = delete;

  // Who asks for the work that follows: "conv1 forward".
  void enter(std::string label) { label_ = std::move(label); }
  const std::string& label() const { return label_; }

  // What is queued between the two starts once all of it is: times are then those of the GPU, not
  // of the calls.
  void hold();
  void release() { gates_.back() = true; }

  void begin(std::string what, const std::string& label,
             std::map<std::string, std::string> details = {});
  void begin_copy(std::string what, const std::string& label, std::size_t bytes, bool is_up,
                  std::string memory);
  void end();

 private:
  struct Piece {
    std::string name;
    std::map<std::string, std::string> details;
    cudaEvent_t begin;
    cudaEvent_t end;
  };
  cudaEvent_t record();

  Place place_;
  StepTrace& trace_;
  std::string track_;
  cudaEvent_t start_ = nullptr;
  std::int64_t start_ns_ = 0;
  std::string label_;
  std::vector<Piece> pieces_;
  std::deque<std::atomic<bool>> gates_;  // open once true
};

// Ranges for Nsight: what the host is in, on the time line of the tool that runs the program. From
// here on the tool is told, where one is there.
void tell_nsight();

}  // namespace nibble::cuda
