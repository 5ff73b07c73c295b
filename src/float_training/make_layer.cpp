// SPDX-License-Identifier: Apache-2.0
// The layer of a node.
#include "float_training/layer.h"
#include "graph/model_parts.h"
#include "nibble/core/error.h"

namespace nibble::inline float_training {

std::unique_ptr<Layer> make_layer(const LayerSettings& settings) {
  const Op& op = settings.node.op;
  if (is_product(op)) return make_product(settings);
  if (is<Bias>(op)) return make_bias(settings);
  if (is<Relu>(op) || is<Relu6>(op)) return make_rectifier(settings);
  if (is<MaxPool>(op) || is<AveragePool>(op)) return make_pool(settings);
  if (is<GlobalAveragePool>(op)) return make_global_average_pool(settings);
  if (is<BatchNorm>(op)) return make_batch_norm(settings);
  if (is<Add>(op)) return make_add(settings);
  if (is<Concat>(op)) return make_concat(settings);
  if (is<Slice>(op) || is<Pad>(op)) return make_window(settings);
  if (is<Flatten>(op)) return make_flatten(settings);
  if (is<FakeQuantize>(op)) return make_fake_quantize(settings);
  if (is<Dropout>(op)) return make_dropout(settings);
  throw Error("train", "layer " + settings.node.name, std::string(name_of(op)),
              "an operation that computes");
}

}  // namespace nibble::inline float_training
