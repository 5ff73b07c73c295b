// SPDX-License-Identifier: Apache-2.0
// What is done with models and runs that are there: evaluate, compare, emit; what they may ask for.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "nibble/core/error.h"
#include "nibble/core/limits.h"
#include "nibble/core/parallel.h"
#include "python/src/networks/bind.h"
#include "report/run_record.h"
#include "tasks/compare_models.h"
#include "tasks/emit_folder.h"
#include "tasks/evaluate_model.h"
#include "tasks/keyword_options.h"
#include "tasks/shared_options.h"

namespace nibble::python {
namespace {

namespace nb = nanobind;

// The process computes with so many threads until it ends; 0: with as many as before.
class ThreadsOfCall {
 public:
  explicit ThreadsOfCall(int threads) : before_(threads > 0 ? thread_count() : 0) {
    use_threads(threads);
  }
  ~ThreadsOfCall() {
    if (before_ > 0) set_thread_count(before_);
  }
  ThreadsOfCall(const ThreadsOfCall&) = delete;
  ThreadsOfCall& operator=(const ThreadsOfCall&) = delete;

 private:
  int before_;
};

std::string evaluated(const ModelObject& model, const std::vector<KeywordOption>& options) {
  const nb::gil_scoped_release others_may_run;
  std::string json;
  EvaluateChoices choices;
  with_keywords(
      "eval", options, [&](CLI::App& verb) { add_evaluate_options(verb, choices); },
      [&](CLI::App&) {
        const ThreadsOfCall threads(choices.threads);
        json = to_json(evaluate_model(copy_of(model.model()), choices), choices);
      });
  return json;
}

std::string compared_runs(const std::vector<std::string>& folders) {
  const nb::gil_scoped_release others_may_run;
  std::vector<RunRecord> runs;
  for (const std::string& folder : folders) runs.push_back(read_run(folder));
  return comparison_json(runs);
}

std::string compared_models(const ModelObject& first, const ModelObject& second,
                            const std::string& data, const std::string& device,
                            std::int64_t image_size, const std::string& pictures) {
  if (image_size < 0) throw Error("compare", "image_size", std::to_string(image_size), "1 or more");
  const nb::gil_scoped_release others_may_run;
  const Dataset loaded =
      load_dataset(data, Split::test,
                   {.image_size = image_size, .input = input_of(first.model().network).shape});
  const ModelComparison found =
      compare_models(copy_of(first.model()), copy_of(second.model()), loaded, device);
  if (!pictures.empty()) write_pictures(pictures, loaded, found.different);
  return to_json(found);
}

std::string emitted(const ModelObject& model, const std::filesystem::path& folder,
                    const std::string& prefix, bool uses_dsp, std::int64_t batch,
                    std::int64_t vectors, std::optional<std::int64_t> ram,
                    std::optional<std::int64_t> flash, bool is_forced) {
  const nb::gil_scoped_release others_may_run;
  TrainingStart start;
  start.model = copy_of(model.model());
  return to_json(emit_folder(
      start, folder,
      {.settings =
           {.prefix = prefix, .uses_dsp = uses_dsp, .batch = batch, .ram = ram, .flash = flash},
       .vectors = vectors,
       .is_forced = is_forced}));
}

std::string changed_limits(const std::string& text) {
  set_limits(text.empty() ? Limits{} : parse_limits(text, limits()));
  return to_string(limits());
}

}  // namespace

void bind_tasks(nb::module_& module) {
  module.def("set_limits", changed_limits, nb::arg("text"));
  module.def("evaluate", evaluated, nb::arg("model"), nb::arg("options"),
             nb::sig("def evaluate(model: Model, options: list[tuple[str, list[str]]]) -> str"));
  module.def("compare_runs", compared_runs, nb::arg("folders"));
  module.def("compare_models", compared_models, nb::arg("first"), nb::arg("second"),
             nb::arg("data"), nb::arg("device"), nb::arg("image_size"), nb::arg("pictures"));
  module.def("emit", emitted, nb::arg("model"), nb::arg("folder"), nb::arg("prefix"),
             nb::arg("dsp"), nb::arg("batch"), nb::arg("vectors"), nb::arg("ram").none(),
             nb::arg("flash").none(), nb::arg("force"),
             nb::sig("def emit(model: Model, folder: str, prefix: str, dsp: bool, "
                     "batch: int, vectors: int, ram: int | None, flash: int | None, "
                     "force: bool) -> str"));
}

}  // namespace nibble::python
