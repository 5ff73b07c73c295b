// SPDX-License-Identifier: Apache-2.0
// What every step has in C: names, sources and sinks, what follows a sum.
#include "emit/step_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/checked.h"
#include "graph/node_error.h"

namespace nibble::inline emit {
namespace {

std::string size_text(const Picture& size) {
  return size.pixels() == 1 ? std::to_string(size.channels)
                            : fmt::format("{}x{}x{}", size.height, size.width, size.channels);
}

}  // namespace

StepCode StepWriter::write(std::size_t step) {
  index_ = step;
  step_ = &plan_.steps[step];
  code_ = {};
  std::visit([&](const auto& op) { write_op(op); }, view_.node(step_->first).op);
  return std::move(code_);
}

void StepWriter::refuse_step() const {
  const Node& node = view_.node(step_->first);
  fail_node(node, "operation", name_of(node.op), "one that C has a kernel for");
}

std::string StepWriter::words_of(const EmitStep& step) const {
  const Node& first = view_.node(step.first);
  std::string text = fmt::format("{}: {}", view_.node(step.last).name, name_of(first.op));
  if (const auto* conv = std::get_if<Conv2d>(&first.op))
    text += fmt::format(" {}x{}", conv->kernel.y, conv->kernel.x);
  text += fmt::format(", {} to {}", size_text(view_.picture(step.inputs[0].node)),
                      size_text(view_.picture(step.first)));
  if (step.finish.addend.is_given() && !is<Add>(first.op))
    text += fmt::format(", add {}", view_.node(step.finish.addend.node).name);
  if (step.pool) text += fmt::format(", max_pool to {}", size_text(view_.picture(step.last)));
  return text;
}

std::string StepWriter::layer_name(std::string_view kind) const {
  return fmt::format("net_{}_{}_{}", index_, c_part(view_.node(step_->last).name), kind);
}

std::string StepWriter::array(std::string_view kind, CType type,
                              std::vector<std::int64_t> numbers) {
  code_.arrays.push_back({layer_name(kind), type, std::move(numbers)});
  return code_.arrays.back().name;
}

void StepWriter::add_layer(std::string_view type, std::string_view kind, std::string_view value) {
  code_.layer += fmt::format("static const {} {} = {};\n", type, layer_name(kind), value);
}

std::string StepWriter::term_text(const StepTerm& term, std::string_view kind) {
  return fmt::format("{{{}, {}, {}}}", array(kind, CType::s32, term.multipliers),
                     term.multipliers.size() > 1 ? 1 : 0, term.shift);
}

std::string StepWriter::finish_text(const StepFinish& finish) {
  code_.sums = finish.reach();
  CFields fields;
  if (!finish.bias.empty())
    fields.add("bias", array("bias", type_of_sums(code_.sums), finish.bias));
  fields.add("multipliers", array("multipliers", CType::s32, finish.multipliers))
      .add("multiplier_step", finish.multipliers.size() > 1 ? 1 : 0)
      .add("shift", finish.shift);
  if (finish.addend.is_given())
    fields.add("addend", term_text(finish.addend, "addend_multipliers"));
  return fields.add("factor", finish.factor).add("low", finish.low).add("high", finish.high).text();
}

std::string StepWriter::extent_text(const Extent2& extent) {
  return fmt::format("{{{}, {}}}", int32_text(extent.y), int32_text(extent.x));
}

// What the code computes on the way is an int32_t too: where the last tap of the last window falls,
// before the padding is taken off, and one tap further.
void StepWriter::check_window(const Picture& out, Extent2 kernel, Extent2 stride,
                              Extent2 dilation) const {
  const auto check = [&](std::int64_t windows, std::int64_t taps, std::int64_t step,
                         std::int64_t apart) {
    const std::int64_t end =
        checked_sum(checked_product(windows - 1, step), checked_product(taps, apart));
    if (end <= INT32_MAX) return;
    fail_node(view_.node(step_->first), "padded picture", std::to_string(end),
              "at most 2^31 - 1 rows and columns in C");
  };
  check(out.height, kernel.y, stride.y, dilation.y);
  check(out.width, kernel.x, stride.x, dilation.x);
}

std::string StepWriter::window_text(const Picture& in, const Picture& out, Extent2 kernel,
                                    Extent2 stride, Extent2 padding, Extent2 dilation) const {
  check_window(out, kernel, stride, dilation);
  return CFields()
      .add("in", extent_text({in.height, in.width}))
      .add("out", extent_text({out.height, out.width}))
      .add("channels", in.channels)
      .add("kernel", extent_text(kernel))
      .add("stride", extent_text(stride))
      .add("padding", extent_text(padding))
      .text();
}

std::string StepWriter::source(std::string_view name, std::size_t node) const {
  const std::size_t home = plan_.home[node];
  const Storage& stored = plan_.storage[home];
  const std::string place =
      home == 0 ? "input" : fmt::format("arena + {}", plan_.pieces[plan_.piece[home]].offset);
  return fmt::format("    const net_source {} = {{{}, {}, NET_{}}};\n", name, place, stored.zero,
                     upper_case(short_name(stored.type)));
}

std::string StepWriter::target() const {
  if (step_->last == view_.output()) return "output";
  return fmt::format("arena + {}", plan_.pieces[plan_.piece[step_->last]].offset);
}

std::string StepWriter::sink() const {
  const Storage& stored = plan_.storage[step_->last];
  return fmt::format("    const net_sink y = {{{}, {}, NET_{}}};\n", target(), stored.zero,
                     upper_case(short_name(stored.type)));
}

std::string StepWriter::addend_argument() const {
  return step_->finish.addend.is_given() ? "&addend" : "NULL";
}

// The arguments may name x, y and, where there is one, the addend.
void StepWriter::call(std::string_view function, std::string_view arguments) {
  code_.call += "  {\n" + source("x", step_->inputs[0].node);
  if (step_->finish.addend.is_given()) code_.call += source("addend", step_->finish.addend.node);
  code_.call += sink();
  code_.call += fmt::format("    {}({});\n  }}\n", function, arguments);
}

}  // namespace nibble::inline emit
