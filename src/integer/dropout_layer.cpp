// SPDX-License-Identifier: Apache-2.0
// Dropout: one mask of features for the whole batch; what remains counts 2^k times.
#include <array>
#include <bit>
#include <cstring>

#include "integer/layer.h"
#include "nibble/core/parallel.h"
#include "nibble/kernels/integer_loops.h"

namespace nibble {
namespace {

// The shares 1 - 2^-k, k = 0, 1, …, known by their bits: there is no float arithmetic here.
constexpr std::array kShares = {0.0F, 0.5F, 0.75F, 0.875F, 0.9375F};

// k, or -1.
int halvings_of(float share) {
  for (std::size_t k = 0; k < kShares.size(); ++k) {
    if (std::bit_cast<std::uint32_t>(share) == std::bit_cast<std::uint32_t>(kShares[k]))
      return static_cast<int>(k);
  }
  return -1;
}

class DropoutLayer final : public IntegerLayer {
 public:
  DropoutLayer(const IntegerLayerSettings& settings, int halvings)
      : halvings_(halvings),
        stream_(kIntegerDropoutStreams + static_cast<std::uint32_t>(settings.index)) {}

  void forward(const IntegerForward& arguments) override {
    const BlockTensor& input = *arguments.inputs[0];
    BlockTensor& output = arguments.output;
    if (output.data != input.data)
      std::memcpy(output.data, input.data, static_cast<std::size_t>(output.bytes()));
    output.exponent = input.exponent;
    if (!arguments.pass.is_training || halvings_ == 0) return;
    draw(output.picture, arguments.pass.rule.random);
    apply(output);
    output.exponent += halvings_;
  }

  void backward(const IntegerBackward& arguments) override {
    BlockTensor* error = arguments.input_errors[0];
    if (error == nullptr) return;
    const BlockTensor& from = arguments.output_error;
    if (error->data != from.data)
      std::memcpy(error->data, from.data, static_cast<std::size_t>(from.bytes()));
    error->exponent = from.exponent;
    if (halvings_ == 0) return;
    apply(*error);
    error->exponent += halvings_;
  }

  bool works_in_place() const override { return true; }

 private:
  // Kept where the first k bits of the feature's draw are zeros; [pixel][image][channel] of a
  // group.
  void draw(const Picture& picture, RandomKey random) {
    random.stream = stream_;
    mask_.assign(static_cast<std::size_t>(picture.group_bytes()), 0);
    for (std::int64_t pixel = 0; pixel < picture.pixels(); ++pixel) {
      std::uint8_t* first = mask_.data() + pixel * picture.pixel_bytes();
      for (std::int64_t c = 0; c < picture.channels; ++c) {
        const auto feature = static_cast<std::uint64_t>(pixel * picture.channels + c);
        first[c] = draw32(random, feature) >> (32 - halvings_) == 0 ? 1 : 0;
      }
      for (std::int64_t image = 1; image < kGroup; ++image)
        std::memcpy(first + image * picture.stride(), first,
                    static_cast<std::size_t>(picture.stride()));
    }
  }

  void apply(const BlockTensor& tensor) const {
    parallel_for(static_cast<std::size_t>(tensor.groups()), 1,
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t group = begin; group < end; ++group) {
                     integer_loops().multiply_mask(tensor.at(static_cast<std::int64_t>(group), 0),
                                                   mask_.data(), mask_.size());
                   }
                 });
  }

  int halvings_;
  std::uint32_t stream_;
  std::vector<std::uint8_t> mask_;
};

}  // namespace

std::unique_ptr<IntegerLayer> make_integer_dropout(const IntegerLayerSettings& settings) {
  const float share = std::get<Dropout>(settings.node.op).share;
  const int halvings = halvings_of(share);
  if (halvings < 0)
    refuse_layer(settings.node, "a share that is no 1 - 2^-k", "0, 0.5, 0.75, 0.875 or 0.9375");
  return std::make_unique<DropoutLayer>(settings, halvings);
}

}  // namespace nibble
