// SPDX-License-Identifier: Apache-2.0
// For safetensors_test.py: `safetensors_writer model OUT.nib` writes a model whose numbers count up
// by a quarter; `safetensors_writer copy IN OUT` reads any safetensors file and writes it again.
#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "nibble/core/safetensors.h"
#include "nibble/graph/model_file.h"
#include "nibble/graph/network_text.h"

namespace {

void write_sample(const std::string& path) {
  nibble::Model model{.network = nibble::load_network("convnet-8x8"), .parameters = {}};
  model.network.class_names.assign(10, "ö");
  float next = -1;
  for (const nibble::Parameter& parameter : nibble::parameters_of(model.network)) {
    nibble::Tensor tensor(nibble::DType::f32, parameter.shape);
    for (float& x : tensor.as<float>()) x = next += 0.25F;
    model.parameters.push_back(std::move(tensor));
  }
  nibble::write_model(path, model, {{"recipe", "by \"hand\""}});
}

void copy(const std::string& from, const std::string& to) {
  const nibble::Safetensors file = nibble::read_safetensors(from);
  std::vector<nibble::NamedTensorView> views;
  for (const nibble::NamedTensor& each : file.tensors) {
    views.push_back({each.name, each.tensor.view()});
  }
  nibble::write_safetensors(to, file.metadata, views);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 3 && std::string(argv[1]) == "model") {
      write_sample(argv[2]);
    } else if (argc == 4 && std::string(argv[1]) == "copy") {
      copy(argv[2], argv[3]);
    } else {
      return 2;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
