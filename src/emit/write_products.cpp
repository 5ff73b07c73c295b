// SPDX-License-Identifier: Apache-2.0
// Convolutions and linear layers in C.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/checked.h"
#include "emit/step_writer.h"
#include "graph/fusion.h"
#include "graph/parameters.h"

namespace nibble::inline emit {
namespace {

using Integers = std::vector<std::int64_t>;

// Codes are values + zero: what that adds to each sum is taken off the bias, and counts in the
// reach.
void fold_zero(StepFinish& finish, std::int64_t zero, const std::vector<std::int8_t>& weights,
               std::size_t depth) {
  if (zero == 0) return;
  finish.bias.resize(weights.size() / depth);
  for (std::size_t o = 0; o < finish.bias.size(); ++o) {
    std::int64_t sum = 0;
    std::int64_t magnitudes = 0;
    for (std::size_t k = 0; k < depth; ++k) {
      sum += weights[o * depth + k];
      magnitudes += std::abs(weights[o * depth + k]);
    }
    finish.bias[o] -= zero * finish.factor * sum;
    const std::int64_t most = 255 * magnitudes;
    finish.sums = {std::min(finish.sums.low, -most), std::max(finish.sums.high, most)};
  }
}

bool is_small(std::int8_t weight) {
  return weight >= -8 && weight <= 7;
}

// Rows of halves of bytes; each row begins with a byte of its own.
Integers packed_rows(const std::vector<std::int8_t>& weights, std::size_t depth) {
  Integers rows;
  for (std::size_t begin = 0; begin < weights.size(); begin += depth) {
    const auto row = packed_weights(std::span(weights).subspan(begin, depth), 4);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return rows;
}

// (channel, tap) to (tap, channel)
Integers by_tap(const std::vector<std::int8_t>& weights, std::size_t taps) {
  Integers result;
  for (std::size_t tap = 0; tap < taps; ++tap) {
    for (std::size_t at = tap; at < weights.size(); at += taps) result.push_back(weights[at]);
  }
  return result;
}

}  // namespace

// Sets the types of weights and sums.
std::string StepWriter::product_text(StepFinish finish, std::int64_t groups, KernelTypes& types) {
  const std::vector<std::int8_t> weights = view_.weights(step_->first);
  const Storage& in = storage(step_->inputs[0].node);
  const std::int64_t outputs = view_.picture(step_->first).channels;
  const std::size_t depth = weights.size() / static_cast<std::size_t>(outputs);
  (void)int32_text(static_cast<std::int64_t>(weights.size()));  // they are counted by one
  fold_zero(finish, in.zero, weights, depth);
  const bool is_packed =
      narrow_weight(view_.node(step_->first)) != nullptr && std::ranges::all_of(weights, is_small);
  types = {.in = in.type, .weight = is_packed ? "s4" : "s8", .sum = type_of_sums(finish.reach())};
  const std::string name =
      is_packed ? array("weights", CType::u8, packed_rows(weights, depth))
                : array("weights", CType::s8, Integers(weights.begin(), weights.end()));
  return CFields()
      .add("weights", name)
      .add("depth", static_cast<std::int64_t>(depth))
      .add("row", static_cast<std::int64_t>(is_packed ? (depth + 1) / 2 : depth))
      .add("outputs", outputs / groups)
      .add("finish", finish_text(finish))
      .text();
}

void StepWriter::write_op(const Linear&) {
  KernelTypes types;
  const std::string product = product_text(step_->finish, 1, types);
  add_layer("net_product", "layer", product);
  call(kernels_.use("linear", types),
       fmt::format("&{}, &x, {}, &y", layer_name("layer"), addend_argument()));
}

void StepWriter::write_op(const Conv2d& op) {
  const Picture in = view_.picture(step_->inputs[0].node);
  if (is_depthwise(op, in.channels)) return write_depthwise(op);
  const Picture out = view_.picture(step_->first);
  KernelTypes types;
  const std::string product = product_text(step_->finish, op.groups, types);
  const MaxPool pool = step_->pool.value_or(MaxPool{{1, 1}, {1, 1}, {0, 0}});
  add_layer(
      "net_conv2d", "layer",
      CFields()
          .add("window", window_text(in, out, op.kernel, op.stride, step_->padding, op.dilation))
          .add("dilation", extent_text(op.dilation))
          .add("groups", op.groups)
          .add("depth", in.channels / op.groups)
          .add("run", op.groups == 1 && op.dilation.x == 1 ? op.kernel.x : 1)
          .add("is_pointwise", is_pointwise(view_, *step_) ? 1 : 0)
          .add("pool",
               window_text(out, view_.picture(step_->last), pool.kernel, pool.stride, pool.padding))
          .add("product", product)
          .text());
  const std::size_t column = plan_.scratch[index_];
  call(kernels_.use("conv2d", types),
       fmt::format(
           "&{}, &x, {}, &y, {}", layer_name("layer"), addend_argument(),
           column == kNoNode ? "NULL" : fmt::format("arena + {}", plan_.pieces[column].offset)));
}

void StepWriter::write_depthwise(const Conv2d& op) {
  const Picture in = view_.picture(step_->inputs[0].node);
  (void)int32_text(checked_product(op.dilation.y, in.width, in.channels));  // a step of the code
  const CType sum = type_of_sums(step_->finish.reach());
  const auto taps = static_cast<std::size_t>(op.kernel.y * op.kernel.x);
  const std::string weights =
      array("weights", CType::s8, by_tap(view_.weights(step_->first), taps));
  const std::string product =
      CFields().add("weights", weights).add("finish", finish_text(step_->finish)).text();
  add_layer("net_conv2d", "layer",
            CFields()
                .add("window", window_text(in, view_.picture(step_->first), op.kernel, op.stride,
                                           step_->padding, op.dilation))
                .add("dilation", extent_text(op.dilation))
                .add("groups", op.groups)
                .add("depth", 1)
                .add("product", product)
                .text());
  call(kernels_.use("depthwise", {.in = storage(step_->inputs[0].node).type, .sum = sum}),
       fmt::format("&{}, &x, {}, &y", layer_name("layer"), addend_argument()));
}

}  // namespace nibble::inline emit
