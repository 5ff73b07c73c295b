// SPDX-License-Identifier: Apache-2.0
// Training, by the options of the command, into the same run folder.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "nibble/core/error.h"
#include "nibble/float_training/train.h"
#include "nibble/graph/network_text.h"
#include "nibble/integer_training/train_integers.h"
#include "python/src/networks/bind.h"
#include "tasks/integer_flags.h"
#include "tasks/keyword_options.h"
#include "tasks/place_step.h"
#include "tasks/train_flags.h"

namespace nibble::python {
namespace {

namespace nb = nanobind;

// Tells Python of every epoch: what its row has.
class EpochSink final : public EventSink {
 public:
  explicit EpochSink(const nb::object& callback) : callback_(callback) {}

  void scalar(std::string_view tag, std::int64_t step, double value) override {
    const bool is_of_epoch = !tag.starts_with("batch/") && tag.find('/') == tag.rfind('/');
    if (is_of_epoch) {
      std::string name(tag);
      std::ranges::replace(name, '/', '_');
      row_[name] = value;
    }
    step_ = step;
  }
  void histogram(std::string_view, std::int64_t, std::span<const float>) override {}
  void counted_histogram(std::string_view, std::int64_t, std::span<const CountedValue>) override {}
  void text(std::string_view, std::int64_t, std::string_view) override {}
  void flush() override {
    if (!row_.contains("epoch_number")) return;
    const nb::gil_scoped_acquire lock;
    nb::dict row;
    for (const auto& [name, value] : row_) row[name.c_str()] = value;
    row["step"] = step_;
    row_.clear();
    callback_(row);
  }

 private:
  const nb::object& callback_;
  std::map<std::string, double> row_;
  std::int64_t step_ = 0;
};

RunFolderMode mode_of(const std::string& name) {
  static const std::map<std::string, RunFolderMode> kModes = {
      {"fresh", RunFolderMode::fresh},
      {"overwrite", RunFolderMode::overwrite},
      {"resume", RunFolderMode::resume},
      {"continue", RunFolderMode::start_or_resume}};
  const auto found = kModes.find(name);
  if (found == kModes.end())
    throw Error("train", "mode", "'" + name + "'", "fresh, overwrite, resume or continue");
  return found->second;
}

struct TrainCall {
  std::string what;
  std::optional<std::string> network;  // as TOML, in place of `what`
  std::vector<KeywordOption> options;
  std::string folder;
  std::string mode;
  std::int64_t checkpoint_every = 1;
  std::int64_t stop_after = 0;
  bool has_layer_statistics = true;
};

struct Trained {
  std::string folder;
  TrainResult result;
};

TrainOptions options_of(const TrainCall& call, const std::string& folder,
                        const nb::object& callback) {
  return {.folder = folder,
          .mode = mode_of(call.mode),
          .progress = ProgressStyle::silent,
          .checkpoint_every = call.checkpoint_every,
          .stop_after = call.stop_after,
          .has_layer_statistics = call.has_layer_statistics,
          .make_events = [&callback](const RunFolder& run, std::optional<std::int64_t> resumed_at) {
            auto fan = std::make_unique<EventFan>();
            fan->add(tensorboard_sink(run, resumed_at));
            fan->add(std::make_unique<EpochSink>(callback));
            return std::unique_ptr<EventSink>(std::move(fan));
          }};
}

void check_epochs(const char* what, std::int64_t epochs) {
  if (epochs < 0) throw Error("train", what, std::to_string(epochs), "0 or more");
}

Trained trained(const TrainCall& call, const nb::object& callback) {
  check_epochs("checkpoint_every", call.checkpoint_every);
  check_epochs("stop_after", call.stop_after);
  const nb::gil_scoped_release others_may_run;
  TrainFlags flags;
  IntegerFlags integers;
  flags.what = call.what;
  if (call.network) flags.network = parse_network(*call.network, "network");
  Trained made;
  const auto run = [&](const auto& train_one, const auto& recipe) {
    made.folder = call.folder.empty() ? usual_folder(recipe) : call.folder;
    made.result = train_one(recipe, options_of(call, made.folder, callback));
  };
  with_keywords(
      "train", call.options,
      [&](CLI::App& verb) {
        add_train_flags(verb, flags);
        add_integer_flags(verb, integers);
      },
      [&](CLI::App&) {
        check_arithmetic(flags, integers);
        if (is_integer(flags, integers)) {
          IntegerRecipe recipe = integer_recipe_of(flags, integers);
          place_recipe(recipe);
          run(train_integers, recipe);
        } else {
          Recipe recipe = recipe_of(flags);
          place_recipe(recipe);
          run(static_cast<TrainResult (*)(const Recipe&, const TrainOptions&)>(train), recipe);
        }
      });
  return made;
}

}  // namespace

void bind_train(nb::module_& module) {
  module.def(
      "train",
      [](const std::string& what, const std::optional<std::string>& network,
         const std::vector<KeywordOption>& options, const std::string& folder,
         const std::string& mode, std::int64_t checkpoint_every, std::int64_t stop_after,
         bool layer_statistics, const nb::object& callback) {
        const Trained made = trained(
            {what, network, options, folder, mode, checkpoint_every, stop_after, layer_statistics},
            callback);
        return nb::make_tuple(made.folder, made.result.is_complete, made.result.stopped_by,
                              made.result.epochs, made.result.steps);
      },
      nb::arg("what"), nb::arg("network").none(), nb::arg("options"), nb::arg("folder"),
      nb::arg("mode"), nb::arg("checkpoint_every"), nb::arg("stop_after"),
      nb::arg("layer_statistics"), nb::arg("callback"),
      nb::sig("def train(what: str, network: str | None, options: list[tuple[str, list[str]]], "
              "folder: str, mode: str, checkpoint_every: int, stop_after: int, "
              "layer_statistics: bool, callback: typing.Any) -> tuple[str, bool, int, int, int]"));
  module.def(
      "named_recipes",
      [] {
        nb::list rows;
        for (const NamedRecipe& each : named_recipes())
          rows.append(nb::make_tuple(std::string(each.name), std::string(each.toml)));
        return rows;
      },
      nb::sig("def named_recipes() -> list[tuple[str, str]]"));
}

}  // namespace nibble::python
