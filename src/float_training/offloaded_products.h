// SPDX-License-Identifier: Apache-2.0
// The products of a layer that a device computes, as the host sees them: what the device lacks is
// sent, once a version, and what crosses is counted.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "float_training/float_placement.h"
#include "float_training/product_passes.h"

namespace nibble::inline float_training {

class OffloadedProducts {
 public:
  // The place must outlive it.
  OffloadedProducts(const LayerSettings& settings, const ProductPlace& place);

  bool has_forward() const { return place_.has_forward; }
  void forward(const Pass& pass, const float* input, const ProductWeights& weights, float* output);

  // Asks for the device's part of what is wanted, and returns the rest. What was asked for is there
  // when it is finished: the input's error behind the host's part, gradients behind all layers.
  ProductsBack ask_back(const Pass& pass, const ProductsBack& wanted);
  void finish_input_error();
  bool finish_gradients();  // whether any were asked for

 private:
  // Where an arrival goes, one span behind the other.
  struct Expected {
    const char* what;
    DeviceProducts::Arrival arrival;
    std::span<float> first;
    std::span<float> second = {};
  };
  using Put = void (DeviceProducts::*)(WireParcel);

  void send(const char* what, std::span<const float> values, Put put,
            const std::optional<RandomKey>& draws = std::nullopt);
  void send_new(const char* what, const LayerParameter& parameter, Put put,
                std::optional<std::uint64_t>& version);
  void send_input(const Pass& pass, const float* input);
  void receive(Expected expected) const;

  const ProductPlace& place_;
  std::unique_ptr<DeviceProducts> device_;
  std::string name_;
  std::size_t node_;
  std::int64_t input_size_;  // of one example
  std::int64_t output_size_;
  std::int64_t channels_;
  std::optional<std::uint64_t> weight_version_;  // of what the device has
  std::optional<std::uint64_t> bias_version_;
  std::optional<Expected> input_error_;
  std::optional<Expected> gradients_;
};

}  // namespace nibble::inline float_training
