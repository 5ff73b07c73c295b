// SPDX-License-Identifier: Apache-2.0
// nibble._networks: engine, models, quantization, training.
#include <nanobind/nanobind.h>

#include <exception>

#include "backend/cuda/register.h"
#include "float_training/cuda/register.h"
#include "nibble/engine/cuda_engine.h"
#include "nibble/run_folder/interrupt.h"
#include "python/src/errors.h"
#include "python/src/networks/bind.h"

namespace {

void translate(const std::exception_ptr& exception, void*) {
  try {
    std::rethrow_exception(exception);
  } catch (const nibble::Interrupted& interrupted) {
    const auto errors = nanobind::module_::import_("nibble.errors");
    PyErr_SetString(nanobind::object(errors.attr("Interrupted")).ptr(), interrupted.what());
  }
}

}  // namespace

NB_MODULE(_networks, module) {
  module.doc() = "Nibble's networks: engine, models, quantization, training.";
  nibble::python::prepare_extension();
  nanobind::register_exception_translator(translate);
  nibble::register_cuda_backend();
  nibble::register_cuda_float_device();
  nibble::register_cuda_engine();
  nibble::python::bind_model(module);
  nibble::python::bind_engine(module);
  nibble::python::bind_data(module);
  nibble::python::bind_quantize_network(module);
  nibble::python::bind_train(module);
  nibble::python::bind_sweep(module);
  nibble::python::bind_tasks(module);
  nibble::python::bind_loadgen(module);
}
