// SPDX-License-Identifier: Apache-2.0
// nibble eval: how a model does on a data set.
#include <fmt/format.h>

#include <algorithm>
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/nibble/json.h"
#include "apps/nibble/train_flags.h"
#include "apps/nibble/verb.h"
#include "nibble/core/hash.h"
#include "nibble/core/parallel.h"
#include "nibble/graph/model_file.h"
#include "nibble/integer_run/train_integers.h"
#include "nibble/train/evaluate.h"

namespace nibble {
namespace {

struct Flags {
  std::string model;
  std::string data;
  std::string split = "test";
  std::string policy;
  std::string shifts = "frozen";
  std::int64_t image_size = 0;
  int threads = 0;
  bool is_json = false;
  bool has_confusion = false;
};

void print_confusion(const Classification& classes, const std::vector<std::string>& names) {
  const auto name = [&](std::int64_t i) {
    const auto place = static_cast<std::size_t>(i);
    return place < names.size() ? names[place] : std::to_string(i);
  };
  std::size_t width = 5;
  for (std::int64_t i = 0; i < classes.classes(); ++i) width = std::max(width, name(i).size());
  fmt::print("\nlabel (down), answer (across)\n{:<{}}", "", width);
  for (std::int64_t i = 0; i < classes.classes(); ++i) fmt::print(" {:>5}", name(i).substr(0, 5));
  fmt::print("\n");
  for (std::int64_t label = 0; label < classes.classes(); ++label) {
    fmt::print("{:<{}}", name(label), width);
    for (std::int64_t answer = 0; answer < classes.classes(); ++answer)
      fmt::print(" {:>5}", classes.confusion(label, answer));
    fmt::print("\n");
  }
}

Evaluation evaluation_of(const Model& model, const Dataset& data, const Flags& flags) {
  const auto progress = flags.is_json ? ProgressStyle::silent : ProgressStyle::automatic;
  if (is_integer_model(model)) {
    return evaluate_integers(
        model, data, flags.shifts == "frozen" ? ShiftRule::frozen : ShiftRule::exact, progress);
  }
  std::optional<PrecisionPolicy> policy;
  if (!flags.policy.empty()) {
    policy = load_policy(flags.policy);
    check_policy(*policy, model.network);
  }
  return evaluate(model, data, {.policy = policy ? &*policy : nullptr, .progress = progress});
}

void run(const Flags& flags) {
  if (flags.threads > 0) set_thread_count(flags.threads);
  // A run folder stands for its best model, else for its last.
  std::filesystem::path path = flags.model;
  if (std::filesystem::is_directory(path)) {
    path = std::filesystem::exists(path / "best.nib") ? path / "best.nib" : path / "model.nib";
  }
  const Model model = read_model(path).model;
  const Dataset data = load_dataset(flags.data, flags.split == "train" ? Split::train : Split::test,
                                    {.image_size = flags.image_size});
  const Evaluation result = evaluation_of(model, data, flags);
  if (flags.is_json) {
    Json json{{"model", path.string()},
              {"network", model.network.name},
              {"data", flags.data},
              {"split", flags.split},
              {"weights_hash", hex(weights_hash(model))}};
    if (result.classes) {
      json.update(Json::parse(to_json(*result.classes, data.class_names)));
    } else {
      json["images"] = result.images;
    }
    json["loss"] = result.loss;
    fmt::print("{}\n", json.dump(2));
    return;
  }
  if (!result.classes) {
    fmt::print("loss {:.6f} over {} examples\n", result.loss, result.images);
    return;
  }
  fmt::print("{} of {} images right: {:.2f} % top-1, {:.2f} % top-5, loss {:.4f}\n",
             result.classes->correct(), result.images, 100 * result.classes->top1(),
             100 * result.classes->top5(), result.loss);
  if (flags.has_confusion) print_confusion(*result.classes, data.class_names);
}

}  // namespace

void add_eval(CLI::App& app) {
  CLI::App& verb = *app.add_subcommand("eval", "how a model does on a data set");
  const auto flags = std::make_shared<Flags>();
  verb.add_option("MODEL", flags->model,
                  "a .nib file, or a run folder (its best model, else its last)")
      ->type_name("")
      ->required();
  verb.add_option("--data", flags->data, "digits, mnist, fashion-mnist, cifar10, or a path")
      ->required();
  verb.add_option("--split", flags->split, "test or train")
      ->check(CLI::IsMember({"test", "train"}));
  verb.add_option("--policy", flags->policy,
                  "formats of activations and sums instead of the model's own (TOML)")
      ->type_name("FILE");
  verb.add_option("--shifts", flags->shifts,
                  "of an integer model: frozen, as in the file, or exact, from each batch of 256")
      ->check(CLI::IsMember({"frozen", "exact"}));
  verb.add_option("--image-size", flags->image_size, "side of the pictures of a folder")
      ->check(CLI::PositiveNumber);
  verb.add_option("--threads", flags->threads, "threads (all cores)")->check(CLI::PositiveNumber);
  verb.add_flag("--confusion", flags->has_confusion, "print which classes were taken for which");
  verb.add_flag("--json", flags->is_json,
                "print JSON: images, correct, top1, top5, loss, confusion");
  verb.footer(
      "Examples:\n"
      "  nibble eval runs/lenet-1 --data mnist --confusion\n"
      "  nibble eval model.nib --data digits --json");
  verb.callback([flags] { run(*flags); });
}

}  // namespace nibble
