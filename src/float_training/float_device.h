// SPDX-License-Identifier: Apache-2.0
// The seam of float training: an accelerator that computes products of layers. What it is given and
// what it gives crosses in parcels; packing and unpacking its side of them is its own work.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <string_view>

#include "core/step_trace.h"
#include "float_training/layer.h"
#include "float_training/wire_parcel.h"

namespace nibble::inline float_training {

// The products of one layer there. Everything is done in the order of the calls, while the host
// goes on; what comes back is waited for by whoever takes it out of its future.
class DeviceProducts {
 public:
  using Arrival = std::future<WireParcel>;

  virtual ~DeviceProducts() = default;

  // Stay there until others come.
  virtual void put_weight(WireParcel weight) = 0;
  virtual void put_bias(WireParcel bias) = 0;
  virtual void put_input(WireParcel input) = 0;
  virtual void put_error(WireParcel error) = 0;

  // Of what was put, with the same slices as on the CPU.
  virtual Arrival forward(const Slices& slices, WireFormat wire) = 0;
  virtual Arrival input_error(const Slices& slices, WireFormat wire, const RandomKey& draws) = 0;
  // So many weights' gradients and behind them the biases', in fp32.
  virtual Arrival weight_gradient(const Slices& slices, std::int64_t weights,
                                  std::int64_t biases) = 0;
};

class FloatDevice {
 public:
  virtual ~FloatDevice() = default;
  virtual std::string name() const = 0;
  virtual std::string identity() const { return name(); }  // as an IntegerBackend's
  virtual bool shares_host() const { return false; }       // computes on the host's processor
  virtual std::int64_t free_bytes() const { return 0; }    // that nobody has; 0: it does not say
  // The settings' node and shapes are used now, and not kept. Weights, inputs and errors that
  // arrive are rounded to `type`.
  virtual std::unique_ptr<DeviceProducts> products(const LayerSettings& settings,
                                                   ProductType type) = 0;
  // Tells the trace what runs when; waits, and tells whoever traced before. Null: no longer.
  virtual void set_trace(StepTrace* trace) = 0;
};

// Throws, with the names that there are, where it is none of them.
std::unique_ptr<FloatDevice> make_float_device(std::string_view name);

// A device that only some programs have: who links it registers it, and from there on its kind is a
// name wherever devices are named. Makes "KIND" or "KIND:N".
using FloatDeviceFactory = std::unique_ptr<FloatDevice> (*)(std::string_view name);
void register_float_device(const std::string& kind, FloatDeviceFactory factory);

// An accelerator made of the CPU: a thread of its own, copies as slow as NIBBLE_PRETEND says.
std::unique_ptr<FloatDevice> make_pretend_float_device();

}  // namespace nibble::inline float_training
