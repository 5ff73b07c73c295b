// SPDX-License-Identifier: Apache-2.0
// What the integer tape asks of a layer. A layer is the law: which operations make its value, its
// errors and its gradients; backends compute them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "integer_step/placement.h"
#include "integer_step/trained_tensor.h"
#include "nibble/graph/network.h"
#include "nibble/integer_step/settings.h"

namespace nibble::inline integer_step {

// Values without memory: not kept, or wanted by nobody. Each list lies on the backend of its pass.
struct IntegerBackward {
  const StepContext& step;
  std::span<const Values> inputs;        // as the gradient of weights needs them
  const Values& output;                  // as errors need it
  const Values& error;                   // may be destroyed
  const Values& gradient_error;          // the same, as gradients need it; none: frozen weights
  std::span<const Values> input_errors;  // to be written
};

// A shift point by its name, with its backend.
struct PlacedPoint {
  std::string name;
  IntegerBackend* backend = nullptr;
  ShiftPoint point;
};

class IntegerLayer {
 public:
  virtual ~IntegerLayer() = default;
  virtual void forward(const StepContext& step, std::span<const Values> inputs,
                       const Values& output) = 0;

  // Passes errors on by the weights as they are, and makes the gradients of weights.
  virtual void backward(const IntegerBackward& arguments) = 0;

  // How wide the value is.
  virtual ValueStorage value_storage() const { return ValueStorage::s8; }
  // The weight of a product whose value is its sums, for the batch norm that reads them.
  virtual const TrainedTensor* weight_of_sums() const { return nullptr; }

  virtual bool keeps_inputs() const { return false; }
  virtual bool keeps_output() const { return false; }
  virtual bool works_in_place() const { return false; }

  // Those that are trained, in the order of parameters_of(network).
  virtual std::vector<TrainedTensor*> parameters() { return {}; }
  // Their gradients are those of all ranks already.
  virtual bool makes_whole_gradients() const { return false; }
  // Of the last batch, where the layer has any.
  virtual std::optional<NormalizationRecord> statistics() const { return std::nullopt; }
  // A batch norm's, where what batches were like is kept.
  virtual NormalizationOp* keeper_of_statistics() const { return nullptr; }

  // The exponent of the sums that the value's point rounds, or of the value where nothing is
  // rounded, in evaluation.
  virtual int sum_exponent(std::span<const int> inputs) const { return inputs[0]; }

  // A batch norm with these statistics, from now on; what becomes of its sums, once it is frozen.
  virtual const FrozenLine* freeze(const NormalizationRecord&, int /*value_exponent*/) {
    return nullptr;
  }
  virtual void thaw() {}  // a batch norm, which then takes the statistics of its batches again
  // A product whose sums leave by the line of its norm under frozen shifts.
  virtual void leave_by(const FrozenLine* /*line*/) {}

  // Where values are rounded (one at most) and where errors are.
  virtual std::vector<PlacedPoint> value_points() const { return {}; }
  virtual std::vector<PlacedPoint> error_points() const { return {}; }
};

// Which stream of draws belongs to whom.
inline constexpr std::uint32_t kIntegerRoundingStreams = 0x50000000u;  // + node·8 + point
inline constexpr std::uint32_t kIntegerDropoutStreams = 0x60000000u;   // + node
inline constexpr std::uint32_t kIntegerInitialStreams = 0x70000000u;   // + place in parameters_of
inline constexpr std::uint32_t kIntegerLossStream = 0x80000000u;
inline constexpr std::uint32_t kIntegerUpdateStreams = 0x90000000u;  // + place in parameters_of

struct IntegerLayerSettings {
  const Node& node;
  std::size_t index;
  std::vector<Picture> inputs;
  Picture output;
  LayerPlace place;
  bool gives_sums = false;                 // a product that a batch norm alone reads
  bool is_rectified = false;               // a pool of values that a rectifier keeps for it alone
  bool is_pooled = false;                  // that rectifier: errors come to it rectified
  const TrainedTensor* product = nullptr;  // of a batch norm: the weight whose sums it reads
  FrozenStatistics statistics = FrozenStatistics::calibrated;  // of a batch norm
  std::uint32_t first_parameter = 0;  // place of the layer's first in parameters_of
  ShiftRounding value_rounding = ShiftRounding::nearest;
  ShiftRounding error_rounding = ShiftRounding::nearest;
  ShiftRounding gradient_rounding = ShiftRounding::pseudo_stochastic;

  PlacedPoint value_point() const;
  PlacedPoint error_point() const;
  WeightsCase weights(std::string_view kind, const Shape& shape, int exponent,
                      std::uint32_t which) const;
};

// Throws where the operation has no integer form.
std::unique_ptr<IntegerLayer> make_integer_layer(const IntegerLayerSettings& settings);

std::unique_ptr<IntegerLayer> make_integer_product(const IntegerLayerSettings& settings);
std::unique_ptr<IntegerLayer> make_integer_pool(const IntegerLayerSettings& settings);
std::unique_ptr<IntegerLayer> make_integer_batch_norm(const IntegerLayerSettings& settings);
std::unique_ptr<IntegerLayer> make_integer_pointwise(const IntegerLayerSettings& settings);

// What the picture of a node's value is.
std::vector<Picture> pictures_of(const Network& network);

[[noreturn]] void refuse_layer(const Node& node, std::string_view got, std::string_view expected);

}  // namespace nibble::inline integer_step
