// SPDX-License-Identifier: Apache-2.0
// Sends, asks and waits.
#include "float_training/offloaded_products.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "float_training/streams.h"

namespace nibble::inline float_training {
namespace {

// Errors that leave the host and errors that come back have draws of their own.
RandomKey wire_draws(const Pass& pass, std::size_t node, std::size_t way) {
  return {pass.random.seed, stream_of(kWireStreams, 2 * node + way), pass.random.step};
}

std::span<const float> tensor_of(const float* values, const Pass& pass, std::int64_t size) {
  return {values, static_cast<std::size_t>(pass.slices.images * size)};
}
std::span<float> tensor_of(float* values, const Pass& pass, std::int64_t size) {
  return {values, static_cast<std::size_t>(pass.slices.images * size)};
}

}  // namespace

OffloadedProducts::OffloadedProducts(const LayerSettings& settings, const ProductPlace& place)
    : place_(place),
      device_(place.device.products(settings, place.compute)),
      name_(settings.node.name),
      node_(settings.index),
      input_size_(settings.inputs[0].elements()),
      output_size_(settings.output.elements()),
      channels_(settings.output[settings.output.rank() - 1]) {}

void OffloadedProducts::send(const char* what, std::span<const float> values, Put put,
                             const std::optional<RandomKey>& draws) {
  place_.host.within("send " + name_ + what, [&] {
    WireParcel parcel = pack(values, place_.wire, draws);
    place_.traffic.bytes_sent += parcel.bytes();
    ++place_.traffic.parcels;
    (*device_.*put)(std::move(parcel));
  });
}

void OffloadedProducts::send_new(const char* what, const LayerParameter& parameter, Put put,
                                 std::optional<std::uint64_t>& version) {
  if (version == parameter.version) return;
  send(what, parameter.value.as<float>(), put);
  version = parameter.version;
}

void OffloadedProducts::send_input(const Pass& pass, const float* input) {
  send(".input", tensor_of(input, pass, input_size_), &DeviceProducts::put_input);
}

void OffloadedProducts::receive(Expected expected) const {
  WireParcel parcel;
  place_.host.within("wait for " + name_ + expected.what, [&] { parcel = expected.arrival.get(); });
  place_.traffic.bytes_fetched += parcel.bytes();
  ++place_.traffic.parcels;
  place_.host.within("bring in " + name_ + expected.what, [&] {
    if (expected.second.empty()) return unpack(parcel, expected.first);
    std::vector<float> both(expected.first.size() + expected.second.size());
    unpack(parcel, both);
    std::copy_n(both.begin(), expected.first.size(), expected.first.begin());
    std::copy_n(both.end() - std::ssize(expected.second), expected.second.size(),
                expected.second.begin());
  });
}

void OffloadedProducts::forward(const Pass& pass, const float* input, const ProductWeights& weights,
                                float* output) {
  send_new(".weight", weights.weight, &DeviceProducts::put_weight, weight_version_);
  if (weights.bias != nullptr)
    send_new(".bias", *weights.bias, &DeviceProducts::put_bias, bias_version_);
  send_input(pass, input);
  receive({".value", device_->forward(pass.slices, place_.wire),
           tensor_of(output, pass, output_size_)});
}

ProductsBack OffloadedProducts::ask_back(const Pass& pass, const ProductsBack& wanted) {
  ProductsBack rest = wanted;
  const bool asks_error = place_.has_input_error && wanted.input_error != nullptr;
  if (!asks_error && !place_.has_weight_gradient) return rest;
  send(".error", tensor_of(wanted.error, pass, output_size_), &DeviceProducts::put_error,
       wire_draws(pass, node_, 0));
  if (asks_error) {  // first, for the layer below waits for it
    send_new(".weight", wanted.weight, &DeviceProducts::put_weight, weight_version_);
    input_error_ = Expected{
        ".input_error", device_->input_error(pass.slices, place_.wire, wire_draws(pass, node_, 1)),
        tensor_of(wanted.input_error, pass, input_size_)};
    rest.input_error = nullptr;
  }
  if (place_.has_weight_gradient) {
    if (!place_.has_forward) send_input(pass, wanted.input);
    const std::int64_t weights = wanted.weight.value.elements();
    const std::int64_t biases = wanted.bias_gradient != nullptr ? channels_ : 0;
    gradients_ = Expected{".gradients",
                          device_->weight_gradient(pass.slices, weights, biases),
                          {wanted.weight_gradient, static_cast<std::size_t>(weights)},
                          {wanted.bias_gradient, static_cast<std::size_t>(biases)}};
    rest.weight_gradient = rest.bias_gradient = nullptr;
  }
  return rest;
}

void OffloadedProducts::finish_input_error() {
  if (input_error_) receive(*std::exchange(input_error_, std::nullopt));
}

bool OffloadedProducts::finish_gradients() {
  if (!gradients_) return false;
  receive(*std::exchange(gradients_, std::nullopt));
  return true;
}

}  // namespace nibble::inline float_training
