// SPDX-License-Identifier: Apache-2.0
// A weight in training.
#include "integer_step/trained_tensor.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace nibble::inline integer_step {

TrainedTensor::TrainedTensor(WeightsCase weights, const LayerPlace& place)
    : case_(std::move(weights)), place_(place) {
  add_copy(*place.update);
  add_copy(*place.forward);
  add_copy(*place.input_error);
  gradient_ = place.weight_gradient->sums(case_);
  if (place.weight_gradient != place.update) moved_gradient_ = place.update->sums(case_);
}

void TrainedTensor::add_copy(IntegerBackend& backend) {
  const bool is_there =
      std::ranges::any_of(copies_, [&](const Copy& copy) { return copy.backend == &backend; });
  if (!is_there) copies_.push_back({&backend, backend.weights(case_)});
}

void TrainedTensor::write(const WeightsState& state) {
  for (const Copy& copy : copies_) copy.weights->write(state);
}

void TrainedTensor::write_mantissas(std::span<const std::int8_t> mantissas, int exponent) {
  WeightsState state = read();
  std::ranges::copy(mantissas, state.mantissas.as<std::int8_t>().begin());
  state.exponent = exponent;
  write(state);
}

std::vector<std::int8_t> TrainedTensor::mantissas() const {
  std::vector<std::int8_t> mantissas(size());
  master().read_mantissas(mantissas);
  return mantissas;
}

const Weights& TrainedTensor::on(const IntegerBackend& backend) const {
  return *std::ranges::find(copies_, &backend, &Copy::backend)->weights;
}

std::int64_t TrainedTensor::wire_bytes() const {
  const std::size_t each = norm() == NormPart::none ? 1 : 1 + sizeof(std::int32_t);
  return static_cast<std::int64_t>(size() * each) + Wire::kExponentBytes;
}

std::int64_t TrainedTensor::gradient_bytes(std::int64_t all_images) const {
  const std::size_t each =
      case_.sums_fit_32(all_images) ? sizeof(std::int32_t) : sizeof(std::int64_t);
  return static_cast<std::int64_t>(size() * each) + Wire::kExponentBytes;
}

void TrainedTensor::leave_for_update(std::int64_t all_images) {
  if (!moved_gradient_) return;
  gradient_flight_ = place_.wire->depart(
      {name() + ".gradient", place_.weight_gradient, place_.update, gradient_bytes(all_images)},
      [&](Flight& flight) {
        flight.departure = gradient_->leave(size(), case_.sums_fit_32(all_images));
      });
}

void TrainedTensor::update() {
  if (!moved_gradient_) return place_.update->update(master(), *gradient_);
  place_.wire->arrive(*gradient_flight_,
                      [&] { moved_gradient_->arrive(*gradient_flight_->departure, size()); });
  gradient_flight_.reset();
  place_.update->update(master(), *moved_gradient_);
}

// Who only computes with a weight needs no more than its mantissas; of a batch norm's numbers, the
// fine ones are what counts.
void TrainedTensor::send() {
  for (std::size_t i = 1; i < copies_.size(); ++i) {
    flights_.push_back(place_.wire->depart(
        {name(), copies_.front().backend, copies_[i].backend, wire_bytes()},
        [&](Flight& flight) { flight.departure = master().leave(norm() != NormPart::none); }));
  }
}

void TrainedTensor::arrive() {
  for (std::size_t i = 0; i < flights_.size(); ++i) {
    place_.wire->arrive(flights_[i], [&] {
      const std::span<const std::byte> bytes = flights_[i].departure->bytes();
      WeightsState state{.mantissas = Tensor(DType::i8, shape()),
                         .exponent = flights_[i].departure->exponent()};
      std::memcpy(state.mantissas.data(), bytes.data(), size());
      if (norm() != NormPart::none) {
        state.fine.resize(size());
        std::memcpy(state.fine.data(), bytes.data() + size(), size() * sizeof(std::int32_t));
      }
      copies_[i + 1].weights->write(state);
    });
  }
  flights_.clear();
}

}  // namespace nibble::inline integer_step
