// SPDX-License-Identifier: Apache-2.0
// nibble._networks: engine, models, quantization, training.
#include <nanobind/nanobind.h>

#include "backend/cuda/register.h"
#include "python/src/errors.h"
#include "python/src/networks/bind.h"

NB_MODULE(_networks, module) {
  module.doc() = "Nibble's networks: engine, models, quantization, training.";
  nibble::python::prepare_extension();
  nibble::register_cuda_backend();
  nibble::python::bind_model(module);
  nibble::python::bind_engine(module);
}
