// SPDX-License-Identifier: Apache-2.0
// What backends are asked to compute: the law of every operation as data.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "backend/loss_laws.h"
#include "backend/values.h"
#include "laws/batch_norm.h"
#include "nibble/backend/rules.h"
#include "nibble/cluster/communicator.h"
#include "nibble/core/philox.h"
#include "nibble/core/tensor.h"
#include "nibble/data/augment.h"
#include "nibble/graph/op.h"

namespace nibble::inline backend {

class Weights;

// What all operations of one step share. A backend that records its steps reads what changes from
// step to step from here.
struct StepContext {
  ShiftRule rule = ShiftRule::exact;
  RandomKey random = {};  // seed and step
  bool is_training = false;
  UpdateRule update = {};
  std::int64_t first_image = 0;  // of this rank in the batch of all ranks
  std::int64_t all_images = 0;
  Communicator* cluster = nullptr;  // null: alone
  bool settles_at_end = false;      // nobody reads weights or shift points before end()
};

// Images of a data set, augmented on the way into a step.
struct ImageSelection {
  ConstTensorView images;  // u8 (n, h, w, c), unchanged for as long as a backend reads from them
  std::span<const std::int32_t> indices;
  AugmentOptions augment;
  AugmentKey key;
};

struct SlidingWindow {
  Extent2 kernel{1, 1};
  Extent2 stride{1, 1};
  Extent2 padding{0, 0};
  Extent2 dilation{1, 1};

  std::int64_t taps() const { return kernel.y * kernel.x; }
};

// A weight (out, tap, in), as conv2d and linear have it; with groups, `in` are the channels of one
// group.
struct WeightShape {
  std::int64_t out = 0;
  std::int64_t taps = 0;
  std::int64_t in = 0;
  std::int64_t groups = 1;

  std::int64_t all_in() const { return in * groups; }
  std::int64_t elements() const { return out * taps * in; }
};

// A convolution, or a linear layer: one window over all.
struct ProductCase {
  SlidingWindow window;
  WeightShape weight;
  Picture input;
  Picture output;
};

struct PoolCase {
  enum class Kind : std::uint8_t { largest, mean };

  Kind kind = Kind::largest;
  SlidingWindow window = {};
  bool counts_padding = true;  // of a mean
  // The input is a rectifier's, whose errors pass where its values are above zero: windows without
  // such a value have no mark, and nothing takes their error.
  bool is_rectified = false;
  Picture input;
  Picture output;

  static constexpr std::uint8_t kNoMark = 255;  // taps count from 0 to 254
  bool keeps_marks() const { return kind == Kind::largest; }
};

// Batch norm of every channel, over images and pixels.
struct NormalizationCase {
  Picture picture;
  int running_share = 0;  // of the newest batch in what is kept of those that train; 0: nothing is
};

// What the last batch's statistics are, by channel; laws/batch_norm.h says in which units.
struct NormalizationRecord {
  std::vector<std::int64_t> means;
  std::vector<std::int64_t> variances;
};

// What is kept of the batches that trained, by channel; empty before the first.
using RunningStatistics = std::vector<NormMoments>;

// γ and β of a batch norm: fine numbers of 16 fraction bits under every rule, with bounds of their
// own; their mantissas say nothing.
enum class NormPart : std::uint8_t { none, scale, shift };

struct WeightsCase {
  std::string name;  // NODE.KIND
  Shape shape;
  int exponent = 0;      // at first
  bool is_bias = false;  // its exponent never moves, and it does not decay (γ and β: if told)
  NormPart norm = NormPart::none;
  ShiftRounding rounding = ShiftRounding::pseudo_stochastic;  // of gradients
  std::uint32_t stream = 0;                                   // of their draws
  std::int64_t products = 0;  // of an image in one sum of the gradient; 0: sums of other things

  // Whether the sums of a gradient fit 32 bits: an input is at most 128, an error 127.
  bool sums_fit_32(std::int64_t images) const {
    return products > 0 && images <= INT32_MAX / (128 * 127) / products;
  }
};

// Weights on the host, as a checkpoint has them.
struct WeightsState {
  Tensor mantissas;  // i8
  int exponent = 0;
  std::vector<std::int32_t> fine = {};  // mantissa · 2^fraction_bits, where there are such bits
  std::vector<std::int32_t> momentum = {};  // in the same unit, where there is momentum
};

// What the last update did.
struct UpdateRecord {
  int shift = 0;
  std::int64_t moved = 0;  // mantissas that changed
};

// What is done to every number, or to numbers of one place.
struct Rectify {
  bool has_cut = false;  // relu6
};
struct RectifyError {  // of {error, passed}: where the value passed, the error does
  bool has_cut = false;
};
struct Drop {  // one mask of features for the whole batch; what stays counts 2^halvings times
  int halvings = 0;
  std::uint32_t stream = 0;
};
struct AddValues {  // aligned exactly, rounded once
  ShiftPoint point;
};
struct AddBias {
  const Weights* bias = nullptr;
  ShiftPoint point = {};
};
struct ConcatValues {  // along the channels
  ShiftPoint point;
};
// Number (y, x, c) of the smaller one is number begin + (y, x, c) · step of the larger one; what
// the smaller one does not reach becomes zero.
struct MoveBox {
  std::array<std::int64_t, 3> begin{0, 0, 0};
  std::array<std::int64_t, 3> step{1, 1, 1};
  bool to_small = true;
};
struct CopyValues {};

using PointCase = std::variant<Rectify, RectifyError, Drop, AddValues, AddBias, ConcatValues,
                               MoveBox, CopyValues>;

struct CrossEntropyLoss {
  std::span<const std::int32_t> labels;
  CrossEntropyRule rule = {};
  std::uint32_t stream = 0;
};
struct SquaredLoss {
  std::span<const std::int32_t> targets;  // in 2^kTargetExponent
  ShiftPoint point;
};
using LossCase = std::variant<CrossEntropyLoss, SquaredLoss>;

}  // namespace nibble::inline backend
