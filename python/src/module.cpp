// SPDX-License-Identifier: Apache-2.0
// nibble._core: formats and kernels on the memory of Python objects.
#include <nanobind/nanobind.h>

#include "nibble/cuda/device.h"
#include "nibble/version.h"
#include "python/src/bind.h"
#include "python/src/errors.h"

NB_MODULE(_core, module) {
  module.doc() = "Nibble's formats and kernels on the memory of Python objects.";
  module.attr("version") = nibble::kVersion;
  module.attr("has_cuda") = nibble::cuda::is_built();
  nibble::python::prepare_extension();
  nibble::python::bind_format(module);
  nibble::python::bind_quantize(module);
  nibble::python::bind_codes(module);
  nibble::python::bind_stats(module);
  nibble::python::bind_matmul(module);
  nibble::python::bind_int8_matmul(module);
}
