// SPDX-License-Identifier: Apache-2.0
// How a run is saved, goes on, and ends.
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/warning.h"
#include "epoch_loop/run_account.h"
#include "epoch_loop/trainer.h"

namespace nibble::inline epoch_loop {

namespace fs = std::filesystem;

// What must not change between stop and resume: all that decides the numbers. More epochs are
// welcome, though a schedule that looks at the end of the run then takes another course.
CheckpointIdentity Trainer::identity() const {
  constexpr std::size_t kLongest = 80;  // of a value that an error shows as it is
  CheckpointIdentity identity{.kind = learner_.kind(), .must_match = {}};
  const auto settings = nlohmann::json::parse(learner_.settings_json());
  for (const auto& [key, value] : settings.items()) {
    if (key == "epochs" || key == "patience") continue;
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    identity.must_match[key] = text.size() <= kLongest ? text : digest_of(text);
  }
  identity.must_match["data_hash"] = settings_.data_hash;
  identity.must_match["test_hash"] = settings_.test_hash;
  identity.may_lack = {"data_hash", "test_hash"};
  return identity;
}

Origin Trainer::origin() const {
  return origin_of(settings_, learner_.origin(), epoch_);
}

// All that is written is copied first: the learner goes on while it is.
void Trainer::save() {
  Model model = learner_.snapshot();
  if (!is_first()) return;
  Words words;
  put_integer(words, "epoch", epoch_);
  put_integer(words, "sums.batches", sums_.batches);
  put_integer(words, "sums.images", sums_.images);
  put_integer(words, "sums.correct", sums_.correct);
  put_number(words, "sums.loss", sums_.loss);
  put_number(words, "seconds", seconds_);
  put_number(words, "epoch_seconds", epoch_seconds_);
  put_words(words, "best.", best_);
  put_words(words, "early.", early_);
  std::vector<NamedTensorView> tensors;
  learner_.put_state(words, tensors);
  std::vector<NamedTensor> copies;
  for (const NamedTensorView& each : tensors) copies.push_back({each.name, copy_of(each.tensor)});
  writer_.start([checkpoint_path = folder_->checkpoint_path(), model_path = folder_->model_path(),
                 identity = identity(), origin = origin(), words = std::move(words),
                 state = std::make_shared<const std::vector<NamedTensor>>(std::move(copies)),
                 written = std::make_shared<const Model>(std::move(model))] {
    save_checkpoint(checkpoint_path, identity, words, views_of(*state));
    write_model(model_path, *written, origin);
  });
  if (!folder_->keeps_old_run()) return;
  writer_.wait();
  folder_->replace_old_run();
}

void Trainer::resume() {
  const fs::path path = checkpoint_in(options_.folder);
  const Checkpoint checkpoint = load_checkpoint(path, identity());
  if (!checkpoint.lacking.empty()) {
    warn(path.string() +
         " is of an older version: whether the data is still the same could not be "
         "checked");
  }
  const Words& words = checkpoint.words;
  epoch_ = integer_word(words, "epoch");
  sums_ = {.batches = integer_word(words, "sums.batches"),
           .images = integer_word(words, "sums.images"),
           .correct = integer_word(words, "sums.correct"),
           .loss = number_word(words, "sums.loss")};
  seconds_ = number_word(words, "seconds");
  epoch_seconds_ = number_word(words, "epoch_seconds");
  best_ = best_words(words, "best.");
  early_ = early_stopping_words(words, "early.");
  // More patience, as more epochs, lets a run go on that had ended.
  const std::int64_t patience = settings_.early_stopping.patience;
  stops_early_ = patience > 0 && early_.epochs_without >= patience;
  learner_.take_state(checkpoint);
  if (is_first()) folder_->resume_after(epoch_);
}

void Trainer::finish(TrainResult& result) {
  std::optional<Model> average = learner_.average();
  const bool is_averaged = average.has_value();
  Model model = is_averaged ? *std::move(average) : learner_.snapshot();
  result.weights_hash = weights_hash(model);
  if (is_first()) write_model(folder_->model_path(), model, origin());
  if (data_.validation && !is_averaged && best_.has_value()) {
    ranks_.barrier();  // rank 0 has written it
    model = read_model(best_model_in(options_.folder)).model;
  }
  if (data_.validation) result.validation = learner_.evaluate(model, *data_.validation);
  if (data_.test) result.test = learner_.evaluate(model, *data_.test);
  if (data_.test && is_averaged)
    result.unaveraged_test = learner_.evaluate(learner_.snapshot(), *data_.test);
  if (data_.test) result.more = learner_.more(model, *data_.test);
  result.warnings = learner_.warnings(model);
  if (!is_first()) return;
  folder_->write_summary(summary_json(result, settings_, data_.train));
  folder_->replace_old_run();
}

}  // namespace nibble::inline epoch_loop
