// SPDX-License-Identifier: Apache-2.0
// Steps as C: constants in flash, a description of the layer, a call. All names begin with net_.
#pragma once

#include <string>
#include <vector>

#include "emit/c_text.h"
#include "emit/kernels.h"
#include "emit/plan.h"

namespace nibble::inline emit {

struct StepCode {
  std::vector<CArray> arrays;
  std::string layer;  // definitions of static constants
  std::string call;   // a block of statements
  Interval sums;      // of all that is added up, whatever the input; none: 0
};

// What all steps share while they are written.
class StepWriter {
 public:
  StepWriter(const NetworkView& view, const EmitPlan& plan, KernelSet& kernels)
      : view_(view), plan_(plan), kernels_(kernels) {}

  StepCode write(std::size_t step);

  // What the step is, in words: "conv1: conv2d 3x3, 28x28x1 to 26x26x16, max_pool to 13x13x16".
  std::string words_of(const EmitStep& step) const;

 private:
  void write_op(const Conv2d& op);
  void write_op(const Linear& op);
  void write_op(const SumPool& op);
  void write_op(const MaxPool& op);
  void write_op(const Add& op);
  void write_op(const Bias&) { write_point(); }
  void write_op(const Relu&) { write_point(); }
  void write_op(const Rescale&) { write_point(); }
  void write_op(const Flatten&) { write_point(); }
  void write_op(const Concat& op);
  void write_op(const Slice& op);
  void write_op(const Pad& op);
  void write_op(const Table& op);
  void write_op(const SoftmaxTable& op);
  void write_op(const ArgMax& op);
  // Nothing is done to what enters, and networks of integers have none of the others.
  [[noreturn]] void write_op(const Input&) { refuse_step(); }
  [[noreturn]] void write_op(const OfReals auto&) { refuse_step(); }
  [[noreturn]] void refuse_step() const;

  void write_depthwise(const Conv2d& op);
  void write_point();
  void write_sum_of_many();

  // Names of constants, and text of the fields that describe what follows a sum.
  std::string array(std::string_view kind, CType type, std::vector<std::int64_t> numbers);
  std::string finish_text(const StepFinish& finish);
  std::string term_text(const StepTerm& term, std::string_view kind);
  std::string product_text(StepFinish finish, std::int64_t groups, KernelTypes& types);
  static std::string extent_text(const Extent2& extent);
  void check_window(const Picture& out, Extent2 kernel, Extent2 stride, Extent2 dilation) const;
  std::string window_text(const Picture& in, const Picture& out, Extent2 kernel, Extent2 stride,
                          Extent2 padding, Extent2 dilation = {1, 1}) const;

  std::string layer_name(std::string_view kind) const;
  void add_layer(std::string_view type, std::string_view kind, std::string_view value);
  std::string source(std::string_view name, std::size_t node) const;
  std::string sink() const;
  std::string target() const;  // where the step writes to
  std::string addend_argument() const;
  void call(std::string_view function, std::string_view arguments);
  const Storage& storage(std::size_t node) const { return plan_.storage[plan_.home[node]]; }

  const NetworkView& view_;
  const EmitPlan& plan_;
  KernelSet& kernels_;
  std::size_t index_ = 0;           // of the step being written
  const EmitStep* step_ = nullptr;  // and the step
  StepCode code_;
};

}  // namespace nibble::inline emit
