// SPDX-License-Identifier: Apache-2.0
// Integer training on a GPU: memory, slots, steps, losses, updates.
#include "backend/cuda/cuda_backend.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backend/cuda/cuda_memory.h"
#include "backend/cuda/meet_ranks.h"
#include "backend/cuda/plain_kernels.h"
#include "backend/cuda/round_sources.h"
#include "cuda/driver.h"
#include "laws/integer_laws.h"
#include "nibble/core/error.h"

namespace nibble::inline backend {
namespace {

constexpr std::int32_t kMostSlots = 1 << 16;
constexpr std::size_t kMostPoints = 1 << 15;

std::uint32_t pitch_of(const Picture& picture) {
  return static_cast<std::uint32_t>((picture.channels + cuda::kChunk - 1) / cuda::kChunk *
                                    cuda::kChunk);
}

template <class Number>
void without_filling(const Number* filled, const cuda::Rows& rows, std::span<Number> numbers) {
  for (std::size_t row = 0; row < rows.rows; ++row)
    std::copy_n(filled + row * rows.pitch(), rows.channels, numbers.data() + row * rows.channels);
}

template <class Number>
void get_rows(cuda::DeviceQueue& queue, const cuda::Rows& rows, std::span<Number> numbers) {
  std::vector<Number> filled(std::size_t{rows.rows} * rows.pitch());
  queue.get(filled.data(), rows.data, filled.size() * sizeof(Number));
  without_filling(filled.data(), rows, numbers);
}

// Rows, and behind them their exponent.
class CudaStoredLater final : public StoredLater {
 public:
  CudaStoredLater(cuda::DeviceQueue& queue, const cuda::Rows& rows)
      : rows_(rows),
        arrival_(queue.get_later({{rows.data, bytes()}, {rows.exponent, sizeof(std::int32_t)}})) {}

  int get(std::span<std::int8_t> mantissas) override {
    const auto* filled = static_cast<const std::int8_t*>(arrival_->wait());
    without_filling(filled, rows_, mantissas);
    std::int32_t exponent = 0;
    std::memcpy(&exponent, filled + bytes(), sizeof exponent);
    return exponent;
  }

 private:
  std::size_t bytes() const { return std::size_t{rows_.rows} * rows_.pitch(); }

