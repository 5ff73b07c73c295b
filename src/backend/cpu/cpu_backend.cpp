// SPDX-License-Identifier: Apache-2.0
// Integer training on the CPU: memory, slots, and what meets at the end of a step.
#include "backend/cpu/cpu_backend.h"

#include <algorithm>
#include <utility>

#include "backend/cpu/input_layout.h"
#include "backend/cpu/losses.h"
#include "nibble/core/error.h"

namespace nibble::inline backend {
namespace {

class CpuMemory final : public Memory {
 public:
  explicit CpuMemory(Buffer buffer) : buffer_(std::move(buffer)) {}
  std::int8_t* data() const { return buffer_.as<std::int8_t>(); }

 private:
  Buffer buffer_;
};

CpuSums& cpu_sums(Sums& sums) {
  return static_cast<CpuSums&>(sums);
}

}  // namespace

MemoryHandle CpuBackend::take(const Picture& picture, std::int64_t images, ValueStorage storage) {
  BlockTensor tensor{.picture = picture, .images = images};
  if (storage == ValueStorage::s16) {  // for batch norms, which read no filling
    return MemoryHandle(std::make_shared<CpuMemory>(pool_.take<std::int16_t>(tensor.bytes())));
  }
  if (storage != ValueStorage::s8 && storage != ValueStorage::u8)
    throw Error("cpu", "storage of values", "another one", "s8, u8 or s16");
  Buffer buffer = pool_.take<std::int8_t>(tensor.bytes());
  tensor.data = buffer.as<std::int8_t>();
  clear_filling(tensor);
  return MemoryHandle(std::make_shared<CpuMemory>(std::move(buffer)));
}

Slot CpuBackend::new_slot() {
  exponents_.push_back(0);
  return {static_cast<std::int32_t>(exponents_.size()) - 1};
}

ShiftPoint CpuBackend::new_point(const ShiftPointCase& point) {
  points_.emplace_back(point);
  return {static_cast<std::int32_t>(points_.size()) - 1};
}

std::unique_ptr<Weights> CpuBackend::weights(const WeightsCase& weights) {
  return std::make_unique<CpuWeights>(weights);
}

std::unique_ptr<Sums> CpuBackend::sums(const WeightsCase&) {
  return std::make_unique<CpuSums>();
}

BlockTensor CpuBackend::block(const Values& values) const {
  const auto* memory = static_cast<const CpuMemory*>(values.memory.get());
  return {.picture = values.picture,
          .images = values.images,
          .exponent = values.exponent.place < 0 ? 0 : exponent(values),
          .data = memory->data()};
}

void CpuBackend::load(std::span<const std::int8_t> mantissas, int exponent, const Values& to) {
  lay_out(mantissas, block(to));
  set_exponent(to, exponent);
}

void CpuBackend::load_bytes(std::span<const std::uint8_t> bytes,
                            std::span<const std::int8_t> tables, int exponent, const Values& to) {
  lay_out(bytes, tables, static_cast<std::int64_t>(tables.size()) / 256, block(to));
  set_exponent(to, exponent);
}

void CpuBackend::store(const Values& from, std::span<std::int8_t> mantissas) {
  gather(block(from), mantissas);
}

void CpuBackend::store_sums(const Values& from, std::span<std::int16_t> sums) {
  const BlockTensor tensor = block(from);
  const BlockPicture& picture = tensor.picture;
  auto to = sums.begin();
  for (std::int64_t image = 0; image < tensor.images; ++image) {
    for (std::int64_t pixel = 0; pixel < picture.pixels(); ++pixel) {
      const std::int16_t* row =
          tensor.sums_at(image / kGroup, pixel) + image % kGroup * picture.stride();
      to = std::copy(row, row + picture.channels, to);
    }
  }
}

SlotTable CpuBackend::read_slots() {
  SlotTable table{exponents_, {}};
  for (const RoundingPoint& point : points_) table.points.push_back(point.state());
  return table;
}

int CpuBackend::read_exponent(const Values& of) {
  return of.exponent.place < 0 ? 0 : exponents_[place(of.exponent.place)];
}

void CpuBackend::set_point(ShiftPoint point, const PointState& state) {
  points_[place(point.place)].restore(state);
}

std::unique_ptr<ProductOp> CpuBackend::product(const ProductCase& product) {
  return make_cpu_product(*this, product);
}

std::unique_ptr<PoolOp> CpuBackend::pool(const PoolCase& pool) {
  return make_cpu_pool(*this, pool);
}

void CpuBackend::round(
    ShiftPoint point, int sum_exponent, const Values& result,
    const std::function<SumsOutcome(const RoundingJob&, const BlockTensor&)>& body,
    const std::function<void()>& meanwhile) {
  const BlockTensor tensor = block(result);
  // Second guesses pay where batches follow one another: in training.
  const PassRule rule{step_.rule, step_.random, step_.cluster, step_.is_training ? &pool_ : nullptr,
                      settles_late() ? &late_maxima_ : nullptr};
  const int shift = points_[place(point.place)].round(
      rule, tensor, [&](const RoundingJob& job) { return body(job, tensor); }, meanwhile);
  set_exponent(result, sum_exponent + shift);
}

void CpuBackend::count_rounding(ShiftPoint point, std::int64_t saturated, std::int64_t elements) {
  RoundingPoint& own = points_[place(point.place)];
  PointState state = own.state();
  state.saturated = saturated;
  state.elements = elements;
  ++state.batches;
  own.restore(state);
}

void CpuBackend::bias_gradient(const Values& error, Sums& sums) {
  nibble::bias_gradient(block(error), step_.all_images, cpu_sums(sums).gradient);
}

void CpuBackend::loss(const LossCase& loss, const Values& answers, const Values& error) {
  const BlockTensor given = block(answers);
  if (const auto* squared = std::get_if<SquaredLoss>(&loss)) {
    const SquaredScale scale = squared_scale(given.exponent);
    round(squared->point, scale.exponent, error,
          [&](const RoundingJob& job, const BlockTensor& result) {
            return squared_error(given, squared->targets, scale, job, step_.first_image, result);
          });
    return;
  }
  const auto& entropy = std::get<CrossEntropyLoss>(loss);
  RandomKey random = step_.random;
  random.stream = entropy.stream;
  cross_entropy_error(given, entropy.labels, entropy.rule, random, step_.first_image, block(error));
  set_exponent(error, kCrossEntropyExponent);
}

void CpuBackend::reduce(Sums& sums) {
  if (step_.cluster != nullptr) cpu_sums(sums).reduce(*step_.cluster, settles_late());
}

void CpuBackend::update(Weights& weights, Sums& sums) {
  auto& own = static_cast<CpuWeights&>(weights);
  if (cpu_sums(sums).is_late()) {
    late_updates_.emplace_back(&own, &cpu_sums(sums));
  } else {
    own.update(cpu_sums(sums).gradient, step_.update, step_.random);
  }
}

// Ranks have met in the backward pass only where they had to.
void CpuBackend::end() {
  if (!settles_late()) return;
  std::vector<std::int64_t> largest;
  for (const LateMaximum& each : late_maxima_) largest.push_back(each.largest);
  step_.cluster->max(largest);
  for (std::size_t i = 0; i < largest.size(); ++i)
    late_maxima_[i].point->learn(static_cast<std::uint64_t>(largest[i]));
  late_maxima_.clear();
  step_.cluster->finish_sums();
  for (const auto& [weights, sums] : late_updates_) {
    weights->update(sums->gradient, step_.update, step_.random);
    sums->settle();
  }
  late_updates_.clear();
}

}  // namespace nibble::inline backend
