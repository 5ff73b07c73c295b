// SPDX-License-Identifier: Apache-2.0
// What a run says about itself.
#include "epoch_loop/run_account.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/hash.h"
#include "nibble/version.h"
#include "run_folder/provenance.h"

namespace nibble::inline epoch_loop {
namespace {

using Json = nlohmann::ordered_json;

Json evaluation_json(const Evaluation& evaluation, const Dataset& names) {
  if (evaluation.classes) return Json::parse(to_json(*evaluation.classes, names.class_names));
  return {{"images", evaluation.images}, {"loss", evaluation.loss}};
}

}  // namespace

Origin origin_of(const RunSettings& settings, const Origin& more, std::int64_t epoch) {
  Origin origin{{"made_by", std::string("nibble train ") + kVersion},
                {"commit", std::string(build_commit())},
                {"recipe", settings.name},
                {"data", settings.data},
                {"seed", std::to_string(settings.seed)},
                {"epoch", std::to_string(epoch)}};
  origin.insert(more.begin(), more.end());
  return origin;
}

void report_epoch(const EpochRow& row, std::int64_t epochs, EventSink* events,
                  ProgressStyle style) {
  std::string line =
      fmt::format("epoch {:>3}/{}  loss {:.4f}", row.epoch, epochs, row.train_loss.value_or(0));
  const auto tell = [&](std::string_view split, const std::optional<double>& loss,
                        const std::optional<double>& top1) {
    if (events != nullptr && loss) events->scalar(fmt::format("{}/loss", split), row.step, *loss);
    if (events != nullptr && top1) events->scalar(fmt::format("{}/top1", split), row.step, *top1);
    const bool has_loss = loss && split != "train";  // that of training stands first
    if (top1) {
      line += fmt::format("  {} {:.2f} %", split, 100 * *top1);
      if (has_loss) line += fmt::format(" (loss {:.4f})", *loss);
    } else if (has_loss) {
      line += fmt::format("  {} loss {:.4f}", split, *loss);
    }
  };
  tell("train", row.train_loss, row.train_top1);
  tell("val", row.val_loss, row.val_top1);
  tell("test", row.test_loss, row.test_top1);
  line += fmt::format("  rate {:.3g}  {:.0f} images/s", row.learning_rate, row.images_per_second);
  if (events != nullptr) {
    events->scalar("epoch/images_per_second", row.step, row.images_per_second);
    events->scalar("epoch/number", row.step, static_cast<double>(row.epoch));
    events->flush();
  }
  if (style != ProgressStyle::silent) fmt::print(stderr, "{}\n", line);
}

std::string summary_json(const TrainResult& result, const RunSettings& settings,
                         const Dataset& names_from) {
  Json json{{"epochs", result.epochs},
            {"steps", result.steps},
            {"seconds", result.seconds},
            {"peak_memory_mib", peak_memory_mib()},
            {"peak_values_mib", static_cast<double>(result.peak_value_bytes) / 1048576.0},
            {"weights_hash", hex(result.weights_hash)},
            {"data_hash", settings.data_hash},
            {"test_hash", settings.test_hash}};
  if (result.best.has_value()) {
    json["best"] = {{"epoch", result.best.epoch},
                    {std::string(name_of(result.best.metric)), result.best.value}};
  }
  if (result.validation) json["val"] = evaluation_json(*result.validation, names_from);
  if (result.test) json["test"] = evaluation_json(*result.test, names_from);
  if (result.unaveraged_test)
    json["unaveraged_test"] = evaluation_json(*result.unaveraged_test, names_from);
  for (const NamedEvaluation& each : result.more)
    json[each.name] = evaluation_json(each.evaluation, names_from);
  if (!result.warnings.empty()) json["warnings"] = result.warnings;
  return json.dump(2);
}

}  // namespace nibble::inline epoch_loop
