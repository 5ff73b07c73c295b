// SPDX-License-Identifier: Apache-2.0
// The rows of the table. An operation without one does not compile.
#include "graph/operation_table.h"

#include <type_traits>
#include <utility>

namespace nibble::inline graph {
namespace {

constexpr Support yes(std::string_view words = {}) {
  return {true, words};
}
constexpr Support no(std::string_view why) {
  return {false, why};
}

// Words that stand in several cells.
constexpr std::string_view kLeftOut = "it is left out, as no answer depends on it";
constexpr std::string_view kNoFlattened = "not of a flattened picture";
constexpr std::string_view kOfIntegers = "it belongs to networks of integers";
constexpr std::string_view kOwnShifts = "training finds its shifts itself";
constexpr std::string_view kTrainsMeans = "average_pool is what is trained";
constexpr std::string_view kNoErrorBack = "no error comes back through it";
constexpr std::string_view kNotOfOnnx = "ONNX has no such operation";
constexpr std::string_view kNoQdqForm = "quantized models of ONNX have no such operation";
constexpr std::string_view kTrainedAlone =
    "of integer-trained networks: in others nobody knows how many units 6 is";
constexpr std::string_view kMoments = "its statistics have no emitted form yet";
constexpr std::string_view kTrainedNorm =
    "of integer-trained networks, where it is part of a rescale; nibble quantize folds others";
constexpr std::string_view kIntegersThere = "values are integers there, with nothing to imitate";
constexpr std::string_view kRounds = "it is of floats: nibble quantize makes a rescale of it";
constexpr std::string_view kOfTraining = "files hold what answers, not what trains";
constexpr std::string_view kShares = "shares of 0, 0.5, 0.75, 0.875 and 0.9375";
constexpr std::string_view kNoSmoothing = "without smoothing";

using Cells = std::array<Support, kCapabilities>;

struct Row {
  std::size_t index;  // in Op
  Cells cells;
};

template <class Operation, class... All>
constexpr std::size_t index_among(std::type_identity<std::variant<All...>>) {
  std::size_t index = 0;
  (void)((std::is_same_v<Operation, All> || (++index, false)) || ...);
  return index;
}

template <class Operation, class... Cell>
constexpr Row row(Cell... cells) {
  static_assert(sizeof...(cells) == kCapabilities);
  return {index_among<Operation>(std::type_identity<Op>()), {cells...}};
}

// Losses, which stand behind the answer.
template <class Loss>
constexpr Row loss_row(std::string_view emitted) {
  return row<Loss>(yes(), yes(), yes(kLeftOut), yes(kLeftOut), yes(emitted), no(kOfTraining),
                   yes(kLeftOut), yes(kLeftOut));
}

// What integers alone have.
template <class Operation>
constexpr Row integer_row(std::string_view not_trained, Support onnx_in, Support onnx_out) {
  return row<Operation>(no(kOfIntegers), no(not_trained), yes(), yes(), no(not_trained), onnx_in,
                        onnx_out, no(kOfIntegers));
}

// In the order of Op; the cells in that of Capability: float training, integer training, engine,
// emit, emit --train, ONNX in, ONNX out, quantize.
constexpr Row kRows[] = {
    row<Input>(yes(), yes(), yes(), yes(), yes(), yes(), yes(), yes()),
    row<Conv2d>(yes(), yes(), yes(), yes(), yes(), yes(), yes(), yes()),
    row<Linear>(yes(), yes(), yes(), yes(), yes(), yes(), yes(), yes()),
    row<Bias>(yes(), yes(kNoFlattened), yes(), yes(), yes(kNoFlattened), yes(), yes(), yes()),
    row<Relu>(yes(), yes(), yes(), yes(), yes(), yes(), yes(), yes()),
    row<Relu6>(yes(), yes(), yes(kTrainedAlone), yes(kTrainedAlone), yes(), yes(),
               yes(kTrainedAlone), yes("behind sums: products, biases, adds, means")),
    row<MaxPool>(yes(), yes("windows of at most 255"), yes(), yes(), yes("windows of at most 255"),
                 yes(), yes(), yes()),
    row<AveragePool>(yes(), yes(), yes(), yes(), yes(), yes(), yes(), yes()),
    row<GlobalAveragePool>(yes(), yes(), yes(), yes(), yes(), yes(), yes(), yes()),
    row<BatchNorm>(yes(), yes(kNoFlattened), yes(kTrainedNorm), yes(kTrainedNorm), no(kMoments),
                   yes(), yes(kTrainedNorm), yes("it is folded into weights")),
    row<Add>(yes(), yes(), yes(), yes(), yes(), yes(), yes(), yes()),
    row<Concat>(yes(), yes(kNoFlattened), yes(), yes(), no("it has no emitted layer yet"), yes(),
                yes(kNoFlattened), yes()),
    row<Slice>(yes(), yes(kNoFlattened), yes(), yes(), yes(kNoFlattened), yes(), yes(kNoFlattened),
               yes()),
    row<Pad>(yes(), yes(kNoFlattened), yes(), yes(), yes(kNoFlattened), yes("with zeros"),
             yes(kNoFlattened), yes()),
    row<Flatten>(yes(), yes(), yes(), yes(), yes(), yes(), yes(), yes()),
    row<FakeQuantize>(yes(), no(kIntegersThere), no(kRounds), no(kRounds), no(kIntegersThere),
                      yes("of QuantizeLinear"), no(kRounds),
                      yes("grids that are formats, of at most 16 bits")),
    row<Dropout>(yes(), yes(kShares), yes(kLeftOut), yes(kLeftOut), yes(kShares), yes(kLeftOut),
                 yes(kLeftOut), yes(kLeftOut)),
    loss_row<SoftmaxCrossEntropy>(kNoSmoothing),
    loss_row<SquaredError>(""),
    integer_row<Rescale>(kOwnShifts, no(kNotOfOnnx), yes()),
    integer_row<SumPool>(kTrainsMeans, no(kNotOfOnnx), yes()),
    integer_row<Table>(kNoErrorBack, no(kNotOfOnnx), no(kNoQdqForm)),
    integer_row<SoftmaxTable>(kNoErrorBack, no(kNotOfOnnx), no(kNoQdqForm)),
    integer_row<ArgMax>(kNoErrorBack, yes("at the end, where it is left out"), no(kNoQdqForm)),
};

constexpr bool has_each_operation_once() {
  for (std::size_t i = 0; i < std::size(kRows); ++i) {
    if (kRows[i].index != i) return false;
  }
  return std::size(kRows) == std::variant_size_v<Op>;
}
static_assert(has_each_operation_once(), "each operation has one row, in the order of Op");

constexpr bool has_a_reason_for_each_no() {
  for (const Row& each : kRows) {
    for (const Support& cell : each.cells) {
      if (!cell.is_there && cell.words.empty()) return false;
    }
  }
  return true;
}
static_assert(has_a_reason_for_each_no());

template <std::size_t... kIndices>
std::array<OperationRow, sizeof...(kIndices)> named_rows(std::index_sequence<kIndices...>) {
  return {OperationRow{name_of(Op(std::in_place_index<kIndices>)), kRows[kIndices].cells}...};
}

struct CapabilityWords {
  std::string_view name;
  std::string_view command;
};
constexpr CapabilityWords kCapabilityWords[kCapabilities] = {
    {"float training", "nibble train"},
    {"integer training", "nibble train --arith int8"},
    {"engine", "nibble run"},
    {"emit", "nibble emit"},
    {"emit --train", "nibble emit --train"},
    {"ONNX in", "nibble convert X.onnx X.nib"},
    {"ONNX out", "nibble convert X.nib X.onnx"},
    {"quantize", "nibble quantize"},
};

}  // namespace

std::string_view name_of(Capability capability) {
  return kCapabilityWords[static_cast<std::size_t>(capability)].name;
}

std::string_view command_of(Capability capability) {
  return kCapabilityWords[static_cast<std::size_t>(capability)].command;
}

std::span<const OperationRow> operation_table() {
  static const auto rows = named_rows(std::make_index_sequence<std::variant_size_v<Op>>());
  return rows;
}

const Support& support_of(const Op& op, Capability capability) {
  return operation_table()[op.index()].of(capability);
}

}  // namespace nibble::inline graph
