// SPDX-License-Identifier: Apache-2.0
// Weights and gradients in the memory of a GPU.
#include "backend/cuda/cuda_memory.h"

#include <algorithm>
#include <utility>

#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/meet_ranks.h"
#include "backend/cuda/normalization.h"

namespace nibble::inline backend {
namespace {

std::uint32_t filled_up(std::int64_t channels) {
  return static_cast<std::uint32_t>((channels + cuda::kChunk - 1) / cuda::kChunk * cuda::kChunk);
}

Divisor divisor_of(std::int64_t number) {
  return Divisor::of(static_cast<std::uint32_t>(number));
}

void clear_memory(cuda::DeviceQueue& queue, const cuda::DeviceBuffer& memory) {
  cuda::queue(queue, cuda::ZeroJob{memory.as<void>(), memory.size() / 4});
}

}  // namespace

CudaWeights::CudaWeights(CudaBackend& backend, const WeightsCase& weights)
    : backend_(backend),
      case_(weights),
      exponent_(backend.lasting(sizeof(std::int32_t))),
      mantissas_(backend.lasting(size())),
      record_(backend.lasting(sizeof(cuda::DeviceUpdate))) {
  clear_memory(backend.queue(), mantissas_);
  clear_memory(backend.queue(), record_);
  put_exponent(weights.exponent);
}

void CudaWeights::put_exponent(std::int32_t exponent) {
  backend_.queue().flush();
  backend_.queue().put(exponent_.as<void>(), &exponent, sizeof exponent);
}

int CudaWeights::exponent() const {
  std::int32_t exponent = 0;
  backend_.queue().get(&exponent, exponent_.as<void>(), sizeof exponent);
  return exponent;
}

void CudaWeights::write(const WeightsState& state) {
  cuda::DeviceQueue& queue = backend_.queue();
  queue.flush();
  queue.put(mantissas_.as<void>(), state.mantissas.data(), size());
  put_exponent(state.exponent);
  const auto put_words = [&](const std::vector<std::int32_t>& words, cuda::DeviceBuffer& to) {
    if (words.empty()) return to.release();
    if (to.is_empty()) to = backend_.lasting(words.size() * sizeof(std::int32_t));
    queue.put(to.as<void>(), words.data(), words.size() * sizeof(std::int32_t));
  };
  put_words(state.fine, fine_);
  put_words(state.momentum, momentum_);
  has_sum_shifts_ = false;
  if (packed_shape_.taps > 0) pack();
}

WeightsState CudaWeights::read() const {
  WeightsState state{.mantissas = Tensor(DType::i8, case_.shape), .exponent = exponent()};
  read_mantissas(state.mantissas.as<std::int8_t>());
  const auto get_words = [&](const cuda::DeviceBuffer& from, std::vector<std::int32_t>& words) {
    if (from.is_empty()) return;
    words.resize(size());
    backend_.queue().get(words.data(), from.as<void>(), size() * sizeof(std::int32_t));
  };
  get_words(fine_, state.fine);
  get_words(momentum_, state.momentum);
  return state;
}

void CudaWeights::read_mantissas(std::span<std::int8_t> mantissas) const {
  backend_.queue().get(mantissas.data(), mantissas_.as<void>(), size());
}

UpdateRecord CudaWeights::last_update() const {
  cuda::DeviceUpdate record;
  backend_.queue().get(&record, record_.as<void>(), sizeof record);
  return {.shift = record.shift, .moved = record.moved};
}

CudaWeights::Packed CudaWeights::packed(const WeightShape& shape, const cuda::GroupSpans& spans) {
  if (packed_shape_.taps == 0) {
    packed_shape_ = shape;
    shape.groups > 1 ? make_packed(spans) : make_packed();
    pack();
  }
  return {ahead(), back_.as<std::int8_t>()};
}

void CudaWeights::make_packed() {
  const WeightShape& shape = packed_shape_;
  const std::uint32_t pitch = filled_up(shape.in);
  const auto taps = static_cast<std::size_t>(shape.taps);
  if (shape.in != pitch) {
    ahead_ = backend_.lasting(static_cast<std::size_t>(shape.out) * taps * pitch);
    clear_memory(backend_.queue(), ahead_);
    filled_ = {ahead_.as<std::int8_t>(), divisor_of(shape.in), pitch, nullptr};
  }
  back_ = backend_.lasting(static_cast<std::size_t>(shape.in) * taps * filled_up(shape.out));
}

// Between groups there are zeros, which stay.
void CudaWeights::make_packed(const cuda::GroupSpans& spans) {
  const WeightShape& shape = packed_shape_;
  const auto pairs = [&](std::int64_t columns) {
    return static_cast<std::size_t>(columns * shape.taps);
  };
  ahead_ = backend_.lasting(pairs(shape.out) * spans.ahead.width);
  back_ = backend_.lasting(pairs(shape.all_in()) * spans.back.width);
  clear_memory(backend_.queue(), ahead_);
  clear_memory(backend_.queue(), back_);
  const cuda::GroupedFilters grouped{.ahead = ahead_.as<std::int8_t>(),
                                     .back = back_.as<std::int8_t>(),
                                     .in = divisor_of(shape.in),
                                     .taps = divisor_of(shape.taps),
                                     .ahead_span = spans.ahead,
                                     .back_span = spans.back};
  grouped_ = backend_.lasting(sizeof grouped);
  backend_.queue().put(grouped_.as<void>(), &grouped, sizeof grouped);
  filled_ = {ahead_.as<std::int8_t>(), grouped.in, spans.ahead.width,
             grouped_.as<cuda::GroupedFilters>()};
}

const std::int8_t* CudaWeights::sum_shifts(std::size_t outputs) {
  if (sum_shifts_.is_empty()) {
    sum_shifts_ = backend_.lasting(filled_up(static_cast<std::int64_t>(outputs)));
    clear_memory(backend_.queue(), sum_shifts_);
  }
  if (!has_sum_shifts_) {
    cuda::queue(backend_.queue(),
                cuda::SumShiftsJob{.mantissas = mantissas(),
                                   .shifts = sum_shifts_.as<std::int8_t>(),
                                   .outputs = static_cast<std::uint32_t>(outputs),
                                   .depth = static_cast<std::uint32_t>(size() / outputs)});
    has_sum_shifts_ = true;
  }
  return sum_shifts_.as<std::int8_t>();
}

void CudaWeights::pack() {
  if (filled_.to != nullptr)
    cuda::queue(backend_.queue(), cuda::FillUpJob{mantissas(), filled_, size()});
  if (const auto back = packing_back()) cuda::queue(backend_.queue(), {&*back, 1});
}

// Outputs side by side: a weight is turned as a batch of `out` pictures of its taps would be.
std::optional<cuda::TurnJob> CudaWeights::packing_back() const {
  const WeightShape& shape = packed_shape_;
  if (shape.taps == 0 || shape.groups > 1) return std::nullopt;
  const cuda::Rows rows{.data = const_cast<std::int8_t*>(ahead()),
                        .exponent = nullptr,
                        .rows = static_cast<std::uint32_t>(shape.out * shape.taps),
                        .channels = static_cast<std::uint32_t>(shape.in),
                        .chunks = divisor_of(filled_up(shape.in) / cuda::kChunk),
                        .pixels = divisor_of(shape.taps)};
  return cuda::TurnJob{.from = rows,
                       .to = back_.as<std::int8_t>(),
                       .images = static_cast<std::uint32_t>(shape.out),
                       .pitch = filled_up(shape.out),
                       .channel_step = rows.pixels.divisor,
                       .pixel_step = 1,
                       .channel_tiles = {},
                       .pixel_blocks = {}};
}

cuda::UpdateJob CudaWeights::update_job() const {
  return {.sums = nullptr,
          .sum_exponent = {},
          .mantissas = mantissas_.as<std::int8_t>(),
          .exponent = exponent_.as<std::int32_t>(),
          .fine = fine_.as<std::int32_t>(),
          .momentum = momentum_.as<std::int32_t>(),
          .record = record_.as<cuda::DeviceUpdate>(),
          .step = backend_.device_step(),
          .filled = filled_,
          .elements = static_cast<std::uint32_t>(size()),
          .stream = case_.stream,
          .rounding = case_.rounding,
          .norm = case_.norm,
          .is_bias = case_.is_bias,
          .unused = 0,
          .planes = 0};
}

CudaTotals::CudaTotals(CudaBackend& backend, std::size_t size)
    : backend_(backend), size_(size), memory_(backend.lasting(size * sizeof(std::int32_t))) {
  clear_memory(backend.queue(), memory_);
}

void CudaTotals::add(const Weights& weights) {
  cuda::queue(backend_.queue(), cuda::TotalsJob{cuda_weights(weights).mantissas(),
                                                memory_.as<std::int32_t>(), size_});
}

void CudaTotals::read(std::span<std::int32_t> totals) const {
  backend_.queue().get(totals.data(), memory_.as<void>(), totals.size_bytes());
}

void CudaTotals::write(std::span<const std::int32_t> totals) {
  backend_.queue().flush();
  backend_.queue().put(memory_.as<void>(), totals.data(), totals.size_bytes());
}

CudaSums::CudaSums(CudaBackend& backend, std::size_t size) : backend_(backend), size_(size) {}

void CudaSums::reserve() {
  backend_.await_zeros();
  const std::size_t bytes = form_.words(size_) * sizeof(std::uint32_t);
  if (bytes <= memory_.size()) return;
  memory_ = backend_.lasting(bytes);
  clean_words_ = 0;
}

void CudaSums::expect(std::vector<Slot> factors) {
  form_ = {};
  reserve();
  factors_ = std::move(factors);
  exponent_ = 0;
  clean_words_ = 0;
}

void CudaSums::clear(const cuda::SumForm& form, std::vector<Slot> factors) {
  form_ = form;
  reserve();
  factors_ = std::move(factors);
  exponent_ = 0;
  const std::uint64_t words = form.words(size_);
  const std::uint64_t clean = std::exchange(clean_words_, 0);
  if (words > clean) cuda::queue(backend_.queue(), cuda::ZeroJob{data(), words});
  most_words_ = std::max(most_words_, words);
  backend_.cleared(*this);
}

CudaSums::~CudaSums() {
  backend_.forget(*this);
}

cuda::SumExponent CudaSums::exponent() const {
  cuda::SumExponent exponent{.factors = {}, .added = exponent_};
  for (std::size_t i = 0; i < factors_.size(); ++i)
    exponent.factors[i] = backend_.exponent_at(factors_[i]);
  return exponent;
}

int CudaSums::read(std::span<std::int64_t> sums) {
  if (memory_.is_empty()) {
    std::ranges::fill(sums, 0);
    return exponent_;
  }
  if (is_wide()) {
    backend_.queue().get(sums.data(), data(), sums.size_bytes());
  } else {
    std::vector<std::int32_t> planes(form_.words(size_));
    backend_.queue().get(planes.data(), data(), planes.size() * sizeof(std::int32_t));
    const std::size_t plane = cuda::SumForm::plane_words(size_);
    std::ranges::fill(sums, 0);
    for (std::size_t p = 0; p < form_.planes; ++p) {
      for (std::size_t i = 0; i < size_; ++i) sums[i] += planes[p * plane + i];
    }
  }
  int exponent = exponent_;
  if (factors_.empty()) return exponent;
  const SlotTable slots = backend_.read_slots();
  for (const Slot each : factors_)
    exponent += slots.exponents[static_cast<std::size_t>(each.place)];
  return exponent;
}

void CudaSums::write(std::span<const std::int64_t> sums, int exponent) {
  put(sums.data(), true, exponent);
}

void CudaSums::put(const void* sums, bool is_wide, int exponent) {
  backend_.queue().flush();
  form_ = {.planes = is_wide ? 0u : 1u};
  reserve();
  clean_words_ = 0;
  factors_.clear();
  exponent_ = exponent;
  backend_.queue().put(data(), sums,
                       size_ * (is_wide ? sizeof(std::int64_t) : sizeof(std::int32_t)));
}

void CudaSums::reduce(Communicator& cluster) {
  const auto add_up = [&](auto* sums) {
    const auto join = [&](auto all) { cluster.sum(all); };
    cuda::meet_ranks(backend_.queue(), cluster, sums, size_, join);
  };
  if (is_wide()) return add_up(static_cast<std::int64_t*>(data()));
  add_up(static_cast<std::int32_t*>(data()));
}

}  // namespace nibble::inline backend
