// SPDX-License-Identifier: Apache-2.0
// The order of the passes.
#include "nibble/quantization/quantize_model.h"

#include "graph/batch_norm.h"
#include "quantization/fake_quantized.h"
#include "quantization/passes.h"

namespace nibble::inline quantization {

Model folded_model(const Model& model, const QuantizeSettings& settings) {
  Model folded = fold_batch_norm(copy_of(model));
  return settings.equalizes ? equalized(std::move(folded)) : std::move(folded);
}

QuantizedModel quantize_model(const Model& model, const FloatBatches& calibration,
                              const QuantizeSettings& settings) {
  QuantizedModel result;
  result.folded = folded_model(model, settings);
  if (settings.has_integer_features) {
    result.folded = with_feature_ranges(std::move(result.folded), calibration);
  }
  const Observations observations = observe(result.folded, calibration, settings.form);
  result.fake = fake_quantized(result.folded, observations, settings);
  if (settings.learns_rounding) {
    result.fake = with_learned_rounding(result.folded, std::move(result.fake), calibration,
                                        {.moves_biases = settings.corrects_bias});
  }
  if (settings.corrects_bias) {
    result.fake = with_corrected_biases(result.folded, std::move(result.fake), calibration);
  }
  return result;
}

}  // namespace nibble::inline quantization
