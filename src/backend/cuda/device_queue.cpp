// SPDX-License-Identifier: Apache-2.0
// Launches, one by one or as a graph.
#include "backend/cuda/device_queue.h"

#include <algorithm>
#include <array>
#include <utility>

#include "backend/cuda/device_limits.h"
#include "core/hash.h"
#include "cuda/errors.h"
#include "cuda/event_spans.h"

namespace nibble::cuda {
namespace {

constexpr std::size_t kLeastLaunches = 12;  // of a graph: shorter sequences are issued as they are
constexpr std::size_t kMostGraphs = 16;     // of several batch sizes, with and without training
constexpr std::size_t kMostSeen = 256;
constexpr std::size_t kMostGathered = std::size_t{1} << 16;  // bytes of little copies
constexpr std::size_t kPutGranule = 256;                     // of memory on loan
constexpr std::size_t kHeldTogether = 128;  // launches of a trace: a stream takes some hundreds

}  // namespace

DeviceGraph::~DeviceGraph() {
  cudaGraphExecDestroy(runnable_);
}

struct DeviceQueue::KnownGraph {
  Sequence sequence;
  std::uint64_t hash = 0;
  std::unique_ptr<DeviceGraph> graph;
};

// Pinned memory that copies read or write: used again once they are done.
struct PinnedPiece {
  void* memory = nullptr;
  std::size_t size = 0;
  cudaEvent_t done = nullptr;

