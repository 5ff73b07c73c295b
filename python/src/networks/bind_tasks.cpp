// SPDX-License-Identifier: Apache-2.0
// What is done with models and runs that are there: evaluate, compare, emit; what they may ask for.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "nibble/core/limits.h"
#include "python/src/networks/bind.h"
#include "report/run_record.h"
#include "tasks/compare_models.h"
#include "tasks/emit_folder.h"
#include "tasks/evaluate_model.h"

namespace nibble::python {
namespace {

namespace nb = nanobind;

std::string evaluated(const ModelObject& model, const std::string& data, const std::string& split,
                      const std::string& shifts, const std::string& device, bool is_engine) {
  const nb::gil_scoped_release others_may_run;
  const EvaluateChoices choices{
      .data = data, .split = split, .shifts = shifts, .device = device, .is_engine = is_engine};
  return to_json(evaluate_model(copy_of(model.model()), choices), choices);
}

std::string compared_runs(const std::vector<std::string>& folders) {
  const nb::gil_scoped_release others_may_run;
  std::vector<RunRecord> runs;
  for (const std::string& folder : folders) runs.push_back(read_run(folder));
  return comparison_json(runs);
}

std::string compared_models(const ModelObject& first, const ModelObject& second,
                            const std::string& data, const std::string& device) {
  const nb::gil_scoped_release others_may_run;
  return to_json(compare_models(copy_of(first.model()), copy_of(second.model()),
                                load_dataset(data, Split::test), device));
}

nb::tuple emitted(const ModelObject& model, const std::filesystem::path& folder,
                  const std::string& prefix, bool uses_dsp, std::int64_t batch,
                  std::int64_t vectors, std::optional<std::int64_t> ram,
                  std::optional<std::int64_t> flash, bool is_forced) {
  EmitOutcome made;
  {
    const nb::gil_scoped_release others_may_run;
    TrainingStart start;
    start.model = copy_of(model.model());
    made = emit_folder(
        start, folder,
        {.settings =
             {.prefix = prefix, .uses_dsp = uses_dsp, .batch = batch, .ram = ram, .flash = flash},
         .vectors = vectors,
         .is_forced = is_forced});
  }
  return nb::make_tuple(made.files, made.figures.arena_bytes, made.figures.parameter_bytes,
                        made.figures.macs, made.figures.plan);
}

std::string changed_limits(const std::string& text) {
  set_limits(text.empty() ? Limits{} : parse_limits(text, limits()));
  return to_string(limits());
}

}  // namespace

void bind_tasks(nb::module_& module) {
  module.def("set_limits", changed_limits, nb::arg("text"));
  module.def("evaluate", evaluated, nb::arg("model"), nb::arg("data"), nb::arg("split"),
             nb::arg("shifts"), nb::arg("device"), nb::arg("engine"));
  module.def("compare_runs", compared_runs, nb::arg("folders"));
  module.def("compare_models", compared_models, nb::arg("first"), nb::arg("second"),
             nb::arg("data"), nb::arg("device"));
  module.def("emit", emitted, nb::arg("model"), nb::arg("folder"), nb::arg("prefix"),
             nb::arg("dsp"), nb::arg("batch"), nb::arg("vectors"), nb::arg("ram").none(),
             nb::arg("flash").none(), nb::arg("force"),
             nb::sig("def emit(model: Model, folder: str, prefix: str, dsp: bool, "
                     "batch: int, vectors: int, ram: int | None, flash: int | None, "
                     "force: bool) -> tuple[int, int, int, int, str]"));
}

}  // namespace nibble::python
