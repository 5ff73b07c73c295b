// SPDX-License-Identifier: Apache-2.0
// Training, by the options of the command, into the same run folder.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "nibble/core/error.h"
#include "nibble/graph/network_text.h"
#include "python/src/networks/bind.h"
#include "tasks/any_recipe.h"
#include "tasks/keyword_options.h"

namespace nibble::python {
namespace {

namespace nb = nanobind;

// Tells Python how many epochs there will be, then of every one what its row has.
class EpochSink final : public EventSink {
 public:
  EpochSink(const nb::object& callback, std::int64_t epochs)
      : callback_(callback), epochs_(epochs) {
    const nb::gil_scoped_acquire lock;
    callback_(nb::none(), epochs_);
  }

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
    callback_(row, epochs_);
  }

 private:
  const nb::object& callback_;
  std::int64_t epochs_;
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
  std::string profile = {};  // where a trace of one step goes; empty: none
};

struct Trained {
  std::string folder;
  TrainResult result;
};

TrainOptions options_of(const TrainCall& call, const std::string& folder, std::int64_t epochs,
                        const nb::object& callback) {
  return {.folder = folder,
          .mode = mode_of(call.mode),
          .progress = ProgressStyle::silent,
          .checkpoint_every = call.checkpoint_every,
          .stop_after = call.stop_after,
          .has_layer_statistics = call.has_layer_statistics,
          .profile = call.profile,
          .make_events = [&callback, epochs](const RunFolder& run,
                                             std::optional<std::int64_t> resumed_at) {
            auto fan = std::make_unique<EventFan>();
            fan->add(tensorboard_sink(run, resumed_at));
            fan->add(std::make_unique<EpochSink>(callback, epochs));
            return std::unique_ptr<EventSink>(std::move(fan));
          }};
}

void check_epochs(const char* what, std::int64_t epochs) {
  if (epochs < 0) throw Error("train", what, std::to_string(epochs), "0 or more");
}

// Reads the options of a call and hands its recipe over.
void with_recipe(const TrainCall& call, const std::function<void(AnyRecipe&)>& use) {
  check_epochs("checkpoint_every", call.checkpoint_every);
  check_epochs("stop_after", call.stop_after);
  TrainFlags flags;
  IntegerFlags integers;
  flags.what = call.what;
  if (call.network) flags.network = parse_network(*call.network, "network");
  with_keywords(
      "train", call.options,
      [&](CLI::App& verb) {
        add_train_flags(verb, flags);
        add_integer_flags(verb, integers);
      },
      [&](CLI::App&) {
        AnyRecipe recipe = any_recipe_of(flags, integers);
        use(recipe);
      });
}

std::string folder_of(const TrainCall& call, const RunSettings& settings) {
  return call.folder.empty() ? usual_folder(settings) : call.folder;
}

Trained trained(const TrainCall& call, const nb::object& callback) {
  const nb::gil_scoped_release others_may_run;
  Trained made;
  with_recipe(call, [&](AnyRecipe& recipe) {
    const RunSettings& settings = settings_of(recipe);
    made.folder = folder_of(call, settings);
    made.result = train_any(recipe, options_of(call, made.folder, settings.epochs, callback));
  });
  return made;
}

// Where a run will be, by options that are checked as if it began.
std::string planned_folder(const TrainCall& call, int ranks) {
  const nb::gil_scoped_release others_may_run;
  (void)mode_of(call.mode);
  std::string folder;
  with_recipe(call, [&](AnyRecipe& recipe) {
    if (std::holds_alternative<Recipe>(recipe)) check_float_processes(ranks);
    folder = folder_of(call, settings_of(recipe));
  });
  return folder;
}

}  // namespace

void bind_train(nb::module_& module) {
  module.def(
      "train",
      [](const std::string& what, const std::optional<std::string>& network,
         const std::vector<KeywordOption>& options, const std::string& folder,
         const std::string& mode, std::int64_t checkpoint_every, std::int64_t stop_after,
         bool layer_statistics, const std::string& profile, const nb::object& callback) {
        const Trained made = trained({what, network, options, folder, mode, checkpoint_every,
                                      stop_after, layer_statistics, profile},
                                     callback);
        return nb::make_tuple(made.folder, made.result.is_complete, made.result.stopped_by,
                              made.result.epochs, made.result.steps);
      },
      nb::arg("what"), nb::arg("network").none(), nb::arg("options"), nb::arg("folder"),
      nb::arg("mode"), nb::arg("checkpoint_every"), nb::arg("stop_after"),
      nb::arg("layer_statistics"), nb::arg("profile"), nb::arg("callback"),
      nb::sig("def train(what: str, network: str | None, options: list[tuple[str, list[str]]], "
              "folder: str, mode: str, checkpoint_every: int, stop_after: int, "
              "layer_statistics: bool, profile: str, callback: typing.Any) -> "
              "tuple[str, bool, int, int, int]"));
  module.def(
      "planned_folder",
      [](const std::string& what, const std::optional<std::string>& network,
         const std::vector<KeywordOption>& options, const std::string& folder,
         const std::string& mode, std::int64_t checkpoint_every, std::int64_t stop_after,
         int ranks) {
        return planned_folder({what, network, options, folder, mode, checkpoint_every, stop_after},
                              ranks);
      },
      nb::arg("what"), nb::arg("network").none(), nb::arg("options"), nb::arg("folder"),
      nb::arg("mode"), nb::arg("checkpoint_every"), nb::arg("stop_after"), nb::arg("ranks"),
      nb::sig("def planned_folder(what: str, network: str | None, "
              "options: list[tuple[str, list[str]]], folder: str, mode: str, "
              "checkpoint_every: int, stop_after: int, ranks: int) -> str"));
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