  explicit PinnedPiece(std::size_t bytes) : size(bytes) {
    check("cuda", cudaMallocHost(&memory, bytes));
    check("cuda", cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  }
  ~PinnedPiece() {
    cudaFreeHost(memory);
    if (done != nullptr) cudaEventDestroy(done);
  }
  PinnedPiece(const PinnedPiece&) = delete;
  PinnedPiece& operator=(const PinnedPiece&) = delete;

  bool is_free() const { return cudaEventQuery(done) == cudaSuccess; }
};

DeviceArrival::DeviceArrival(DeviceQueue& queue, std::unique_ptr<PinnedPiece> piece)
    : queue_(queue), piece_(std::move(piece)) {}

DeviceArrival::~DeviceArrival() {
  if (piece_) queue_.pieces_.push_back(std::move(piece_));
}

void* DeviceArrival::wait() const {
  check("cuda", cudaEventSynchronize(piece_->done));
  return piece_->memory;
}

// One that is large enough and not in use, or a new one.
std::unique_ptr<PinnedPiece> DeviceQueue::take_piece(std::size_t bytes) {
  const auto found = std::ranges::find_if(
      pieces_, [&](const auto& each) { return each->size >= bytes && each->is_free(); });
  if (found == pieces_.end())
    return std::make_unique<PinnedPiece>(std::max(bytes, std::size_t{4096}));
  std::unique_ptr<PinnedPiece> piece = std::move(*found);
  pieces_.erase(found);
  return piece;
}

std::uint64_t DeviceQueue::Sequence::hash() const {
  Hasher hasher;
  for (const Launch& each : launches) {
    const std::array<std::uint64_t, 3> words{reinterpret_cast<std::uintptr_t>(each.kernel),
                                             each.grid.blocks, each.grid.planes};
    hasher.add(std::span<const std::uint64_t>(words));
  }
  hasher.add(std::span<const std::byte>(params));
  return hasher.value();
}

void DeviceQueue::Sequence::clear() {
  launches.clear();
  params.clear();
}

DeviceQueue::DeviceQueue(int device) : place_{.device = device} {
  const DeviceGuard guard(place_);
  const LimitedStream made = make_stream(device, device_limits());
  place_.stream = made.stream;
  multiprocessors_ = made.multiprocessors;
  side_ = make_stream(device, device_limits()).stream;
  check("cuda", cudaStreamCreateWithFlags(&down_, cudaStreamNonBlocking));
  check("cuda", cudaEventCreateWithFlags(&meeting_, cudaEventDisableTiming));
  int major = 0;
  check("cuda", cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  can_overlap_ = major >= 9;
}

DeviceQueue::~DeviceQueue() {
  const DeviceGuard guard(place_, std::nothrow);
  cudaStreamSynchronize(stream());
  cudaStreamSynchronize(down_);
  graphs_.clear();
  pieces_.clear();
  cudaEventDestroy(meeting_);
  cudaStreamDestroy(down_);
  cudaStreamDestroy(side_);
  cudaStreamDestroy(stream());
}

void DeviceQueue::add(const void* kernel, const Grid& grid, const void* params, std::size_t size) {
  if (grid.blocks == 0) return;  // of a rank that has no images in this batch: CUDA refuses it
  constexpr std::size_t kAlignment = 16;
  const std::size_t begin = pending_.params.size();
  pending_.launches.push_back({kernel, grid, is_aside_, std::exchange(joins_, false), begin, size});
  if (spans_) labels_.push_back(spans_->label());
  pending_.params.resize(begin + (size + kAlignment - 1) / kAlignment * kAlignment);
  std::memcpy(pending_.params.data() + begin, params, size);
}

void DeviceQueue::put(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  const DeviceGuard guard(place_);
  const std::size_t room = (bytes + kPutGranule - 1) / kPutGranule * kPutGranule;
  auto* target = static_cast<std::byte*>(to);
  const bool is_gathered =
      room <= kMostGathered && target >= inbox_ && target + room <= inbox_ + inbox_size_;
  if (gathered_size_ > 0 && (!is_gathered || target != gathered_to_ + gathered_size_ ||
                             gathered_size_ + room > kMostGathered))
    send_gathered();
  if (!is_gathered) {
    await_reading();
    std::unique_ptr<PinnedPiece> piece = take_piece(bytes);
    std::memcpy(piece->memory, from, bytes);
    return send(to, std::move(piece), bytes);
  }
  if (gathered_size_ == 0) {
    gathered_ = take_piece(kMostGathered);
    gathered_to_ = target;
  }
  std::byte* place = static_cast<std::byte*>(gathered_->memory) + gathered_size_;
  std::memcpy(place, from, bytes);
  std::memset(place + bytes, 0, room - bytes);
  gathered_end_ = gathered_size_ + bytes;
  gathered_size_ += room;
}

void DeviceQueue::send(void* to, std::unique_ptr<PinnedPiece> piece, std::size_t bytes) {
  if (spans_) spans_->begin_copy("copy to the GPU", spans_->label(), bytes, true, "pinned");
  check("cuda", cudaMemcpyAsync(to, piece->memory, bytes, cudaMemcpyHostToDevice, stream()));
  if (spans_) spans_->end();
  check("cuda", cudaEventRecord(piece->done, stream()));
  pieces_.push_back(std::move(piece));
}

void DeviceQueue::put_back(void* to, std::unique_ptr<DeviceArrival> from, std::size_t bytes) {
  const DeviceGuard guard(place_);
  await_reading();
  send(to, std::move(from->piece_), bytes);
}

void DeviceQueue::send_gathered() {
  if (gathered_size_ == 0) return;
  gathered_size_ = 0;
  send(gathered_to_, std::move(gathered_), gathered_end_);
}

void DeviceQueue::await_reading() {
  if (std::exchange(is_read_, false)) wait_for_other(stream(), down_);
}

void DeviceQueue::copy(void* to, const void* from, std::size_t bytes) {
  flush();
  const DeviceGuard guard(place_);
  await_reading();
  check("cuda", cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream()));
}

void DeviceQueue::wait_for_other(cudaStream_t waits, cudaStream_t other) {
  check("cuda", cudaEventRecord(meeting_, other));
  check("cuda", cudaStreamWaitEvent(waits, meeting_));
}

void DeviceQueue::issue(const Sequence& sequence) {
  // Kernels wait for one another by themselves (kernel_start.cuh).
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  bool is_apart = false;  // the other stream has work that this one has not waited for
  for (std::size_t i = 0; i < sequence.launches.size(); ++i) {
    const Launch& each = sequence.launches[i];
    const bool is_aside = each.is_aside && !spans_;
    const bool joins = each.joins && is_apart;
    if (joins) wait_for_other(stream(), side_);
    const bool forks = is_aside && (joins || !is_apart);
    if (forks) wait_for_other(side_, stream());
    is_apart = is_aside || (is_apart && !joins);
    void* argument = const_cast<std::byte*>(sequence.params.data() + each.begin);
    const cudaLaunchConfig_t config{
        .gridDim = dim3(each.grid.blocks, each.grid.planes),
        .blockDim = dim3(each.grid.threads),
        .dynamicSmemBytes = each.grid.shared_bytes,
        .stream = is_aside ? side_ : stream(),
        .attrs = &overlap,
        .numAttrs = can_overlap_ && !spans_ && !forks && !joins ? 1u : 0u};
    if (spans_ && i % kHeldTogether == 0) spans_->hold();
    if (spans_) spans_->begin(kernel_name(each.kernel), labels_[i]);
    check("cuda", cudaLaunchKernelExC(&config, each.kernel, &argument));
    if (spans_) spans_->end();
    if (spans_ && ((i + 1) % kHeldTogether == 0 || i + 1 == sequence.launches.size()))
      spans_->release();
  }
  if (is_apart) wait_for_other(stream(), side_);
}

void DeviceQueue::set_label(std::string label) {
  if (spans_) spans_->enter(std::move(label));
}

std::string DeviceQueue::label() const {
  return spans_ ? spans_->label() : std::string();
}

void DeviceQueue::set_trace(StepTrace* trace) {
  flush();
  spans_.reset();
  if (trace != nullptr) spans_ = std::make_unique<EventSpans>(place_, *trace);
}

std::unique_ptr<DeviceGraph> DeviceQueue::record() {
  const DeviceGuard guard(place_);
  cudaGraph_t recorded = nullptr;
  check("cuda", cudaStreamBeginCapture(stream(), cudaStreamCaptureModeThreadLocal));
  try {
    issue(pending_);
  } catch (...) {  // what this thread does next would be recorded, or refused, for good
    cudaStreamEndCapture(stream(), &recorded);
    if (recorded != nullptr) cudaGraphDestroy(recorded);
    cudaGetLastError();
    throw;
  }
  check("cuda", cudaStreamEndCapture(stream(), &recorded));
  cudaGraphExec_t runnable = nullptr;
  const cudaError_t made = cudaGraphInstantiate(&runnable, recorded, 0);
  cudaGraphDestroy(recorded);
  check("cuda", made);
  auto graph = std::make_unique<DeviceGraph>(runnable);
  // A graph goes to its GPU with its first launch, which may be much later, in a run that somebody
  // waits for: lanes record for one another.
  check("cuda", cudaGraphUpload(runnable, stream()));
  pending_.clear();
  return graph;
}

void DeviceQueue::replay(const DeviceGraph& graph) {
  flush();
  const DeviceGuard guard(place_);
  await_reading();
  check("cuda", cudaGraphLaunch(graph.runnable(), stream()));
}

void DeviceQueue::remember(std::uint64_t hash) {
  if (graphs_.size() == kMostGraphs) graphs_.erase(graphs_.begin());
  auto known = std::make_unique<KnownGraph>();
  known->sequence = pending_;
  known->hash = hash;
  known->graph = record();
  graphs_.push_back(std::move(known));
}

void DeviceQueue::flush() {
  const DeviceGuard guard(place_);
  send_gathered();
  if (pending_.launches.empty()) return;
  await_reading();
  if (pending_.launches.size() < kLeastLaunches || spans_) {
    issue(pending_);
    labels_.clear();
    return pending_.clear();
  }
  const std::uint64_t hash = pending_.hash();
  auto known = std::ranges::find_if(
      graphs_, [&](const auto& each) { return each->hash == hash && each->sequence == pending_; });
  if (known == graphs_.end()) {
    const auto seen = std::ranges::find(seen_, hash);
    if (seen == seen_.end()) {
      if (seen_.size() == kMostSeen) seen_.clear();
      seen_.push_back(hash);
      issue(pending_);
      return pending_.clear();
    }
    seen_.erase(seen);
    remember(hash);
    known = graphs_.end() - 1;
  }
  check("cuda", cudaGraphLaunch((*known)->graph->runnable(), stream()));
  pending_.clear();
}

void DeviceQueue::wait() {
  flush();
  wait_for(place_);
}

void DeviceQueue::get(void* to, const void* from, std::size_t bytes) {
  flush();
  const DeviceGuard guard(place_);
  check("cuda", cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream()));
  wait_for(place_);
}

std::unique_ptr<DeviceArrival> DeviceQueue::get_later(std::initializer_list<DeviceBytes> pieces) {
  flush();
  const DeviceGuard guard(place_);
  std::size_t bytes = 0;
  for (const DeviceBytes& each : pieces) bytes += each.size;
  std::unique_ptr<PinnedPiece> piece = take_piece(bytes);
  const cudaStream_t on = spans_ ? stream() : down_;
  wait_for_other(down_, stream());
  auto* to = static_cast<std::byte*>(piece->memory);
  for (const DeviceBytes& each : pieces) {
    if (spans_) spans_->begin_copy("copy back", {}, each.size, false, "pinned");
    check("cuda", cudaMemcpyAsync(to, each.data, each.size, cudaMemcpyDeviceToHost, on));
    if (spans_) spans_->end();
    to += each.size;
  }
  check("cuda", cudaEventRecord(piece->done, on));
  is_read_ = true;
  return std::make_unique<DeviceArrival>(*this, std::move(piece));
}

}  // namespace nibble::cuda
