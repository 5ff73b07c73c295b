// SPDX-License-Identifier: Apache-2.0
// A model in memory: its network, its numbers, where it came from.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/hash.h"
#include "nibble/foreign/onnx.h"
#include "nibble/graph/network_text.h"
#include "nibble/version.h"
#include "python/src/errors.h"
#include "python/src/networks/bind.h"
#include "python/src/new_arrays.h"
#include "tasks/convert_model.h"
#include "tasks/keyword_options.h"
#include "tasks/open_model.h"
#include "tasks/train_flags.h"

namespace nibble::python {
namespace {

namespace nb = nanobind;
namespace fs = std::filesystem;

ModelObject opened(const fs::path& path) {
  const nb::gil_scoped_release others_may_run;
  return {std::make_shared<const ModelFile>(open_model(path))};
}

void save(const ModelObject& self, const fs::path& path) {
  const nb::gil_scoped_release others_may_run;
  write_model(path, self.model(), self.file->origin);
}

void save_onnx(const ModelObject& self, const fs::path& path) {
  const nb::gil_scoped_release others_may_run;
  write_onnx(self.model(), path);
}

// The model, and what was left out on the way.
nb::tuple converted(const std::string& from, const std::optional<std::string>& to,
                    const std::vector<KeywordOption>& options) {
  Converted made;
  {
    const nb::gil_scoped_release others_may_run;
    ConvertFlags flags;
    flags.from = from;
    flags.to = to;
    with_keywords(
        "convert", options, [&](CLI::App& verb) { add_convert_options(verb, flags); },
        [&](const CLI::App& verb) { made = convert_model(verb, flags); });
  }
  return nb::make_tuple(ModelObject{std::make_shared<const ModelFile>(std::move(made.file))},
                        made.notes);
}

nb::dict parameters(const ModelObject& self) {
  nb::dict arrays;
  const std::vector<Parameter> described = parameters_of(self.model().network);
  for (std::size_t i = 0; i < described.size(); ++i) {
    arrays[described[i].name.c_str()] =
        to_python(copy_of(self.model().parameters[i].view()), Array::Kind::numpy);
  }
  return arrays;
}

nb::tuple input_shape(const Network& network) {
  nb::list extents;
  for (const std::int64_t extent : input_of(network).shape.extents()) extents.append(extent);
  return nb::tuple(extents);
}

std::size_t bytes_of(const ModelObject& self) {
  std::size_t bytes = 0;
  for (const Tensor& each : self.model().parameters) bytes += each.bytes();
  return bytes;
}

}  // namespace

void bind_model(nb::module_& module) {
  nb::class_<ModelObject>(module, "Model")
      .def_static("open", opened, nb::arg("path"))
      .def("save", save, nb::arg("path"))
      .def("save_onnx", save_onnx, nb::arg("path"))
      .def("parameters", parameters, nb::sig("def parameters(self) -> dict[str, typing.Any]"))
      .def_prop_ro("name", [](const ModelObject& self) { return self.model().network.name; })
      .def_prop_ro("toml", [](const ModelObject& self) { return to_toml(self.model().network); })
      .def_prop_ro("classes",
                   [](const ModelObject& self) { return self.model().network.class_names; })
      .def_prop_ro(
          "input_shape", [](const ModelObject& self) { return input_shape(self.model().network); },
          nb::sig("def input_shape(self) -> tuple[int, ...]"))
      .def_prop_ro("is_float", [](const ModelObject& self) { return is_float_model(self.model()); })
      .def_prop_ro("nbytes", bytes_of)
      .def_prop_ro("weights_hash",
                   [](const ModelObject& self) { return hex(weights_hash(self.model())); })
      .def_prop_ro("origin", [](const ModelObject& self) { return self.file->origin; });

  module.def("convert", converted, nb::arg("source"), nb::arg("to").none(), nb::arg("options"),
             nb::sig("def convert(source: str, to: str | None, "
                     "options: list[tuple[str, list[str]]]) -> tuple[Model, list[str]]"));
  module.def(
      "named_networks",
      [] {
        nb::list rows;
        for (const NamedNetwork& each : named_networks())
          rows.append(nb::make_tuple(std::string(each.name), std::string(each.toml)));
        return rows;
      },
      nb::sig("def named_networks() -> list[tuple[str, str]]"));
  // The canonical text and the shape of the input; throws where the network is not one.
  module.def(
      "checked_network",
      [](const std::string& toml, const std::string& source) {
        const Network network = parse_network(toml, source);
        (void)infer_shapes(network);
        return nb::make_tuple(network.name, to_toml(network), input_shape(network));
      },
      nb::arg("toml"), nb::arg("source"),
      nb::sig("def checked_network(toml: str, source: str) -> tuple[str, str, tuple[int, ...]]"));
  // Of one example of what is trained: a recipe or a network, by name or path.
  module.def(
      "input_shape", [](const std::string& what) { return input_shape(trained_network(what)); },
      nb::arg("what"), nb::sig("def input_shape(what: str) -> tuple[int, ...]"));
}

}  // namespace nibble::python
