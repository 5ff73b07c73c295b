// SPDX-License-Identifier: Apache-2.0
// Backends by name.
#include "backend/backend.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "backend/pretend/pretend_backend.h"
#include "backend/reference/reference_backend.h"
#include "backend/registry.h"
#include "core/device_name.h"
#include "core/host_ranges.h"
#include "nibble/core/error.h"

namespace nibble::inline backend {
namespace {

using Factories = std::map<std::string, BackendFactory, std::less<>>;

Factories& factories() {
  static Factories all{
      {"cpu",
       [](auto) -> std::unique_ptr<IntegerBackend> { return std::make_unique<CpuBackend>(); }},
      {"reference",
       [](auto) -> std::unique_ptr<IntegerBackend> {
         return std::make_unique<ReferenceBackend>();
       }},
      {"pretend", [](auto) { return make_pretend_backend(pretend_options()); }}};
  return all;
}

std::unique_ptr<IntegerBackend> backend_of(const DeviceName& device) {
  if (!device.both.empty())
    return make_check_backend(backend_of(device.both[0]), backend_of(device.both[1]));
  const auto found = factories().find(device.kind);
  if (found == factories().end())
    throw Error("device", device.kind, "a build without integer training on it", "cpu",
                ErrorKind::device);
  return found->second(device.to_string());
}

}  // namespace

void IntegerBackend::enter(std::string_view node, TrainPass pass) {
  if (trace_ != nullptr || has_host_range_listener()) {
    const std::string label = std::string(node) + " " + std::string(name_of(pass));
    if (trace_ != nullptr) trace_->enter(label);
    enter_host_range(label);
  }
  entered(node, pass);
}

std::unique_ptr<WeightTotals> IntegerBackend::totals(const WeightsCase& weights) {
  class HostTotals final : public WeightTotals {
   public:
    explicit HostTotals(std::size_t size) : totals_(size), mantissas_(size) {}
    void add(const Weights& weights) override {
      weights.read_mantissas(mantissas_);
      for (std::size_t i = 0; i < totals_.size(); ++i) totals_[i] += mantissas_[i];
    }
    void read(std::span<std::int32_t> totals) const override {
      std::ranges::copy(totals_, totals.begin());
    }
    void write(std::span<const std::int32_t> totals) override {
      std::ranges::copy(totals, totals_.begin());
    }

   private:
    std::vector<std::int32_t> totals_;
    std::vector<std::int8_t> mantissas_;
  };
  return std::make_unique<HostTotals>(static_cast<std::size_t>(weights.shape.elements()));
}

void IntegerBackend::load_images(const ImageSelection& images, std::span<const std::int8_t> tables,
                                 int exponent, const Values& to) {
  const Shape& all = images.images.shape();
  Tensor batch(DType::u8,
               {static_cast<std::int64_t>(images.indices.size()), all[1], all[2], all[3]});
  gather_images(images.images, images.indices, images.augment, images.key, batch.view());
  load_bytes(batch.as<std::uint8_t>(), tables, exponent, to);
}

std::unique_ptr<StoredLater> IntegerBackend::store_later(const Values& from) {
  class Stored final : public StoredLater {
   public:
    Stored(IntegerBackend& backend, const Values& values)
        : mantissas_(static_cast<std::size_t>(values.images * values.picture.elements())) {
      backend.store(values, mantissas_);
      exponent_ = backend.read_slots().exponent(values);
    }
    int get(std::span<std::int8_t> mantissas) override {
      std::ranges::copy(mantissas_, mantissas.begin());
      return exponent_;
    }

   private:
    std::vector<std::int8_t> mantissas_;
    int exponent_;
  };
  return std::make_unique<Stored>(*this, from);
}

int IntegerBackend::read_exponent(const Values& of) {
  return of.exponent.place < 0 ? 0 : read_slots().exponent(of);
}

std::unique_ptr<Departure> IntegerBackend::leave(const Values& from) {
  auto parcel = std::make_unique<StoredParcel>(
      static_cast<std::size_t>(from.images * from.picture.elements()));
  store(from, numbers_in<std::int8_t>(parcel->room()));
  parcel->send(read_exponent(from));
  return parcel;
}

std::unique_ptr<Landing> IntegerBackend::land(std::size_t bytes) {
  return std::make_unique<StoredParcel>(bytes);
}

void IntegerBackend::arrive(Landing& landing, const Values& to) {
  auto& parcel = static_cast<StoredParcel&>(landing);
  load(numbers_in<std::int8_t>(parcel.bytes()), parcel.exponent(), to);
}

std::unique_ptr<Departure> Weights::leave(bool with_fine) const {
  const WeightsState state = read();
  const std::size_t size = state.mantissas.bytes();
  const std::size_t fine = with_fine ? state.fine.size() * sizeof(std::int32_t) : 0;
  std::vector<std::byte> bytes(size + fine);
  std::copy_n(state.mantissas.data(), size, bytes.begin());
  std::ranges::copy(std::as_bytes(std::span(state.fine)).first(fine),
                    bytes.begin() + static_cast<std::ptrdiff_t>(size));
  return std::make_unique<StoredParcel>(std::move(bytes), state.exponent);
}

std::unique_ptr<Departure> Sums::leave(std::size_t size, bool fits_32) {
  std::vector<std::int64_t> sums(size);
  const int exponent = read(sums);
  std::vector<std::byte> bytes(size * (fits_32 ? sizeof(std::int32_t) : sizeof(std::int64_t)));
  if (fits_32) {
    std::ranges::transform(sums, numbers_in<std::int32_t>(std::span(bytes)).begin(),
                           [](std::int64_t sum) { return static_cast<std::int32_t>(sum); });
  } else {
    std::memcpy(bytes.data(), sums.data(), bytes.size());
  }
  return std::make_unique<StoredParcel>(std::move(bytes), exponent);
}

void Sums::arrive(Departure& departure, std::size_t size) {
  const std::span<const std::byte> bytes = departure.bytes();
  if (bytes.size() == size * sizeof(std::int64_t))
    return write(numbers_in<std::int64_t>(bytes), departure.exponent());
  const auto narrow = numbers_in<std::int32_t>(bytes);
  write(std::vector<std::int64_t>(narrow.begin(), narrow.end()), departure.exponent());
}

void register_backend(const std::string& kind, BackendFactory factory) {
  add_device_kind(kind);
  factories()[kind] = factory;
}

std::string_view name_of(TrainPass pass) {
  switch (pass) {
    case TrainPass::forward:
      return "forward";
    case TrainPass::input_error:
      return "input error";
    case TrainPass::weight_gradient:
      return "weight gradient";
    case TrainPass::update:
      break;
  }
  return "update";
}

std::string_view name_of(WireKind kind) {
  switch (kind) {
    case WireKind::pinned:
      return "pinned";
    case WireKind::pageable:
      return "pageable";
    case WireKind::mapped:
      break;
  }
  return "mapped";
}

std::unique_ptr<IntegerBackend> make_backend(std::string_view name) {
  return backend_of(parse_device(name));
}

}  // namespace nibble::inline backend