  cuda::Rows rows_;
  std::unique_ptr<cuda::DeviceArrival> arrival_;
};

}  // namespace

CudaBackend::CudaBackend(std::string name, int device)
    : name_(std::move(name)),
      path_(cuda::product_path(device)),
      queue_(device),
      pool_(queue_.place()),
      lasting_(queue_.place()),
      inbox_(lasting_.take(kInbox)),
      inbox_used_(kInboxStep),
      exponents_(lasting_.take(kMostSlots * sizeof(std::int32_t))),
      points_(lasting_.take(kMostPoints * sizeof(cuda::DevicePoint))),
      powers_(lasting_.take(power_table().size_bytes())) {
  queue_.set_inbox(inbox_.as<void>(), kInbox);
  const std::vector<std::int32_t> exponents(kMostSlots);
  queue_.put(exponents_.as<void>(), exponents.data(), exponents.size() * sizeof(std::int32_t));
  const std::vector<cuda::DevicePoint> points(kMostPoints);
  queue_.put(points_.as<void>(), points.data(), points.size() * sizeof(cuda::DevicePoint));
  queue_.put(powers_.as<void>(), power_table().data(), power_table().size_bytes());
}

std::string CudaBackend::identity() const {
  return name_ + " " + cuda::hardware_of(queue_.place().device);
}

cuda::DeviceBuffer CudaBackend::lasting(std::span<const std::int32_t> words) {
  cuda::DeviceBuffer memory = lasting_.take(words.size_bytes());
  queue_.put(memory.as<void>(), words.data(), words.size_bytes());
  return memory;
}

MemoryHandle CudaBackend::take(const Picture& picture, std::int64_t images, ValueStorage storage) {
  const bool is_wide = storage == ValueStorage::s16;
  if (!is_wide && storage != ValueStorage::s8 && storage != ValueStorage::u8)
    throw Error("cuda", "storage of values", "another width", "s8, u8 or s16");
  const auto rows = static_cast<std::size_t>(images * picture.pixels());
  return MemoryHandle(
      std::make_shared<CudaMemory>(pool_.take(rows * pitch_of(picture) * (is_wide ? 2 : 1))));
}

Slot CudaBackend::new_slot() {
  if (slots_ == kMostSlots)
    throw Error("cuda", "tensors", std::to_string(slots_ + 1),
                "at most " + std::to_string(kMostSlots));
  return {slots_++};
}

ShiftPoint CudaBackend::new_point(const ShiftPointCase& point) {
  if (cases_.size() == kMostPoints)
    throw Error("cuda", "shift points", std::to_string(cases_.size() + 1),
                "at most " + std::to_string(kMostPoints));
  cases_.push_back(point);
  return {static_cast<std::int32_t>(cases_.size()) - 1};
}

std::unique_ptr<Weights> CudaBackend::weights(const WeightsCase& weights) {
  return std::make_unique<CudaWeights>(*this, weights);
}

std::unique_ptr<Sums> CudaBackend::sums(const WeightsCase& weights) {
  return std::make_unique<CudaSums>(*this, static_cast<std::size_t>(weights.shape.elements()));
}

std::unique_ptr<WeightTotals> CudaBackend::totals(const WeightsCase& weights) {
  return std::make_unique<CudaTotals>(*this, static_cast<std::size_t>(weights.shape.elements()));
}

std::int32_t* CudaBackend::exponent_at(Slot slot) const {
  return slot.place < 0 ? nullptr : exponents_.as<std::int32_t>() + slot.place;
}

cuda::Rows CudaBackend::rows(const Values& values) const {
  const Picture& picture = values.picture;
  const std::int64_t rows = values.images * picture.pixels();
  if (rows * pitch_of(picture) / cuda::kChunk >= std::int64_t{1} << 31)
    throw Error("cuda", "tensor", std::to_string(rows) + " pixels", "fewer images in a batch");
  return {.data = static_cast<const CudaMemory*>(values.memory.get())->data(),
          .exponent = exponent(values),
          .rows = static_cast<std::uint32_t>(rows),
          .channels = static_cast<std::uint32_t>(picture.channels),
          .chunks = Divisor::of(pitch_of(picture) / cuda::kChunk),
          .pixels = Divisor::of(static_cast<std::uint32_t>(picture.pixels()))};
}

cuda::Rows CudaBackend::target(const Values& values) const {
  static_cast<CudaMemory*>(values.memory.get())->forget_copies();
  return rows(values);
}

void CudaBackend::store(const Values& from, std::span<std::int8_t> mantissas) {
  get_rows(queue(), rows(from), mantissas);
}

void CudaBackend::store_sums(const Values& from, std::span<std::int16_t> sums) {
  get_rows(queue(), rows(from), sums);
}

std::unique_ptr<StoredLater> CudaBackend::store_later(const Values& from) {
  return std::make_unique<CudaStoredLater>(queue(), rows(from));
}

SlotTable CudaBackend::read_slots() {
  SlotTable table;
  table.exponents.resize(static_cast<std::size_t>(slots_));
  queue().get(table.exponents.data(), exponents_.as<void>(), table.exponents.size() * sizeof(int));
  std::vector<cuda::DevicePoint> points(cases_.size());
  queue().get(points.data(), points_.as<void>(), points.size() * sizeof(cuda::DevicePoint));
  for (const cuda::DevicePoint& each : points) table.points.push_back(each.state);
  return table;
}

void CudaBackend::set_point(ShiftPoint point, const PointState& state) {
  queue().flush();
  queue().put(points_.as<cuda::DevicePoint>() + point.place, &state, sizeof state);
}

void CudaBackend::join() {
  is_zeroing_ = false;
  if (!std::exchange(is_apart_, false)) return;
  queue().join();
  pool_.lend_again();
}

void CudaBackend::end() {
  join();
  queue().flush();
}

void CudaBackend::begin(const StepContext& step) {
  end();
  const bool can_improve = pool_.end_step();
  if (known_turned_ != turned_.size()) {  // steps take other memory from now on
    known_turned_ = turned_.size();
    queue().wait();
    pool_.trim();
  } else if (can_improve) {
    queue().wait();
    pool_.find_places();
  }
  for (Inlet* each : {&input_, &targets_}) each->is_used = false;
  inbox_used_ = kInboxStep;
  if (lanes_) lanes_->restart();
  if (step.all_images != step_.all_images)
    pool_.set_purpose("a batch of " + std::to_string(step.all_images) + " images: a smaller one");
  step_ = step;
  if (step.cluster != nullptr && step.cluster->size() == 1) step_.cluster = nullptr;  // alone
  pool_.begin_step({step.all_images, step.is_training, guesses_twice()});
  cuda::DeviceStep told{.seed = step.random.seed,
                        .first_image = step.first_image,
                        .step = step.random.step,
                        .rule = step.rule,
                        .shift = {},
                        .sgd = {}};
  if (const auto* shift = std::get_if<ShiftUpdate>(&step.update)) told.shift = *shift;
  if (const auto* sgd = std::get_if<SgdUpdate>(&step.update)) told.sgd = *sgd;
  queue().put(inbox_.as<void>(), &told, sizeof told);
  if (step.is_training) zero_gradients();
}

void CudaBackend::set_trace(StepTrace* trace) {
  IntegerBackend::set_trace(trace);
  queue().set_trace(trace);
  if (lanes_) lanes_->set_trace(trace);
}

void CudaBackend::entered(std::string_view node, TrainPass pass) {
  if (queue_.is_traced()) queue_.set_label(std::string(node) + " " + std::string(name_of(pass)));
}

cuda::RoundingSite CudaBackend::site_of(ShiftPoint point, const Values& to) const {
  const ShiftPointCase& of = cases_[static_cast<std::size_t>(point.place)];
  return {.point = points_.as<cuda::DevicePoint>() + point.place,
          .step = device_step(),
          .second = nullptr,
          .elements = to.images * to.picture.elements(),
          .stream = of.stream,
          .rounding = of.rounding,
          .is_repeat = false,
          .meets_ranks = step_.cluster != nullptr,
          .unused = 0};
}

// Ranks tell each other their largest sums before the shift is decided.
void CudaBackend::meet(const cuda::RoundingSite& site, const Values& to) {
  const auto join = [&](std::span<std::int64_t> largest) { step_.cluster->max(largest); };
  auto* largest = reinterpret_cast<std::int64_t*>(&site.point->largest);  // below 2^63
  cuda::meet_ranks(queue(), *step_.cluster, largest, 1, join);
  cuda::queue(queue(), cuda::Decision{site.point, site.step, site.elements, exponent(to),
                                      site.second != nullptr ? 1u : 0u});
}

void CudaBackend::bias_gradient(const Values& error, Sums& sums) {
  auto& own = static_cast<CudaSums&>(sums);
  own.clear({}, {error.exponent});
  cuda::queue(queue(), cuda::BiasJob{rows(error), static_cast<std::int64_t*>(own.data())});
}

void CudaBackend::zero_gradients() {
  std::vector<cuda::ZeroJob> jobs;
  for (CudaSums* each : cleared_) {
    jobs.push_back(each->zeros());
    each->set_clean();
  }
  cleared_.clear();
  if (jobs.empty()) return;
  const std::size_t bytes = jobs.size() * sizeof(cuda::ZeroJob);
  const auto is_same = [](const cuda::ZeroJob& a, const cuda::ZeroJob& b) {
    return a.data == b.data && a.words == b.words;
  };
  if (!std::ranges::equal(jobs, zeroed_, is_same)) {
    queue().flush();  // who reads the old list comes first
    zero_jobs_ = lasting_.take(bytes);
    queue().put(zero_jobs_.as<void>(), jobs.data(), bytes);
    zeroed_ = std::move(jobs);
  }
  launch_aside([&] {
    cuda::queue(queue_, cuda::ZeroListJob{zero_jobs_.as<cuda::ZeroJob>(), zeroed_.size()});
  });
  is_zeroing_ = true;
}

void CudaBackend::loss(const LossCase& loss, const Values& answers, const Values& error) {
  const cuda::Rows given = rows(answers);
  if (const auto* squared = std::get_if<SquaredLoss>(&loss)) {
    const void* targets = bring(targets_, squared->targets.data(), squared->targets.size_bytes());
    round(squared->point, error, [&](const cuda::RoundingSite& site) {
      cuda::queue(queue(), cuda::RoundEach<cuda::SquaredRows>{
                               {.answers = {given.data, given.exponent, 0, given.pitch()},
                                .targets = static_cast<const std::int32_t*>(targets)},
                               site,
                               target(error)});
    });
    return;
  }
  const auto& entropy = std::get<CrossEntropyLoss>(loss);
  const void* labels = bring(targets_, entropy.labels.data(), entropy.labels.size_bytes());
  cuda::queue(
      queue(),
      cuda::EntropyJob{.answers = given,
                       .error = target(error),
                       .labels = static_cast<const std::int32_t*>(labels),
                       .powers = powers_.as<std::uint16_t>(),
                       .step = device_step(),
                       .smoothing = entropy.rule.smoothing,
                       .stream = entropy.stream,
                       .is_whole = entropy.rule.form == CrossEntropyForm::whole_octaves ? 1u : 0u});
}

void CudaBackend::reduce(Sums& sums) {
  if (step_.cluster != nullptr) static_cast<CudaSums&>(sums).reduce(*step_.cluster);
}

void CudaBackend::update(Weights& weights, Sums& sums) {
  const auto& gradient = static_cast<const CudaSums&>(sums);
  auto& own = static_cast<CudaWeights&>(weights);
  cuda::UpdateJob job = own.update_job();
  job.sums = gradient.data();
  job.sum_exponent = gradient.exponent();
  job.planes = gradient.form().planes;
  own.forget_sum_shifts();
  const auto is_same = [&](const cuda::UpdateJob& each) { return each.record == job.record; };
  join();
  if (updates_.empty() || std::ranges::any_of(updates_, is_same)) release();
  updates_.push_back(job);
  if (const auto packing = own.packing_back()) packings_.push_back(*packing);
}

// All weights at once: one by one they are too small for a GPU.
void CudaBackend::launch_updates() {
  const std::vector<cuda::UpdateJob> updates = std::exchange(updates_, {});
  const std::vector<cuda::TurnJob> packings = std::exchange(packings_, {});
  std::visit([&](const auto& rule) { cuda::queue(queue_, updates, rule); }, step_.update);
  cuda::queue(queue_, packings);
}

std::unique_ptr<ProductOp> CudaBackend::product(const ProductCase& product) {
  return make_cuda_product(*this, product);
}

std::unique_ptr<PoolOp> CudaBackend::pool(const PoolCase& pool) {
  return make_cuda_pool(*this, pool);
}

}  // namespace nibble::inline backend
