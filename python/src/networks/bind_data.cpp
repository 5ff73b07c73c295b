// SPDX-License-Identifier: Apache-2.0
// Arrays as a data set that every task finds by its name, and data sets as arrays.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>

#include <filesystem>
#include <map>
#include <string>

#include "data/picture_export.h"
#include "nibble/data/dataset.h"
#include "python/src/array.h"
#include "python/src/errors.h"
#include "python/src/networks/bind.h"
#include "python/src/new_arrays.h"
#include "python/src/strided.h"

namespace nibble::python {
namespace {

namespace nb = nanobind;

Tensor tensor_of(const std::string& name, nb::handle object) {
  const Array array(object, {"data", name, kNumbers}, Access::read);
  if (!array.is_on_cpu()) throw StateMistake("data", name, "an array on a GPU", "one on the CPU");
  Tensor gathered;
  const ConstTensorView values = dense(array, gathered);
  return gathered.data() != nullptr ? std::move(gathered) : copy_of(values);
}

void add_split(nb::dict& arrays, const std::string& name, Split split) {
  Dataset found;
  {
    const nb::gil_scoped_release others_may_run;
    found = load_dataset(name, split);
  }
  const std::string suffix = "_" + std::string(name_of(split));
  const bool has_targets = found.has_targets();
  arrays[nb::str(("x" + suffix).c_str())] =
      to_python(copy_of(found.images.view()), Array::Kind::numpy);
  if (found.has_answers())
    arrays[nb::str(("y" + suffix).c_str())] =
        to_python(std::move(has_targets ? found.targets : found.labels), Array::Kind::numpy);
}

nb::dict arrays_of_dataset(const std::string& name) {
  nb::dict arrays;
  for (const Split split : {Split::train, Split::test})
    if (has_split(name, split)) add_split(arrays, name, split);
  return arrays;
}

// How many pictures of train and of test there are.
nb::tuple exported(const std::string& name, const std::filesystem::path& out) {
  ExportedPictures made;
  {
    const nb::gil_scoped_release others_may_run;
    made = export_pictures(name, out);
  }
  return nb::make_tuple(made.train, made.test);
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
  module.def("dataset", arrays_of_dataset, nb::arg("name"));
  module.def("export_pictures", exported, nb::arg("name"), nb::arg("out"),
             nb::sig("def export_pictures(name: str, out: str) -> tuple[int, int]"));
}

}  // namespace nibble::python
