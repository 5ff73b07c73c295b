// SPDX-License-Identifier: Apache-2.0
// Quantization of whole networks, by the options of the command.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <utility>

#include "python/src/networks/bind.h"
#include "tasks/keyword_options.h"
#include "tasks/quantize_network.h"
#include "tasks/shared_options.h"

namespace nibble::python {
namespace {

namespace nb = nanobind;

ModelObject kept(Model model, const Origin& origin) {
  return {
      std::make_shared<const ModelFile>(ModelFile{.model = std::move(model), .origin = origin})};
}

QuantizedNetwork quantized(const ModelObject& model, const std::string& source,
                           const std::vector<KeywordOption>& options, const std::string& checkpoint,
                           const nb::object& progress) {
  const nb::gil_scoped_release others_may_run;
  const auto tell = [&](std::string_view stage, double share) {
    const nb::gil_scoped_acquire lock;
    if (!progress.is_none()) progress(std::string(stage), share);
  };
  QuantizedNetwork made;
  QuantizeChoices choices;
  choices.model = source;
  with_keywords(
      "quantize", options, [&](CLI::App& verb) { add_quantize_options(verb, choices); },
      [&](CLI::App& verb) {
        finish_quantize_options(verb, choices);
        use_threads(choices.threads);
        made = quantize_network(model.model(), choices,
                                {.is_silent = true,
                                 .on_stage = [&](std::string_view stage) { tell(stage, 0); },
                                 .after_epoch =
                                     [&](const FineTunedEpoch& epoch) {
                                       tell("fine-tuning",
                                            static_cast<double>(epoch.epoch) /
                                                static_cast<double>(choices.fine_tuning));
                                     },
                                 .checkpoint = checkpoint});
      });
  return made;
}

nb::tuple quantize(const ModelObject& model, const std::string& source,
                   const std::vector<KeywordOption>& options, const std::string& checkpoint,
                   const nb::object& progress) {
  QuantizedNetwork made = quantized(model, source, options, checkpoint, progress);
  return nb::make_tuple(kept(std::move(made.integers), made.origin),
                        kept(std::move(made.fake), made.origin), error_table_json(made.errors),
                        made.scan.empty() ? std::string("[]") : sensitivity_json(made.scan),
                        made.calibrated, made.seconds);
}

}  // namespace

void bind_quantize_network(nb::module_& module) {
  module.def("quantize_network", quantize, nb::arg("model"), nb::arg("source"), nb::arg("options"),
             nb::arg("checkpoint"), nb::arg("progress").none(),
             nb::sig("def quantize_network(model: Model, source: str, "
                     "options: list[tuple[str, list[str]]], checkpoint: str, "
                     "progress: typing.Any) -> tuple[Model, Model, str, str, int, float]"));
}

}  // namespace nibble::python
