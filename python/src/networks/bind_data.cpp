// SPDX-License-Identifier: Apache-2.0
// Arrays as a data set that every task finds by its name.
#include <nanobind/stl/string.h>

#include <map>
#include <string>

#include "nibble/data/memory_dataset.h"
#include "python/src/array.h"
#include "python/src/errors.h"
#include "python/src/networks/bind.h"
#include "python/src/strided.h"

namespace nibble::python {
namespace {

namespace nb = nanobind;

Tensor tensor_of(const std::string& name, nb::handle object) {
  const Array array(object, {"data", name}, Access::read);
  if (!array.is_on_cpu()) throw StateMistake("data", name, "an array on a GPU", "one on the CPU");
  Tensor gathered;
  const ConstTensorView values = dense(array, gathered);
  return gathered.data() != nullptr ? std::move(gathered) : copy_of(values);
}

}  // namespace

void bind_data(nb::module_& module) {
  nb::class_<MemoryDataset>(module, "MemoryDataset")
      .def(
          "__init__",
          [](MemoryDataset* self, const std::string& name, const nb::dict& arrays) {
            std::map<std::string, Tensor> tensors;
            for (const auto [key, value] : arrays) {
              const auto part = nb::cast<std::string>(key);
              tensors.emplace(part, tensor_of(part, value));
            }
            new (self) MemoryDataset(name, std::move(tensors));
          },
          nb::arg("name"), nb::arg("arrays"));
}

}  // namespace nibble::python
