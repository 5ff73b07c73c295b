// SPDX-License-Identifier: Apache-2.0
// What a stream did when.
#include "cuda/event_spans.h"

#include <cxxabi.h>
#include <nvtx3/nvToolsExt.h>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <thread>

#include "core/host_ranges.h"
#include "cuda/errors.h"

namespace nibble::cuda {

std::string kernel_name(const void* kernel) {
#if CUDART_VERSION >= 12030
  const char* mangled = nullptr;
  if (cudaFuncGetName(&mangled, kernel) != cudaSuccess || mangled == nullptr) {
    cudaGetLastError();
    return "kernel";
  }
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(
      abi::__cxa_demangle(mangled, nullptr, nullptr, &status), std::free);
  std::string name = plain ? plain.get() : mangled;
  for (const char* noise : {"nibble::cuda::", "(anonymous namespace)::", "void "}) {
    for (std::size_t at = name.find(noise); at != std::string::npos; at = name.find(noise))
      name.erase(at, std::char_traits<char>::length(noise));
  }
  return name.substr(0, name.rfind('('));
#else
  (void)kernel;
  return "kernel";
#endif
}

EventSpans::EventSpans(const Place& place, StepTrace& trace, std::string track)
    : place_(place), trace_(trace), track_(std::move(track)) {
  wait_for(place);
  start_ = record();
  check("cuda", cudaEventSynchronize(start_));
  start_ns_ = trace.now();
}

EventSpans::~EventSpans() {
  const DeviceGuard guard(place_, std::nothrow);
  cudaStreamSynchronize(static_cast<cudaStream_t>(place_.stream));
  const auto at = [&](cudaEvent_t event) {
    float milliseconds = 0;
    cudaEventElapsedTime(&milliseconds, start_, event);
    return start_ns_ + std::llround(static_cast<double>(milliseconds) * 1e6);
  };
  for (const Piece& each : pieces_) {
    trace_.add({track_, each.name, at(each.begin), at(each.end), each.details});
    cudaEventDestroy(each.begin);
    cudaEventDestroy(each.end);
  }
  cudaEventDestroy(start_);
  cudaGetLastError();
}

cudaEvent_t EventSpans::record() {
  const DeviceGuard guard(place_);
  cudaEvent_t event = nullptr;
  check("cuda", cudaEventCreate(&event));
  check("cuda", cudaEventRecord(event, static_cast<cudaStream_t>(place_.stream)));
  return event;
}

void EventSpans::hold() {
  const DeviceGuard guard(place_);
  const auto wait = [](void* gate) {
    while (!*static_cast<std::atomic<bool>*>(gate)) std::this_thread::yield();
  };
  std::atomic<bool>& gate = gates_.emplace_back(false);
  const cudaError_t result =
      cudaLaunchHostFunc(static_cast<cudaStream_t>(place_.stream), wait, &gate);
  if (result != cudaSuccess) release();
  check("cuda", result);
}

void EventSpans::begin(std::string what, const std::string& label,
                       std::map<std::string, std::string> details) {
  if (!label.empty()) what = label + ": " + what;
  const cudaEvent_t event = record();
  pieces_.push_back({std::move(what), std::move(details), event, event});
}

void EventSpans::begin_copy(std::string what, const std::string& label, std::size_t bytes,
                            bool is_up, std::string memory) {
  begin(std::move(what), label,
        {{"bytes", std::to_string(bytes)},
         {"direction", is_up ? "up" : "down"},
         {"memory", std::move(memory)}});
}

void EventSpans::end() {
  pieces_.back().end = record();
}

void tell_nsight() {
  static const HostRangeListener kListener{[](const char* name) { nvtxRangePushA(name); },
                                           [] { nvtxRangePop(); }};
  // Tools say so where they listen; else no name need be made.
  if (std::getenv("NVTX_INJECTION64_PATH") != nullptr) set_host_range_listener(&kListener);
}

}  // namespace nibble::cuda
