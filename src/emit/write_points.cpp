// SPDX-License-Identifier: Apache-2.0
// Pools, adds and what is done to each value by itself, in C.
#include <fmt/format.h>

#include <algorithm>

#include "emit/step_writer.h"
#include "graph/mean_factors.h"

namespace nibble::inline emit {
namespace {

// What a sum of n numbers is multiplied with is at n.
std::vector<std::int64_t> factors_by_count(const SumPool& op, const Picture& in) {
  const std::int64_t most = std::min(op.kernel.y, in.height) * std::min(op.kernel.x, in.width);
  std::vector<std::int64_t> factors{0};
  for (std::int64_t n = 1; n <= most; ++n) factors.push_back(mean_factor(n, op.mean_bits));
  return factors;
}

}  // namespace

void StepWriter::write_op(const SumPool& op) {
  const CType sum = type_of_sums(step_->finish.reach());
  const Picture in = view_.picture(step_->inputs[0].node);
  add_layer("net_finish", "finish", finish_text(step_->finish));
  add_layer("net_window", "window",
            window_text(in, view_.picture(step_->first), op.kernel, op.stride, op.padding));
  call(kernels_.use("sum_pool", {.sum = sum}),
       fmt::format(
           "&{}, &{}, {}, &x, {}, &y", layer_name("window"), layer_name("finish"),
           op.mean_bits > 0 ? array("factors", CType::s32, factors_by_count(op, in)) : "NULL",
           addend_argument()));
}

void StepWriter::write_op(const MaxPool& op) {
  add_layer("net_window", "window",
            window_text(view_.picture(step_->inputs[0].node), view_.picture(step_->first),
                        op.kernel, op.stride, op.padding));
  call(kernels_.use("max_pool"), fmt::format("&{}, &x, &y", layer_name("window")));
}

void StepWriter::write_op(const Add&) {
  if (step_->inputs.size() > 2) return write_sum_of_many();
  const CType sum = type_of_sums(step_->finish.reach());
  add_layer("net_finish", "finish", finish_text(step_->finish));
  add_layer("net_term", "term", term_text(step_->inputs[0], "multipliers_of_x"));
  const Picture size = view_.picture(step_->last);
  call(kernels_.use("add", {.sum = sum}),
       fmt::format("&{}, &{}, &x, &addend, &y, {}, {}", layer_name("finish"), layer_name("term"),
                   size.pixels(), size.channels));
}

void StepWriter::write_sum_of_many() {
  StepFinish finish;
  finish.addend = step_->inputs[1];
  add_layer("net_finish", "finish", finish_text(finish));
  add_layer("net_term", "term", term_text(step_->inputs[0], "multipliers_of_x"));
  const Picture size = view_.picture(step_->last);
  const std::string function = kernels_.use("add");
  for (std::size_t k = 1; k < step_->inputs.size(); ++k) {
    code_.call += "  {\n";
    code_.call += k == 1 ? source("x", step_->inputs[0].node)
                         : fmt::format("    const net_source x = {{{}, 0, NET_S32}};\n", target());
    code_.call += source("addend", step_->inputs[k].node) + sink();
    code_.call +=
        fmt::format("    {}(&{}, &{}, &x, &addend, &y, {}, {});\n  }}\n", function,
                    layer_name("finish"), layer_name("term"), size.pixels(), size.channels);
  }
}

void StepWriter::write_point() {
  const CType sum = type_of_sums(step_->finish.reach());
  add_layer("net_finish", "finish", finish_text(step_->finish));
  const Picture size = view_.picture(step_->last);
  call(kernels_.use("points", {.sum = sum}),
       fmt::format("&{}, &x, &y, {}, {}", layer_name("finish"), size.pixels(), size.channels));
}

void StepWriter::write_op(const Table& op) {
  const std::string entries = array("table", CType::s32, view_.integers(step_->first, "table"));
  call(kernels_.use("table"),
       fmt::format("{}, {}, &x, &y, {}", entries, op.first, view_.picture(step_->last).elements()));
}

void StepWriter::write_op(const SoftmaxTable& op) {
  const std::string entries = array("table", CType::s32, view_.integers(step_->first, "table"));
  call(kernels_.use("softmax_table"),
       fmt::format("{}, {}, &x, &y, {}", entries, op.high, view_.picture(step_->last).elements()));
}

void StepWriter::write_op(const ArgMax&) {
  call("net_put", fmt::format("&y, 0, {}(&x, {})", kernels_.use("argmax"),
                              view_.picture(step_->inputs[0].node).elements()));
}

}  // namespace nibble::inline emit
