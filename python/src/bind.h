// SPDX-License-Identifier: Apache-2.0
// The parts of the extension module.
#pragma once

#include <nanobind/nanobind.h>

namespace nibble::python {

void bind_format(nanobind::module_& module);
void bind_quantize(nanobind::module_& module);
void bind_codes(nanobind::module_& module);
void bind_stats(nanobind::module_& module);
void bind_matmul(nanobind::module_& module);
void bind_int8_matmul(nanobind::module_& module);

}  // namespace nibble::python
