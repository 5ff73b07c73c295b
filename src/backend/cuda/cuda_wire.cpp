// SPDX-License-Identifier: Apache-2.0
// What leaves a GPU for another backend, and what lands on it.
#include <algorithm>
#include <cstring>
#include <vector>

#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/cuda_memory.h"

namespace nibble::inline backend {
namespace {

std::size_t filled_up(std::size_t bytes) {
  return (bytes + cuda::kChunk - 1) / cuda::kChunk * cuda::kChunk;
}

// Bytes, filled up to chunks, and behind them an exponent.
std::size_t with_exponent(std::size_t bytes) {
  return filled_up(bytes) + sizeof(std::int32_t);
}

class CudaDeparture final : public Departure {
 public:
  CudaDeparture(std::unique_ptr<cuda::DownParcel> parcel, std::size_t bytes, bool has_exponent)
      : parcel_(std::move(parcel)), bytes_(bytes), has_exponent_(has_exponent) {}

  std::span<const std::byte> bytes() override {
    return {static_cast<const std::byte*>(parcel_->wait()), bytes_};
  }
  int exponent() override {
    std::int32_t exponent = 0;
    const auto* end = static_cast<const std::byte*>(parcel_->wait()) + filled_up(bytes_);
    if (has_exponent_) std::memcpy(&exponent, end, sizeof exponent);
    return exponent;
  }

 private:
  std::unique_ptr<cuda::DownParcel> parcel_;
  std::size_t bytes_;
  bool has_exponent_;
};

// Sums in the width that was asked for, which need not be that of the GPU.
template <class From, class To>
class WidenedSums final : public Departure {
 public:
  explicit WidenedSums(std::unique_ptr<Departure> sums) : sums_(std::move(sums)) {}

  std::span<const std::byte> bytes() override {
    if (numbers_.empty()) {
      for (const From each : numbers_in<From>(sums_->bytes()))
        numbers_.push_back(static_cast<To>(each));
    }
    return std::as_bytes(std::span(numbers_));
  }
  int exponent() override { return sums_->exponent(); }

 private:
  std::unique_ptr<Departure> sums_;
  std::vector<To> numbers_;
};

class CudaLanding final : public Landing {
 public:
  CudaLanding(cuda::DeviceLanes& lanes, std::size_t bytes)
      : lanes_(lanes), place_(lanes.next(with_exponent(bytes))), bytes_(bytes) {}
  ~CudaLanding() override { place_.state = cuda::UpPlace::State::in_use; }

  std::span<std::byte> room() override { return lanes_.room(place_).first(bytes_); }
  void send(int exponent) override {
    const std::int32_t sent = exponent;
    std::memcpy(lanes_.room(place_).data() + filled_up(bytes_), &sent, sizeof sent);
    lanes_.send(place_);
  }
  void settle() override { lanes_.settle(place_); }

  const std::uint8_t* use() { return static_cast<const std::uint8_t*>(lanes_.use(place_)); }
  std::size_t exponent_offset() const { return filled_up(bytes_); }

 private:
  cuda::DeviceLanes& lanes_;
  cuda::UpPlace& place_;
  std::size_t bytes_;
};

}  // namespace

cuda::DeviceLanes& CudaBackend::lanes() {
  if (!lanes_) lanes_.emplace(queue());
  return *lanes_;
}

WireKind CudaBackend::wire() const {
  return lanes_ ? lanes_->kind() : cuda::wire_of(queue_.place().device);
}

bool CudaBackend::use_wire(WireKind kind) {
  if (lanes().kind() != kind) lanes().set_kind(kind);
  return true;
}

std::unique_ptr<Departure> CudaBackend::leave(const Values& from) {
  const auto bytes = static_cast<std::size_t>(from.images * from.picture.elements());
  auto parcel = std::make_unique<cuda::DownParcel>(lanes(), with_exponent(bytes));
  auto* to = static_cast<std::int8_t*>(parcel->data());
  cuda::queue(queue(),
              cuda::PackJob{.from = rows(from),
                            .to = to,
                            .exponent = reinterpret_cast<std::int32_t*>(to + filled_up(bytes))});
  parcel->send();
  return std::make_unique<CudaDeparture>(std::move(parcel), bytes, from.exponent.place >= 0);
}

std::unique_ptr<cuda::DownParcel> CudaBackend::leave(const void* data, std::size_t bytes,
                                                     const cuda::SumExponent& exponent) {
  queue().flush();  // whoever makes them comes first, on whatever stream
  auto parcel = std::make_unique<cuda::DownParcel>(lanes(), with_exponent(bytes));
  auto* to = static_cast<std::int8_t*>(parcel->data());
  cuda::queue(queue(), cuda::PackChunksJob{
                           .from = static_cast<const std::int8_t*>(data),
                           .to = to,
                           .exponents = {exponent.factors[0], exponent.factors[1]},
                           .exponent = reinterpret_cast<std::int32_t*>(to + filled_up(bytes)),
                           .chunks = static_cast<std::uint32_t>(filled_up(bytes) / cuda::kChunk),
                           .added = static_cast<std::int32_t>(exponent.added)});
  parcel->send();
  return parcel;
}

std::unique_ptr<Landing> CudaBackend::land(std::size_t bytes) {
  return std::make_unique<CudaLanding>(lanes(), bytes);
}

void CudaBackend::arrive(Landing& landing, const Values& to) {
  auto& own = static_cast<CudaLanding&>(landing);
  const std::uint8_t* from = own.use();
  cuda::queue(queue(), cuda::SpreadJob{.from = from,
                                       .tables = nullptr,
                                       .sent_exponent = reinterpret_cast<const std::int32_t*>(
                                           from + own.exponent_offset()),
                                       .to = rows(to),
                                       .table_channels = Divisor::of(1),
                                       .exponent = 0});
}

// The fine numbers of a norm's part lie apart: as rare as they are, the host puts them together.
std::unique_ptr<Departure> CudaWeights::leave(bool with_fine) const {
  if (with_fine) return Weights::leave(with_fine);
  return std::make_unique<CudaDeparture>(
      backend_.leave(mantissas_.as<void>(), size(),
                     {.factors = {exponent_.as<std::int32_t>(), nullptr}, .added = 0}),
      size(), true);
}

void CudaSums::arrive(Departure& departure, std::size_t size) {
  const std::span<const std::byte> bytes = departure.bytes();
  put(bytes.data(), bytes.size() == size * sizeof(std::int64_t), departure.exponent());
}

// As they lie, in 64 or in 32 bits. Sums in several planes, which are still to be added up, leave
// by read().
std::unique_ptr<Departure> CudaSums::leave(std::size_t size, bool fits_32) {
  if (form_.planes > 1) return Sums::leave(size, fits_32);
  const std::size_t bytes = size * (is_wide() ? sizeof(std::int64_t) : sizeof(std::int32_t));
  auto sums =
      std::make_unique<CudaDeparture>(backend_.leave(data(), bytes, exponent()), bytes, true);
  if (is_wide() && fits_32)
    return std::make_unique<WidenedSums<std::int64_t, std::int32_t>>(std::move(sums));
  if (!is_wide() && !fits_32)
    return std::make_unique<WidenedSums<std::int32_t, std::int64_t>>(std::move(sums));
  return sums;
}

}  // namespace nibble::inline backend
