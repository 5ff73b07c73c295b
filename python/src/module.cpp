// SPDX-License-Identifier: Apache-2.0
// nibble._core: the parts, and which Python exception an error becomes.
#include <nanobind/nanobind.h>
#include <pthread.h>

#include <string>

#include "nibble/core/parallel.h"
#include "nibble/cuda/device.h"
#include "nibble/version.h"
#include "python/src/bind.h"
#include "python/src/errors.h"

namespace {

namespace nb = nanobind;

// Messages quote what the caller wrote, line ends included.
std::string one_line(std::string text) {
  for (std::size_t at = 0; (at = text.find_first_of("\n\r", at)) != std::string::npos;) {
    text.replace(at, 1, text[at] == '\n' ? "\\n" : "\\r");
  }
  return text;
}

PyObject* exception_of(const nibble::Error& error) {
  if (dynamic_cast<const nibble::python::TypeMistake*>(&error)) return PyExc_TypeError;
  if (dynamic_cast<const nibble::python::StateMistake*>(&error)) return PyExc_RuntimeError;
  switch (error.kind()) {
    case nibble::ErrorKind::usage:
    case nibble::ErrorKind::input:
    case nibble::ErrorKind::limit:
      return PyExc_ValueError;
    case nibble::ErrorKind::memory:
      return PyExc_MemoryError;
    case nibble::ErrorKind::system:
      return PyExc_OSError;
    case nibble::ErrorKind::device:
    case nibble::ErrorKind::internal:
      return PyExc_RuntimeError;
  }
  return PyExc_RuntimeError;
}

void translate(const std::exception_ptr& exception, void*) {
  try {
    std::rethrow_exception(exception);
  } catch (const nibble::Error& error) {
    PyErr_SetString(exception_of(error), one_line(error.what()).c_str());
  }
}

// OpenMP's threads stay behind in the parent: a child that asked for them would wait forever.
void work_alone() {
  nibble::set_thread_count(1);
}

}  // namespace

NB_MODULE(_core, module) {
  module.doc() = "Nibble's formats and kernels on the memory of Python objects.";
  module.attr("version") = nibble::kVersion;
  module.attr("has_cuda") = nibble::cuda::is_built();
  nb::set_leak_warnings(false);  // a Format in a global of some module is no leak
  nb::register_exception_translator(translate);
  pthread_atfork(nullptr, nullptr, work_alone);
  nibble::python::bind_format(module);
  nibble::python::bind_quantize(module);
  nibble::python::bind_codes(module);
  nibble::python::bind_stats(module);
  nibble::python::bind_matmul(module);
}
