// SPDX-License-Identifier: Apache-2.0
// What runs of LoadGen were worth: their figures, their answers, the compliance tests.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "loadgen/compliance.h"
#include "loadgen/load_result.h"
#include "loadgen/score.h"
#include "python/src/networks/bind.h"

namespace nibble::python {
namespace {

namespace nb = nanobind;
namespace fs = std::filesystem;

// Whether nothing is wrong with a run, what is, and LoadGen's figures.
nb::tuple result_of(const fs::path& folder) {
  const LoadResult found = read_load_result(folder);
  return nb::make_tuple(found.is_valid.value_or(true), found.reason, found.figures);
}

// Samples, those that were answered, right ones, right among five; compared and agreed with
// `oracle`.
nb::tuple scored(const fs::path& log, const std::string& data, const std::string& split,
                 const std::optional<fs::path>& oracle) {
  Score score;
  LogAgreement agreement;
  {
    const nb::gil_scoped_release others_may_run;
    const LoggedClasses answers = read_logged_classes(log);
    const auto kept = labels_of_run(log.parent_path());
    score = score_of(answers, kept ? *kept : labels_of(data, split));
    if (oracle) agreement = agreement_of(answers, read_accuracy_log(*oracle));
  }
  return nb::make_tuple(score.samples, score.answered, score.top1, score.top5, agreement.compared,
                        agreement.agreed);
}

nb::tuple told(const Compliance& found) {
  return nb::make_tuple(found.has_passed, found.text);
}

}  // namespace

void bind_loadgen(nb::module_& module) {
  module.def("load_result", result_of, nb::arg("folder"),
             nb::sig("def load_result(folder: str) -> tuple[bool, str, dict[str, float]]"));
  module.def("load_score", scored, nb::arg("log"), nb::arg("data"), nb::arg("split"),
             nb::arg("oracle").none(),
             nb::sig("def load_score(log: str, data: str, split: str, oracle: str | None) -> "
                     "tuple[int, int, int, int | None, int, int]"));
  module.def(
      "load_test01",
      [](const fs::path& accuracy, const fs::path& performance, const fs::path& audit) {
        return told(test01(accuracy, performance, audit));
      },
      nb::arg("accuracy"), nb::arg("performance"), nb::arg("audit"),
      nb::sig("def load_test01(accuracy: str, performance: str, audit: str) -> tuple[bool, str]"));
  module.def(
      "load_test04",
      [](const fs::path& performance, const fs::path& same) {
        return told(test04(performance, same));
      },
      nb::arg("performance"), nb::arg("same"),
      nb::sig("def load_test04(performance: str, same: str) -> tuple[bool, str]"));
}

}  // namespace nibble::python
