// SPDX-License-Identifier: Apache-2.0
// Which Python exception an error becomes.
#include "python/src/errors.h"

#include <nanobind/stl/string.h>
#include <pthread.h>

#include <exception>

#include "core/name.h"
#include "nibble/core/parallel.h"

namespace nibble::python {
namespace {

const char* class_of(const Error& error) {
  if (dynamic_cast<const TypeMistake*>(&error) != nullptr) return "ArgumentTypeError";
  if (dynamic_cast<const StateMistake*>(&error) != nullptr) return "StateError";
  switch (error.kind()) {
    case ErrorKind::usage:
      return "UsageError";
    case ErrorKind::input:
      return "InputError";
    case ErrorKind::limit:
      return "LimitError";
    case ErrorKind::memory:
      return "OutOfMemoryError";
    case ErrorKind::system:
      return "PlatformError";
    case ErrorKind::device:
      return "DeviceError";
    case ErrorKind::internal:
      return "InternalError";
  }
  return "Error";
}

void translate(const std::exception_ptr& exception, void*) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    const nanobind::object object = to_exception(error);
    PyErr_SetObject(object.type().ptr(), object.ptr());
  }
}

// OpenMP's threads stay behind in the parent: a child that asked for them would wait forever.
void work_alone() {
  set_thread_count(1);
}

}  // namespace

std::string one_line(std::string text) {
  for (std::size_t at = 0; (at = text.find_first_of("\n\r", at)) != std::string::npos;) {
    text.replace(at, 1, text[at] == '\n' ? "\\n" : "\\r");
  }
  return well_formed(text);
}

nanobind::object to_exception(const Error& error) {
  return nanobind::module_::import_("nibble.errors").attr(class_of(error))(one_line(error.what()));
}

void prepare_extension() {
  nanobind::set_leak_warnings(false);  // an object in a global of some module is no leak
  nanobind::register_exception_translator(translate);
  pthread_atfork(nullptr, nullptr, work_alone);
}

}  // namespace nibble::python
