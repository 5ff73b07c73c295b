// SPDX-License-Identifier: Apache-2.0
// The answers of a quantized ONNX model, or of an integer .nib, by the definitions of the integer
// operations: onnx_integers MODEL IN.npy OUT.npy [VALUES.safetensors].
// Pictures have their channels first. VALUES holds another program's integers (zero points taken
// off) of values under the bits of their scale and their number in one example, 3f800000-10: each
// value is compared with them and replaced by them, so that every layer has the same input in both;
// a line a value says how far they are apart.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <exception>
#include <map>
#include <string>

#include "foreign/onnx/strided_copy.h"
#include "graph/defined_network.h"
#include "graph/input_table.h"
#include "graph/integer_form.h"
#include "nibble/core/npy.h"
#include "nibble/core/safetensors.h"
#include "nibble/foreign/onnx.h"
#include "nibble/graph/model_file.h"
#include "nibble/quantization/quantize_model.h"

namespace {

using namespace nibble;

struct Gap {
  std::int64_t most = 0;
  std::int64_t differing = 0;
  std::int64_t compared = 0;
};

Tensor channels_to_end(Tensor batch) {
  if (batch.shape().rank() != 4) return batch;
  return transposed(batch.view(), std::array<std::int64_t, 4>{0, 2, 3, 1});
}

class Values {
 public:
  Values(const Network& network, const char* path) : network_(network) {
    if (path == nullptr) return;
    for (NamedTensor& each : read_safetensors(path).tensors) {
      values_[each.name] = channels_to_end(std::move(each.tensor));
    }
  }

  void replace(std::int64_t example, std::size_t node, Integers& value) {
    const Scaling& scaling = network_.nodes[node].value.format.scaling;
    if (scaling.kind != ScaleKind::given) return;
    const auto found = values_.find(
        fmt::format("{:08x}-{}", std::bit_cast<std::uint32_t>(scaling.scale), value.size()));
    if (found == values_.end() || found->second.shape()[0] <= example) return;
    const auto theirs = found->second.as<std::int32_t>();
    Gap& gap = gaps_[node];
    for (std::size_t i = 0; i < value.size(); ++i) {
      const std::int64_t other = theirs[static_cast<std::size_t>(example) * value.size() + i];
      gap.most = std::max<std::int64_t>(gap.most, std::llabs(other - value[i]));
      gap.differing += other != value[i] ? 1 : 0;
      ++gap.compared;
      value[i] = other;
    }
  }

  void print() const {
    for (const auto& [node, gap] : gaps_) {
      fmt::print("{} {} {} {}\n", network_.nodes[node].name, gap.most, gap.differing, gap.compared);
    }
  }

 private:
  const Network& network_;
  std::map<std::string, Tensor> values_;
  std::map<std::size_t, Gap> gaps_;
};

void run(int count, char** words) {
  const std::string path = words[1];
  const Model model = path.ends_with(".onnx") ? integer_network_of(read_onnx(path))
                                              : integer_form(read_model(path).model);
  const DefinedNetwork network(model);
  const InputRounder round(model.network.nodes[0].value);
  const Tensor batch = channels_to_end(read_npy(words[2]));
  const std::int64_t images = batch.shape()[0];
  const auto numbers = batch.as<float>();
  const std::size_t size = numbers.size() / static_cast<std::size_t>(images);
  const std::size_t last = output_of(model.network);
  const Scaling& scaling = model.network.nodes[last].value.format.scaling;
  const float scale = scaling.kind == ScaleKind::given ? scaling.scale : 1.0F;
  Tensor answers(DType::f32, Shape{images, network.shapes()[last].elements()});
  float* out = answers.as<float>().data();
  Values values(model.network, count > 4 ? words[4] : nullptr);
  for (std::int64_t i = 0; i < images; ++i) {
    Integers input;
    for (std::size_t k = 0; k < size; ++k) {
      input.push_back(round(double{numbers[static_cast<std::size_t>(i) * size + k]}));
    }
    const auto all = network.values(input, [&](std::size_t node, Integers& value) {
      if (count > 4) values.replace(i, node, value);
    });
    for (const std::int64_t x : all[last]) *out++ = static_cast<float>(x) * scale;
  }
  values.print();
  write_npy(words[3], answers.view());
}

}  // namespace

int main(int count, char** words) {
  if (count != 4 && count != 5) return 2;
  try {
    run(count, words);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
