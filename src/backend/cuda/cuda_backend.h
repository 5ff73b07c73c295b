// SPDX-License-Identifier: Apache-2.0
// Integer training on a GPU: everything a step needs lies in its memory, and no step waits for the
// host.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "backend/backend.h"
#include "backend/cuda/device_lanes.h"
#include "backend/cuda/device_params.h"
#include "backend/cuda/device_pool.h"
#include "backend/cuda/device_queue.h"
#include "backend/cuda/normalization.h"
#include "backend/cuda/plain_kernels.h"
#include "backend/cuda/product.h"
#include "backend/cuda/round_sources.h"
#include "backend/cuda/training_kernels.h"
#include "cuda/memory.h"

namespace nibble::inline backend {

class CudaSums;

class CudaBackend final : public IntegerBackend {
 public:
  CudaBackend(std::string name, int device);

  std::string name() const override { return name_; }
  std::string identity() const override;

  MemoryHandle take(const Picture& picture, std::int64_t images, ValueStorage storage) override;
  Slot new_slot() override;
  ShiftPoint new_point(const ShiftPointCase& point) override;
  std::unique_ptr<Weights> weights(const WeightsCase& weights) override;
  std::unique_ptr<Sums> sums(const WeightsCase& weights) override;
  std::unique_ptr<WeightTotals> totals(const WeightsCase& weights) override;
  std::size_t peak_bytes() const override { return pool_.peak_bytes(); }
  std::int64_t free_bytes() const override { return cuda::free_bytes(queue_.place()); }
  // Of the GPU, for values and errors.
  std::size_t held_bytes() const { return pool_.held_bytes(); }

  void load(std::span<const std::int8_t> mantissas, int exponent, const Values& to) override;
  void load_bytes(std::span<const std::uint8_t> bytes, std::span<const std::int8_t> tables,
                  int exponent, const Values& to) override;
  void load_images(const ImageSelection& images, std::span<const std::int8_t> tables, int exponent,
                   const Values& to) override;
  void store(const Values& from, std::span<std::int8_t> mantissas) override;
  void store_sums(const Values& from, std::span<std::int16_t> sums) override;
  std::unique_ptr<StoredLater> store_later(const Values& from) override;
  bool runs_ahead() const override { return true; }
  std::unique_ptr<Departure> leave(const Values& from) override;
  std::unique_ptr<Landing> land(std::size_t bytes) override;
  void arrive(Landing& landing, const Values& to) override;
  WireKind wire() const override;
  bool use_wire(WireKind kind) override;
  void start() override { queue().flush(); }
  SlotTable read_slots() override;
  void set_point(ShiftPoint point, const PointState& state) override;

  void begin(const StepContext& step) override;
  void end() override;
  void set_trace(StepTrace* trace) override;

  std::unique_ptr<ProductOp> product(const ProductCase& product) override;
  std::unique_ptr<PoolOp> pool(const PoolCase& pool) override;
  std::unique_ptr<NormalizationOp> normalization(const NormalizationCase& norm) override;
  void pointwise(const PointCase& point, std::span<const Values> from, const Values& to) override;
  void bias_gradient(const Values& error, Sums& sums) override;
  void loss(const LossCase& loss, const Values& answers, const Values& error) override;
  void reduce(Sums& sums) override;
  void update(Weights& weights, Sums& sums) override;

  // For the operations of this folder.
  const StepContext& step() const { return step_; }
  cuda::DeviceQueue& queue() {
    release();
    return queue_;
  }
  // Rounds a product as round() does; it waits for the rectifier that may come next, which it can
  // do on the way.
  // `patches`: its copies as a pool of two by two that follows wants them, or of segment 0. The
  // pool then writes while `from` is read.
  void round(ShiftPoint point, const Values& from, const Values& to, cuda::DeviceBuffer second,
             cuda::RoundedProduct product, const cuda::WindowCopies& patches);
  void hold(const cuda::LargestJob& pool, const Values& to);  // likewise
  // A pool of two by two of values that only it reads, by the product that makes them.
  bool pool_held(const cuda::LargestJob& pool, const Values& to);
  void hold(const cuda::NormalizeJob& norm, const Values& to);                  // likewise
  void round(ShiftPoint point, const cuda::AddedRows& rows, const Values& to);  // likewise
  // Of errors, where `passed` are the values.
  bool rectify_held(const Values& values, const Values& to, const Values* passed);
  bool pass_held(const Values& values, const Values& to);  // as they are
  cuda::ProductPath path() const { return path_; }
  cuda::DeviceLanes& lanes();
  // Bytes of lasting memory, and behind them the sum of the exponents.
  std::unique_ptr<cuda::DownParcel> leave(const void* data, std::size_t bytes,
                                          const cuda::SumExponent& exponent);
  const cuda::DeviceStep* device_step() const { return inbox_.as<cuda::DeviceStep>(); }
  cuda::Rows rows(const Values& values) const;
  cuda::Rows target(const Values& values) const;  // of what will be written
  // The values as gradients read them, where who made them has turned them; null: not this time.
  const std::int8_t* turned(const Values& values);
  // Whether what goes there will be asked for turned, as far as known.
  bool wants_turned(const cuda::Rows& result) const { return turned_.contains(result.exponent); }
  cuda::RoundingSite site_of(ShiftPoint point, const Values& to) const;
  std::int32_t* exponent(const Values& values) const { return exponent_at(values.exponent); }
  std::int32_t* exponent_at(Slot slot) const;
  cuda::DeviceBuffer scratch(std::size_t bytes) { return pool_.take(bytes); }
  // Second guesses pay where batches follow one another: in training.
  bool guesses_twice() const { return step_.is_training && step_.rule == ShiftRule::exact; }
  cuda::DeviceBuffer lasting(std::size_t bytes) { return lasting_.take(bytes); }
  cuda::DeviceBuffer lasting(std::span<const std::int32_t> words);

