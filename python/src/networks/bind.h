// SPDX-License-Identifier: Apache-2.0
// The parts of nibble._networks, and the objects that they hand to each other.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "nibble/graph/model_file.h"

namespace nibble::python {

void bind_loadgen(nanobind::module_& module);
void bind_model(nanobind::module_& module);
void bind_engine(nanobind::module_& module);
void bind_data(nanobind::module_& module);
void bind_quantize_network(nanobind::module_& module);
void bind_train(nanobind::module_& module);
void bind_sweep(nanobind::module_& module);
void bind_tasks(nanobind::module_& module);

// What a Model holds; shared with whoever works on it while Python goes on.
struct ModelObject {
  std::shared_ptr<const ModelFile> file;

  const Model& model() const { return file->model; }
};

}  // namespace nibble::python
