// SPDX-License-Identifier: Apache-2.0
// relu and relu6 in place; what passed is what is above zero and, for relu6, below the cut.
#include <algorithm>
#include <cstddef>

#include "integer/layer.h"
#include "nibble/core/parallel.h"
#include "nibble/kernels/integer_loops.h"

namespace nibble {
namespace {

constexpr std::size_t kRectifierGrain = 65536;

template <class Body>
void in_chunks(std::int64_t bytes, const Body& body) {
  parallel_for(static_cast<std::size_t>(bytes), kRectifierGrain, body);
}

class RectifierLayer final : public IntegerLayer {
 public:
  explicit RectifierLayer(bool has_cut) : has_cut_(has_cut) {}

  void forward(const IntegerForward& arguments) override {
    const BlockTensor& input = *arguments.inputs[0];
    BlockTensor& output = arguments.output;
    output.exponent = input.exponent;
    const std::int8_t cut = cut_at(input.exponent);
    in_chunks(output.bytes(), [&](std::size_t begin, std::size_t end) {
      if (output.data != input.data)
        std::copy(input.data + begin, input.data + end, output.data + begin);
      integer_loops().relu(output.data + begin, end - begin);
      if (!has_cut_) return;
      for (std::size_t i = begin; i < end; ++i) output.data[i] = std::min(output.data[i], cut);
    });
  }

  void backward(const IntegerBackward& arguments) override {
    BlockTensor* error = arguments.input_errors[0];
    if (error == nullptr) return;
    const BlockTensor& from = arguments.output_error;
    const std::int8_t* passed = arguments.output->data;
    error->exponent = from.exponent;
    const std::int8_t cut = cut_at(arguments.output->exponent);
    in_chunks(error->bytes(), [&](std::size_t begin, std::size_t end) {
      if (error->data != from.data)
        std::copy(from.data + begin, from.data + end, error->data + begin);
      integer_loops().zero_where_not_positive(error->data + begin, passed + begin, end - begin);
      if (cut == 127) return;  // nothing reaches 6
      for (std::size_t i = begin; i < end; ++i) {
        if (passed[i] == cut) error->data[i] = 0;
      }
    });
  }

  bool keeps_output() const override { return true; }
  bool works_in_place() const override { return true; }

 private:
  // 6 in units of 2^exponent; 127 where no mantissa reaches it: nothing is cut.
  std::int8_t cut_at(int exponent) const {
    if (!has_cut_) return 127;
    if (exponent < -4) return 127;
    return static_cast<std::int8_t>(exponent <= 0 ? 6 << -exponent : 6 >> std::min(exponent, 3));
  }

  bool has_cut_;
};

}  // namespace

std::unique_ptr<IntegerLayer> make_integer_rectifier(const IntegerLayerSettings& settings) {
  return std::make_unique<RectifierLayer>(is<Relu6>(settings.node.op));
}

}  // namespace nibble
