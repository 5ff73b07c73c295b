// SPDX-License-Identifier: Apache-2.0
// Packs weights and biases.
#include "engine/cuda/product_parts.h"

#include "core/checked.h"

namespace nibble::inline engine {

PlacedProduct::PlacedProduct(const DevicePlaces& places, const ProgramStep& step,
                             const ProductLaw& law_)
    : law(law_),
      in(places[step.inputs[0]]),
      out(places[law_.largest ? law_.largest->pooled : step.output]),
      addend(law_.finish.addend == kNoNode ? nullptr : &places[law_.finish.addend]) {
  if (const auto* conv = std::get_if<Conv2d>(&law.op)) {
    window = step.inputs[0] == 0 ? places.entry().window(*conv) : *conv;
  } else {
    window = {.channels = std::get<Linear>(law.op).features,
              .kernel = {in.picture.height, in.picture.width}};
  }
}

std::vector<std::int64_t> ProductParts::bias_of_bytes() const {
  std::vector<std::int64_t> bias(static_cast<std::size_t>(window.channels));
  const std::vector<std::int64_t>& own = law.finish.bias;
  const auto run = static_cast<std::size_t>(taps() * depth());
  for (std::size_t o = 0; o < bias.size(); ++o) {
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < run; ++k) sum += weights[o * run + k];
    bias[o] = sum * in.base + (own.empty() ? 0 : own[own.size() == 1 ? 0 : o]);
  }
  return bias;
}

std::vector<std::int8_t> ProductParts::packed_weights(std::int64_t columns) const {
  const std::int64_t filled = in.filled_channels();
  const std::int64_t outs = (window.channels + columns - 1) / columns * columns;
  std::vector<std::int8_t> packed(
      static_cast<std::size_t>(checked_product(checked_product(outs, taps()), filled)));
  for (std::int64_t o = 0; o < window.channels; ++o) {
    for (std::int64_t tap = 0; tap < taps(); ++tap) {
      for (std::int64_t k = 0; k < depth(); ++k)
        packed[static_cast<std::size_t>((o * taps() + tap) * filled + k)] = weight(o, tap, k);
    }
  }
  return packed;
}

}  // namespace nibble::inline engine
