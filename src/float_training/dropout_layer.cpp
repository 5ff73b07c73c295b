// SPDX-License-Identifier: Apache-2.0
// Dropout whose mask is a function of (seed, step, node, element): backward draws it again.
#include <cmath>
#include <cstddef>

#include "float_training/layer.h"
#include "float_training/streams.h"
#include "nibble/core/parallel.h"
#include "nibble/core/philox.h"

namespace nibble::inline float_training {
namespace {

constexpr std::size_t kDrawnAtOnce =
    8192;  // elements a task; a multiple of 4, the draws of a counter

class DropoutLayer final : public Layer {
 public:
  explicit DropoutLayer(const LayerSettings& settings)
      : share_(std::get<Dropout>(settings.node.op).share),
        elements_(settings.output.elements()),
        stream_(stream_of(kDropoutStreams, settings.index)) {}

  bool works_in_place() const override { return true; }

  void forward(const ForwardArguments& arguments) override {
    apply(arguments.pass, arguments.inputs[0], arguments.output);
  }

  void backward(const BackwardArguments& arguments) override {
    if (arguments.input_errors[0] == nullptr) return;
    apply(arguments.pass, arguments.output_error, arguments.input_errors[0]);
  }

 private:
  void apply(const Pass& pass, const float* x, float* y) const {
    const auto count = static_cast<std::size_t>(pass.slices.images * elements_);
    const bool drops = pass.is_training && share_ > 0.0F;
    const float factor = drops ? 1.0F / (1.0F - share_) : 1.0F;
    const auto threshold =
        drops ? static_cast<std::uint64_t>(std::ldexp(static_cast<double>(share_), 32)) : 0;
    const RandomKey& random = pass.random;
    const std::array<std::uint32_t, 2> key{static_cast<std::uint32_t>(random.seed),
                                           static_cast<std::uint32_t>(random.seed >> 32)};
    parallel_for(count, kDrawnAtOnce, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; i += 4) {
        const std::uint64_t group = i / 4;
        const PhiloxBlock draws =
            drops ? philox4x32_10({static_cast<std::uint32_t>(group),
                                   static_cast<std::uint32_t>(group >> 32), random.step, stream_},
                                  key)
                  : PhiloxBlock{};
        for (std::size_t lane = 0; lane < 4 && i + lane < end; ++lane) {
          y[i + lane] = draws[lane] < threshold ? 0.0F : x[i + lane] * factor;
        }
      }
    });
  }

  float share_;
  std::int64_t elements_;
  std::uint32_t stream_;
};

}  // namespace

std::unique_ptr<Layer> make_dropout(const LayerSettings& settings) {
  return std::make_unique<DropoutLayer>(settings);
}

}  // namespace nibble::inline float_training
