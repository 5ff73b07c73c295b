// SPDX-License-Identifier: Apache-2.0
// Concat, slice and pad in C: boxes of values that move.
#include <fmt/format.h>

#include "emit/step_writer.h"

namespace nibble::inline emit {
namespace {

using Axes = std::array<std::int64_t, 3>;  // rows, columns, channels

// Numbers of each axis of an example; vectors have channels alone.
Axes axes_of(const std::vector<std::int64_t>& numbers, std::int64_t otherwise) {
  if (numbers.size() == 3) return {numbers[0], numbers[1], numbers[2]};
  return {otherwise, otherwise, numbers[0]};
}

Axes steps_of(const Picture& size) {
  return {size.width * size.channels, size.channels, 1};
}

std::int64_t index_of(const Axes& position, const Axes& steps) {
  return position[0] * steps[0] + position[1] * steps[1] + position[2] * steps[2];
}

std::string text_of(const Axes& axes) {
  return fmt::format("{{{}, {}, {}}}", int32_text(axes[0]), int32_text(axes[1]),
                     int32_text(axes[2]));
}

std::string box_text(const Picture& size, const Axes& from_steps, std::int64_t from,
                     const Axes& to_steps, std::int64_t to) {
  return CFields()
      .add("size", text_of({size.height, size.width, size.channels}))
      .add("from_step", text_of(from_steps))
      .add("from_begin", from)
      .add("to_step", text_of(to_steps))
      .add("to_begin", to)
      .text();
}

}  // namespace

void StepWriter::write_op(const Concat&) {
  const std::string function = kernels_.use("box");
  const Picture out = view_.picture(step_->last);
  std::int64_t channel = 0;
  for (std::size_t k = 0; k < step_->inputs.size(); ++k) {
    const Picture in = view_.picture(step_->inputs[k].node);
    const std::string kind = fmt::format("box{}", k);
    add_layer("net_box", kind, box_text(in, steps_of(in), 0, steps_of(out), channel));
    code_.call += "  {\n" + source("x", step_->inputs[k].node) + sink() +
                  fmt::format("    {}(&{}, &x, &y);\n  }}\n", function, layer_name(kind));
    channel += in.channels;
  }
}

void StepWriter::write_op(const Slice& op) {
  const Picture out = view_.picture(step_->last);
  const Axes in_steps = steps_of(view_.picture(step_->inputs[0].node));
  const Axes step = axes_of(op.step, 1);
  Axes strides = in_steps;
  const Axes size = {out.height, out.width, out.channels};
  for (std::size_t k = 0; k < 3; ++k) {
    if (size[k] > 1) strides[k] *= step[k];  // else there is no next one, however far it were
  }
  add_layer("net_box", "box",
            box_text(out, strides, index_of(axes_of(op.begin, 0), in_steps), steps_of(out), 0));
  call(kernels_.use("box"), fmt::format("&{}, &x, &y", layer_name("box")));
}

void StepWriter::write_op(const Pad& op) {
  const Picture in = view_.picture(step_->inputs[0].node);
  const Picture out = view_.picture(step_->last);
  const Axes out_steps = steps_of(out);
  add_layer("net_box", "box",
            box_text(in, steps_of(in), 0, out_steps, index_of(axes_of(op.before, 0), out_steps)));
  code_.call += "  {\n" + sink() +
                fmt::format("    {}(&y, {});\n  }}\n", kernels_.use("fill"), out.elements());
  call(kernels_.use("box"), fmt::format("&{}, &x, &y", layer_name("box")));
}

}  // namespace nibble::inline emit
