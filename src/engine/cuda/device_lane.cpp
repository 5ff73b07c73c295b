// SPDX-License-Identifier: Apache-2.0
// Runs a plan on one stream.
#include "engine/cuda/device_lane.h"

#include "cuda/errors.h"

namespace nibble::inline engine {
namespace {

// Points in time on a stream.
class DeviceClock {
 public:
  DeviceClock(cudaStream_t stream, std::size_t ticks) : stream_(stream), events_(ticks) {
    for (cudaEvent_t& each : events_) cuda::check("cuda", cudaEventCreate(&each));
  }
  ~DeviceClock() {
    for (cudaEvent_t each : events_) cudaEventDestroy(each);
  }
  DeviceClock(const DeviceClock&) = delete;
  DeviceClock& operator=(const DeviceClock&) = delete;

  void tick() { cuda::check("cuda", cudaEventRecord(events_[passed_++], stream_)); }

  // Between tick i and the next; all of them are over.
  double seconds(std::size_t i) const {
    float milliseconds = 0;
    cuda::check("cuda", cudaEventElapsedTime(&milliseconds, events_[i], events_[i + 1]));
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  cudaStream_t stream_;
  std::vector<cudaEvent_t> events_;
  std::size_t passed_ = 0;
};

}  // namespace

DeviceLane::DeviceLane(const DevicePlan& plan, int device)
    : plan_(plan), queue_(device), pool_(queue_.place()) {
  const auto images = static_cast<std::size_t>(plan.images());
  arena_ = pool_.take(plan.arena_bytes());
  sums_ = pool_.take(shared_sum_bytes(device));
  arrived_ = pool_.take(shared_tiles(device) * sizeof(std::uint32_t));
  input_ = pool_.take(images * plan.entry().bytes);
  output_ = pool_.take(images * plan.answer().bytes);
  const cuda::DeviceGuard guard(queue_.place());
  for (const cuda::DeviceBuffer* each : {&sums_, &arrived_}) {
    cuda::check("cuda", cudaMemsetAsync(each->as<>(), 0, each->size(),
                                        static_cast<cudaStream_t>(queue_.place().stream)));
  }
  void* memory = nullptr;
  cuda::check("cuda", cudaMallocHost(&memory, sizeof *is_wrong_));
  is_wrong_ = static_cast<std::uint32_t*>(memory);
  *is_wrong_ = 0;
}

DeviceLane::~DeviceLane() {
  const cuda::DeviceGuard guard(queue_.place(), std::nothrow);
  cudaStreamSynchronize(static_cast<cudaStream_t>(queue_.place().stream));
  cudaFreeHost(is_wrong_);
}

DeviceRun DeviceLane::run_of(std::int64_t images) {
  return {queue_, arena_.as<std::int8_t>(), sums_.as<std::int32_t>(), arrived_.as<std::uint32_t>(),
          static_cast<std::uint32_t>(images)};
}

// Examples to the places from `place` on.
void DeviceLane::bring(const std::byte* input, std::int64_t images, std::size_t place) {
  const std::size_t bytes = plan_.entry().bytes;
  queue_.copy(input_.as<std::byte>() + place * bytes, input,
              static_cast<std::size_t>(images) * bytes);
}

void DeviceLane::load(const std::byte* input, std::int64_t images) {
  bring(input, images);
  plan_.load(run_of(images), input_.as<>(), is_wrong_);
}

void DeviceLane::store(std::int64_t images, std::byte* output) {
  plan_.store(run_of(images), output_.as<>());
  queue_.copy(output, output_.as<>(), static_cast<std::size_t>(images) * plan_.answer().bytes);
}

void DeviceLane::run(const std::byte* input, std::int64_t images, std::byte* output) {
  bring(input, images);
  compute(images, output);
}

// The copy engine gathers them, one copy each.
void DeviceLane::run_apart(ExamplesApart examples, std::byte* output) {
  for (std::size_t i = 0; i < examples.size(); ++i) bring(examples[i], 1, i);
  compute(static_cast<std::int64_t>(examples.size()), output);
}

void DeviceLane::compute(std::int64_t images, std::byte* output) {
  const auto known = graphs_.find(images);
  queue_.replay(known != graphs_.end() ? *known->second : record(images));
  queue_.copy(output, output_.as<>(), static_cast<std::size_t>(images) * plan_.answer().bytes);
}

const cuda::DeviceGraph& DeviceLane::record(std::int64_t images) {
  const DeviceRun all = run_of(images);
  plan_.load(all, input_.as<>(), is_wrong_);
  for (std::size_t step = 0; step < plan_.steps(); ++step) plan_.run_step(all, step);
  plan_.store(all, output_.as<>());
  return *graphs_.emplace(images, queue_.record()).first->second;
}

void DeviceLane::keep(const BatchSizes& sizes) {
  if (!is_behind(sizes)) return;
  std::erase_if(graphs_, [&](const auto& each) { return !sizes.has(each.first); });
  for (const std::int64_t images : sizes.all()) {
    if (!graphs_.contains(images)) record(images);
  }
  kept_version_ = sizes.version();
}

void DeviceLane::show(std::size_t value, std::int64_t images, const ResultWatcher& watch) {
  queue_.wait();
  watch(value, [&](std::vector<std::byte>& integers) {
    const DevicePlace& place = plan_.place(value);
    std::vector<std::byte> bytes(static_cast<std::size_t>(place.image_bytes() * images));
    queue_.get(bytes.data(), place.data(arena_.as<std::int8_t>()), bytes.size());
    plan_.unpack(value, bytes, images, integers);
  });
}

void DeviceLane::run_watched(const std::byte* input, std::int64_t images, std::byte* output,
                             const ResultWatcher& watch) {
  load(input, images);
  show(0, images, watch);
  for (std::size_t step = 0; step < plan_.steps(); ++step) {
    plan_.run_step(run_of(images), step);
    show(plan_.result_of(step), images, watch);
  }
  store(images, output);
}

void DeviceLane::run_timed(const std::byte* input, std::int64_t images, std::byte* output,
                           std::span<double> seconds) {
  const cuda::DeviceGuard guard(queue_.place());
  DeviceClock clock(static_cast<cudaStream_t>(queue_.place().stream), plan_.steps() + 1);
  bring(input, images);
  clock.tick();
  plan_.load(run_of(images), input_.as<>(), is_wrong_);
  for (std::size_t step = 0; step < plan_.steps(); ++step) {
    plan_.run_step(run_of(images), step);
    if (step + 1 == plan_.steps()) plan_.store(run_of(images), output_.as<>());
    queue_.flush();
    clock.tick();
  }
  queue_.copy(output, output_.as<>(), static_cast<std::size_t>(images) * plan_.answer().bytes);
  queue_.wait();
  for (std::size_t step = 0; step < plan_.steps(); ++step) seconds[step] += clock.seconds(step);
}

bool DeviceLane::finish() {
  queue_.wait();
  const bool is_right = *is_wrong_ == 0;
  *is_wrong_ = 0;
  return is_right;
}

}  // namespace nibble::inline engine
