// SPDX-License-Identifier: Apache-2.0
// Quantization of whole networks, by the options of the command.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/atomic_file.h"
#include "python/src/networks/bind.h"
#include "tasks/keyword_options.h"
#include "tasks/quantize_network.h"
#include "tasks/quantize_outcome.h"
#include "tasks/quantize_report.h"
#include "tasks/shared_options.h"

namespace nibble::python {
namespace {

namespace nb = nanobind;

ModelObject kept(Model model, const Origin& origin) {
  return {
      std::make_shared<const ModelFile>(ModelFile{.model = std::move(model), .origin = origin})};
}

// What Python is told: the stage and how many epochs of fine-tuning there are; of these an epoch as
// far as it is, and whether it is over.
class Teller {
 public:
  Teller(const nb::object& progress, const QuantizeChoices& choices)
      : progress_(progress), choices_(choices) {}

  void begin(std::string_view stage) const {
    const nb::gil_scoped_acquire lock;
    progress_(std::string(stage), choices_.fine_tuning, nb::none(), false);
  }

  void tell(const FineTunedEpoch& epoch, bool is_over) const {
    const nb::gil_scoped_acquire lock;
    nb::dict row;
    row["epoch"] = epoch.epoch;
    row["train_loss"] = epoch.loss;
    row["train_top1"] = epoch.top1;
    row["seconds"] = epoch.seconds;
    row["share"] = epoch.share;
    progress_("fine-tuning", choices_.fine_tuning, row, is_over);
  }

  QuantizeManner manner(const std::string& checkpoint) const {
    return {.is_silent = true,
            .on_stage = [this](std::string_view stage) { begin(stage); },
            .after_epoch = [this](const FineTunedEpoch& epoch) { tell(epoch, true); },
            .during_epoch = [this](const FineTunedEpoch& epoch) { tell(epoch, false); },
            .checkpoint = checkpoint};
  }

 private:
  const nb::object& progress_;
  const QuantizeChoices& choices_;
};

struct QuantizeCall {
  const ModelObject& model;
  const std::string& source;
  const std::vector<KeywordOption>& options;
  const std::string& checkpoint;
  const std::string& report;  // a page; empty: none
};

void write_report(const QuantizeCall& call, const QuantizeChoices& choices,
                  const QuantizedNetwork& made) {
  const Dataset* test = made.test ? &*made.test : nullptr;
  write_quantize_report(call.report, choices, made, outcome_of_floats(call.model.model(), test),
                        outcome_of_integers(made.integers, test, choices.device));
}

QuantizedNetwork quantized(const QuantizeCall& call, const nb::object& progress) {
  const nb::gil_scoped_release others_may_run;
  QuantizedNetwork made;
  QuantizeChoices choices;
  choices.model = call.source;
  with_keywords(
      "quantize", call.options, [&](CLI::App& verb) { add_quantize_options(verb, choices); },
      [&](CLI::App& verb) {
        finish_quantize_options(verb, choices);
        use_threads(choices.threads);
        choices.mixed.is_reported = !call.report.empty();
        if (!call.report.empty()) check_writable(call.report);
        const Teller teller(progress, choices);
        made = quantize_network(call.model.model(), choices, teller.manner(call.checkpoint));
        if (!call.report.empty()) write_report(call, choices, made);
      });
  return made;
}

nb::tuple quantize(const ModelObject& model, const std::string& source,
                   const std::vector<KeywordOption>& options, const std::string& checkpoint,
                   const std::string& report, const nb::object& progress) {
  QuantizedNetwork made = quantized({model, source, options, checkpoint, report}, progress);
  return nb::make_tuple(kept(std::move(made.integers), made.origin),
                        kept(std::move(made.fake), made.origin), error_table_json(made.errors),
                        made.scan.empty() ? std::string("[]") : sensitivity_json(made.scan),
                        made.calibrated, made.seconds);
}

// How many images of --calib these options use; none: all of them.
std::optional<std::int64_t> calibration_samples(const std::vector<KeywordOption>& options) {
  QuantizeChoices choices;
  with_keywords(
      "quantize", options, [&](CLI::App& verb) { add_quantize_options(verb, choices); },
      [&](CLI::App& verb) { finish_quantize_options(verb, choices); });
  const bool trains_on_it = choices.fine_tuning > 0 && choices.data.empty();
  if (trains_on_it || choices.mixed.max_loss) return std::nullopt;
  return choices.samples;
}

}  // namespace

void bind_quantize_network(nb::module_& module) {
  module.def("quantize_network", quantize, nb::arg("model"), nb::arg("source"), nb::arg("options"),
             nb::arg("checkpoint"), nb::arg("report"), nb::arg("progress"),
             nb::sig("def quantize_network(model: Model, source: str, "
                     "options: list[tuple[str, list[str]]], checkpoint: str, report: str, "
                     "progress: typing.Any) -> tuple[Model, Model, str, str, int, float]"));
  module.def("calibration_samples", calibration_samples, nb::arg("options"),
             nb::sig("def calibration_samples(options: list[tuple[str, list[str]]]) -> "
                     "int | None"));
}

}  // namespace nibble::python
