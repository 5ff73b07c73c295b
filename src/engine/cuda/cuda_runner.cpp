// SPDX-License-Identifier: Apache-2.0
// Runs plans on a GPU, with a stream and memory for as many runs as there are at a time.
#include "engine/cuda/cuda_runner.h"

#include <algorithm>
#include <mutex>

#include "cuda/driver.h"
#include "cuda/errors.h"
#include "engine/cuda/device_lane.h"
#include "engine/cuda/device_peak.h"
#include "engine/cuda/product_parts.h"
#include "engine/input_range.h"
#include "nibble/core/limits.h"

namespace nibble::inline engine {
namespace {

// As tunings have it: the GPU, and its path of instructions.
std::string gpu_name(int device) {
  cudaDeviceProp properties{};
  cuda::check("cuda", cudaGetDeviceProperties(&properties, device));
  return std::string(properties.name) + ", " + std::string(name_of(cuda::product_path(device)));
}

class CudaRunner final : public EngineRunner {
 public:
  CudaRunner(const EngineProgram& program, const EngineOptions& options)
      : device_(cuda::usable_device(options.device)),
        tuning_(tuning_of(gpu_name(device_), options.tuning)),
        plan_(program, options, tuning_.tuning, device_) {
    check_limit("memory",
                static_cast<std::int64_t>(plan_.weight_bytes()) +
                    static_cast<std::int64_t>(plan_.arena_bytes()),
                "engine", "bytes of weights and of one run");
    give(take());
  }

  bool checks_numbers() const override { return true; }

  void run(std::span<const std::byte> input, std::int64_t batch,
           std::span<std::byte> output) const override {
    for_each_piece(
        input, batch, output,
        [this](DeviceLane& lane, const std::byte* from, std::int64_t images, std::byte* to) {
          lane.run(from, images, to);
          pass_on(images);
        });
  }
  void run_apart(ExamplesApart examples, std::size_t /*bytes*/,
                 std::span<std::byte> output) const override {
    LaneLoan loan(*this);
    const auto most = static_cast<std::size_t>(plan_.images());
    for (std::size_t done = 0; done < examples.size(); done += most) {
      const ExamplesApart piece = examples.subspan(done, std::min(most, examples.size() - done));
      loan.lane().run_apart(piece, output.data() + done * plan_.answer().bytes);
      pass_on(static_cast<std::int64_t>(piece.size()));
    }
    if (loan.finish()) return;
    for (const std::byte* each : examples) check_on_host({each, plan_.entry().bytes});
    refuse_change();
  }
  void run_watched(std::span<const std::byte> input, std::int64_t batch,
                   std::span<std::byte> output, const ResultWatcher& watch) const override {
    for_each_piece(input, batch, output,
                   [&](DeviceLane& lane, const std::byte* from, std::int64_t images,
                       std::byte* to) { lane.run_watched(from, images, to, watch); });
  }
  void run_timed(std::span<const std::byte> input, std::int64_t batch, std::span<std::byte> output,
                 std::span<double> seconds) const override {
    for_each_piece(input, batch, output,
                   [&](DeviceLane& lane, const std::byte* from, std::int64_t images,
                       std::byte* to) { lane.run_timed(from, images, to, seconds); });
  }

  EngineBuffer allocate(std::size_t bytes, BufferPlace place) const override {
    const cuda::DeviceGuard guard(cuda::Place{.device = device_});
    const bool is_host = place == BufferPlace::host;
    void* memory = nullptr;
    cuda::check("cuda", is_host ? cudaMallocHost(&memory, bytes) : cudaMalloc(&memory, bytes));
    const auto free = [is_host](std::byte* data) { is_host ? cudaFreeHost(data) : cudaFree(data); };
    return {std::shared_ptr<std::byte>(static_cast<std::byte*>(memory), free), bytes,
            [](std::byte* to, const std::byte* from, std::size_t size) {
              cuda::check("cuda", cudaMemcpy(to, from, size, cudaMemcpyDefault));
              cuda::check("cuda",
                          cudaStreamSynchronize(nullptr));  // small ones may be on their way
            }};
  }
  EnginePeak measure_peak() const override {
    const cuda::ProductPath path = cuda::product_path(device_);
    return {.instructions = std::string(name_of(path)),
            .operations = cuda::int8_peak(device_, path),
            .bytes = cuda::copy_peak(device_)};
  }

  std::size_t device_bytes_in_use() const override {
    const cuda::DeviceGuard guard(cuda::Place{.device = device_});
    std::size_t left = 0;
    std::size_t all = 0;
    cuda::check("cuda", cudaMemGetInfo(&left, &all));
    return all - left;
  }

  const std::vector<StepInfo>& steps() const override { return plan_.infos(); }
  std::size_t weight_bytes() const override { return plan_.weight_bytes(); }
  std::size_t arena_bytes() const override { return plan_.arena_bytes(); }
  const TuningFile& tuning() const override { return tuning_; }
  std::vector<ProductCut> cuts() const override {
    return cuda::product_path(device_) == cuda::ProductPath::wgmma ? copied_cuts()
                                                                   : std::vector<ProductCut>{};
  }