  // Gradients that a step clears are zeroed together in the next one, beside its way ahead.
  void cleared(CudaSums& sums) {
    if (std::ranges::find(cleared_, &sums) == cleared_.end()) cleared_.push_back(&sums);
  }
  void forget(const CudaSums& sums) { std::erase(cleared_, &sums); }
  void await_zeros() {
    if (is_zeroing_) join();
  }

  // launch() queues what may run beside all that follows, up to the next such call or the updates:
  // gradients, which nothing else waits for.
  template <class Launch>
  void aside(const Launch& launch) {
    join();
    launch_aside(launch);
    pool_.keep_back();
  }

  // With what runs aside: memory that it used can then be lent again.
  void join();

  // Calls launch(site) to guess, and again to correct it where the guess may have missed. Where
  // `second` has room for a result the guess is made twice, by the last two shifts.
  template <class Launch>
  void round(ShiftPoint point, const Values& to, const Launch& launch,
             std::int8_t* second = nullptr) {
    cuda::RoundingSite site = site_of(point, to);
    site.second = second;
    launch(site);
    if (step_.cluster != nullptr) meet(site, to);
    if (step_.rule == ShiftRule::frozen) return;
    site.is_repeat = true;
    launch(site);
  }

 private:
  void entered(std::string_view node, TrainPass pass) override;

  static constexpr std::size_t kInbox = 1 << 16;
  static constexpr std::size_t kInboxStep = 256;  // bytes: little copies then travel together
  static_assert(sizeof(cuda::DeviceStep) <= kInboxStep);

  // Bytes of the host on their way into a step.
  struct Inlet {
    cuda::DeviceBuffer memory;
    bool is_used = false;  // by launches that wait in the queue
  };

  void meet(const cuda::RoundingSite& site, const Values& to);
  template <class Job>
  bool name_held(Job& job, const cuda::Rows& result, const Values& values, const Values& to) const;
  const std::uint8_t* held_images(ConstTensorView images);
  void release();
  void launch(cuda::RoundedProduct product);
  void launch(cuda::LargestJob pool);
  void launch(const cuda::NormalizeJob& norm) { cuda::queue(queue_, norm); }
  void launch(cuda::RoundEach<cuda::AddedRows> sums);
  void launch(std::monostate) {}
  std::int8_t* held_turned(const std::int32_t* made, const std::int32_t* rectified);
  // Likewise, of work that uses no memory which a step lends.
  template <class Launch>
  void launch_aside(const Launch& launch) {
    release();
    queue_.begin_aside();
    launch();
    queue_.end_aside();
    is_apart_ = true;
  }
  void launch_updates();
  void zero_gradients();
  // Where the bytes will be: in the inbox where they fit, otherwise in the memory of the inlet.
  void* bring(Inlet& inlet, const void* bytes, std::size_t size);
  const std::int8_t* bring_tables(std::span<const std::int8_t> tables);
  void spread(const void* bytes, const std::int8_t* tables, std::int64_t table_channels,
              int exponent, const Values& to);  // bytes of the GPU

  std::string name_;
  cuda::ProductPath path_;
  cuda::DeviceQueue queue_;
  cuda::DevicePool pool_;     // of values and errors; before all that borrows from it
  cuda::DevicePool lasting_;  // of all else
  cuda::DeviceBuffer inbox_;  // what steps are told, one behind the other; the step itself in front
  std::size_t inbox_used_;
  cuda::DeviceBuffer exponents_;
  cuda::DeviceBuffer points_;
  cuda::DeviceBuffer powers_;
  Inlet input_;
  Inlet targets_;
  std::optional<cuda::DeviceLanes> lanes_;  // once something crosses or streams in
  cuda::DeviceBuffer tables_;
  std::vector<std::int8_t> told_tables_;                 // what is there: they seldom change
  std::map<const void*, cuda::DeviceBuffer> data_sets_;  // by address on the host; empty: too large
  std::int32_t slots_ = 0;
  std::vector<ShiftPointCase> cases_;
  StepContext step_;
  std::vector<CudaSums*> cleared_;     // since the last step of training began
  std::vector<cuda::ZeroJob> zeroed_;  // what zero_jobs_ has
  cuda::DeviceBuffer zero_jobs_;
  // What waits for a rectifier or a pool that may follow, the memory that it writes, and, where a
  // pool may write on its way, that which it reads: nobody else gets it meanwhile.
  struct Held {
    std::variant<std::monostate, cuda::RoundedProduct, cuda::LargestJob, cuda::NormalizeJob,
                 cuda::RoundEach<cuda::AddedRows>>
        job;
    MemoryHandle to;
    MemoryHandle from = {};
    cuda::WindowCopies patches = {};
    MemoryHandle pooled = {};
    cuda::DeviceBuffer second = {};  // of a second guess
    cuda::DeviceBuffer turned = {};
    std::string label;  // who asked for it, in a trace
  };
  Held held_;
  // Exponents of values that gradients want turned, before and after the rectifier.
  std::set<const std::int32_t*> turned_;
  std::size_t known_turned_ = 0;          // so many of them when the step before began
  bool is_apart_ = false;                 // something runs aside
  bool is_zeroing_ = false;               // gradients are zeroed there
  std::vector<cuda::UpdateJob> updates_;  // that wait for more; nothing else is then held
  std::vector<cuda::TurnJob> packings_;   // that follow them
};

std::unique_ptr<ProductOp> make_cuda_product(CudaBackend& backend, const ProductCase& product);
std::unique_ptr<PoolOp> make_cuda_pool(CudaBackend& backend, const PoolCase& pool);

}  // namespace nibble::inline backend
