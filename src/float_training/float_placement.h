// SPDX-License-Identifier: Apache-2.0
// Which products of float training a device computes. Convolutions and linear layers have three
// passes that can be placed; everything else is the CPU's.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>

#include "core/host_trace.h"
#include "float_training/float_device.h"
#include "nibble/float_training/recipe.h"

namespace nibble::inline float_training {

// What has crossed so far.
struct WireTraffic {
  std::int64_t bytes_sent = 0;     // to the device
  std::int64_t bytes_fetched = 0;  // from it
  std::int64_t parcels = 0;        // both ways
};

// Of a layer with at least one pass on the device.
struct ProductPlace {
  FloatDevice& device;
  WireFormat wire;
  ProductType compute;
  WireTraffic& traffic;
  const HostTrace& host;
  bool has_forward = false;
  bool has_input_error = false;
  bool has_weight_gradient = false;
};

class FloatPlacement {
 public:
  // By the recipe's rules, of which the last one that fits decides. Throws where they name what is
  // not there, or what a device cannot compute.
  explicit FloatPlacement(const Recipe& recipe);
  FloatPlacement(const FloatPlacement&) = delete;  // places point into it
  FloatPlacement& operator=(const FloatPlacement&) = delete;

  const ProductPlace* of(std::size_t node) const;  // null: all on the CPU
  bool has_device() const { return device_ != nullptr; }
  const WireTraffic& traffic() const { return traffic_; }
  // Tells the trace of copies, waits and of the device; null: no longer.
  void set_trace(StepTrace* trace);

 private:
  std::unique_ptr<FloatDevice> device_;
  WireTraffic traffic_;
  HostTrace host_;
  std::map<std::size_t, ProductPlace> places_;
};

}  // namespace nibble::inline float_training