 private:
  // A lane whose run threw before its end has launches, copies and complaints left: it goes, which
  // waits for what is on its way, and does not come back.
  class LaneLoan {
   public:
    explicit LaneLoan(const CudaRunner& runner) : runner_(runner), lane_(runner.take()) {}
    ~LaneLoan() {
      if (has_finished_) {
        runner_.give(std::move(lane_));
      } else {
        lane_.reset();
        runner_.forget_lane();
      }
    }
    LaneLoan(const LaneLoan&) = delete;
    LaneLoan& operator=(const LaneLoan&) = delete;
    DeviceLane& lane() const { return *lane_; }
    bool finish() {
      const bool is_right = lane_->finish();
      has_finished_ = true;
      return is_right;
    }

   private:
    const CudaRunner& runner_;
    std::unique_ptr<DeviceLane> lane_;
    bool has_finished_ = false;
  };

  // A new one has recorded all sizes that others have met until then, or none where its GPU has no
  // room for all: the run's own may fit.
  std::unique_ptr<DeviceLane> take() const {
    if (std::unique_ptr<DeviceLane> lane = take_free()) return lane;
    try {
      if (std::unique_ptr<DeviceLane> lane = make_with(known_sizes())) return lane;
      return std::make_unique<DeviceLane>(plan_, device_);
    } catch (...) {
      forget_lane();
      throw;
    }
  }
  // Null: its GPU has no room; what it had taken is free again.
  std::unique_ptr<DeviceLane> make_with(const BatchSizes& sizes) const {
    auto lane = std::make_unique<DeviceLane>(plan_, device_);
    try {
      lane->keep(sizes);
      return lane;
    } catch (const std::exception&) {
      return nullptr;
    }
  }
  // Null: there is none, and room for one more to come back.
  std::unique_ptr<DeviceLane> take_free() const {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      free_.reserve(lanes_ + 1);  // so that giving back takes no memory
      ++lanes_;
      return nullptr;
    }
    std::unique_ptr<DeviceLane> lane = std::move(free_.back());
    free_.pop_back();
    return lane;
  }
  BatchSizes known_sizes() const {
    const std::lock_guard lock(mutex_);
    return sizes_;
  }
  // It records sizes that are new since it was taken, which takes its time: no other run waits for
  // that.
  void give(std::unique_ptr<DeviceLane> lane) const {
    try {
      while (!is_back(lane)) lane->keep(known_sizes());
    } catch (...) {  // its GPU has no room: the lane is of no use any more
      lane.reset();
      forget_lane();
    }
  }
  // False: there are sizes that it has not met.
  bool is_back(std::unique_ptr<DeviceLane>& lane) const {
    const std::lock_guard lock(mutex_);
    if (lane->is_behind(sizes_)) return false;
    free_.push_back(std::move(lane));
    return true;
  }
  void forget_lane() const {
    const std::lock_guard lock(mutex_);
    --lanes_;
  }

  // A size that a lane has recorded: those that are free record it now, others when they come back,
  // so that nobody allocates for it later. One at a time, so that runs find the others.
  void pass_on(std::int64_t images) const {
    if (!is_new(images)) return;
    while (std::unique_ptr<DeviceLane> lane = take_behind()) give(std::move(lane));
  }
  bool is_new(std::int64_t images) const {
    const std::lock_guard lock(mutex_);
    return sizes_.meet(images);
  }
  // Null: those that are free have met all sizes.
  std::unique_ptr<DeviceLane> take_behind() const {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::ranges::find_if(free_, [this](const auto& lane) { return lane->is_behind(sizes_); });
    if (found == free_.end()) return nullptr;
    std::unique_ptr<DeviceLane> lane = std::move(*found);
    free_.erase(found);
    return lane;
  }

  // body(lane, first example, images, first answer), one piece behind the other.
  template <class Body>
  void for_each_piece(std::span<const std::byte> input, std::int64_t batch,
                      std::span<std::byte> output, const Body& body) const {
    LaneLoan loan(*this);
    for (std::int64_t done = 0; done < batch; done += plan_.images()) {
      const auto at = static_cast<std::size_t>(done);
      body(loan.lane(), input.data() + at * plan_.entry().bytes,
           std::min(plan_.images(), batch - done), output.data() + at * plan_.answer().bytes);
    }
    if (loan.finish()) return;
    check_on_host(input);
    refuse_change();
  }

  // Says which number it was that the GPU has refused.
  void check_on_host(std::span<const std::byte> input) const {
    std::vector<std::byte> bytes(input.size());
    cuda::check("cuda", cudaMemcpy(bytes.data(), input.data(), bytes.size(), cudaMemcpyDefault));
    check_range(bytes, plan_.entry());
  }
  [[noreturn]] static void refuse_change() {
    throw Error("engine", "input", "another one while it was read", "one that stays",
                ErrorKind::input);
  }

  int device_;
  TuningFile tuning_;
  DevicePlan plan_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<DeviceLane>> free_;
  mutable std::size_t lanes_ = 0;
  mutable BatchSizes sizes_;
};

}  // namespace

std::unique_ptr<EngineRunner> make_cuda_runner(const EngineProgram& program,
                                               const EngineOptions& options) {
  return std::make_unique<CudaRunner>(program, options);
}

}  // namespace nibble::inline engine
