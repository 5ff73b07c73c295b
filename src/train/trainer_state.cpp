// SPDX-License-Identifier: Apache-2.0
// How a run is saved, goes on, and ends.
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "nibble/core/error.h"
#include "nibble/graph/model_file.h"
#include "train/moments.h"
#include "train/run_account.h"
#include "train/trainer.h"

namespace nibble {

// What must not change between stop and resume: all that decides the numbers. More epochs are
// welcome, though a schedule that looks at the end of the run then takes another course.
CheckpointIdentity Trainer::identity() const {
  constexpr std::size_t kLongest = 80;  // of a value that an error shows as it is
  CheckpointIdentity identity{.kind = "float training", .must_match = {}};
  const auto settings = nlohmann::json::parse(to_json(recipe_));
  for (const auto& [key, value] : settings.items()) {
    if (key == "epochs" || key == "patience") continue;
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    identity.must_match[key] = text.size() <= kLongest ? text : digest_of(text);
  }
  return identity;
}

void Trainer::save() {
  Words words;
  put_integer(words, "epoch", epoch_);
  put_integer(words, "steps", session_.steps());
  put_integer(words, "updates", session_.optimizer().updates());
  put_integer(words, "sums.batches", sums_.batches);
  put_integer(words, "sums.images", sums_.images);
  put_integer(words, "sums.correct", sums_.correct);
  put_number(words, "sums.loss", sums_.loss);
  put_number(words, "loss_scale", session_.loss_scale().scale);
  put_integer(words, "loss_scale.good_steps", session_.loss_scale().good_steps);
  put_integer(words, "average.count", averager_.count());
  put_number(words, "last_rate", last_rate_);
  put_number(words, "seconds", seconds_);
  put_number(words, "epoch_seconds", epoch_seconds_);
  put_words(words, "plateau.", plateau_);
  put_words(words, "best.", best_);
  put_words(words, "early.", early_);
  std::vector<NamedTensorView> tensors = session_.optimizer().state();
  for (NamedTensorView& mean : averager_.state()) tensors.push_back(std::move(mean));
  save_checkpoint(folder_.checkpoint_path(), identity(), words, tensors);
  write_model(folder_.model_path(), session_.snapshot(), origin_of(recipe_, epoch_));
}

void Trainer::resume() {
  const Checkpoint checkpoint = load_checkpoint(folder_.checkpoint_path(), identity());
  const Words& words = checkpoint.words;
  epoch_ = integer_word(words, "epoch");
  sums_ = {.batches = integer_word(words, "sums.batches"),
           .images = integer_word(words, "sums.images"),
           .correct = integer_word(words, "sums.correct"),
           .loss = number_word(words, "sums.loss")};
  session_.loss_scale() = {number_word(words, "loss_scale"),
                           integer_word(words, "loss_scale.good_steps")};
  last_rate_ = number_word(words, "last_rate");
  seconds_ = number_word(words, "seconds");
  epoch_seconds_ = number_word(words, "epoch_seconds");
  plateau_ = plateau_words(words, "plateau.");
  best_ = best_words(words, "best.");
  early_ = early_stopping_words(words, "early.");
  // More patience, as more epochs, lets a run go on that had ended.
  const std::int64_t patience = recipe_.early_stopping.patience;
  stops_early_ = patience > 0 && early_.epochs_without >= patience;
  session_.optimizer().set_state(checkpoint, integer_word(words, "updates"));
  session_.set_steps(integer_word(words, "steps"));
  averager_.set_state(checkpoint, integer_word(words, "average.count"),
                      session_.optimizer().masters());
  folder_.resume_after(epoch_);
}

// The last weights, or the average where there is one.
Model Trainer::final_model() {
  Model model = session_.snapshot();
  if (averager_.count() == 0) return model;
  for (std::size_t i = 0; i < model.parameters.size(); ++i) {
    const auto mean = averager_.means()[i].as<float>();
    const float factor = session_.optimizer().weight_factor(i);
    std::ranges::transform(mean, model.parameters[i].as<float>().begin(),
                           [&](float x) { return x * factor; });
  }
  for (Node& node : model.network.nodes) node.weight = {};  // means lie between the grid's points
  measure_moments(model, recipe_.policy, data_.train, data_.indices, recipe_.batch);
  return model;
}

void Trainer::finish(TrainResult& result) {
  Model model = final_model();
  const bool is_averaged = averager_.count() > 0;
  write_model(folder_.model_path(), model, origin_of(recipe_, epoch_));
  result.weights_hash = weights_hash(model);
  if (data_.validation && !is_averaged && best_.has_value())
    model = read_model(folder_.best_path()).model;
  if (data_.validation) result.validation = evaluate_on(model, *data_.validation);
  if (data_.test) result.test = evaluate_on(model, *data_.test);
  if (data_.test && is_averaged)
    result.unaveraged_test = evaluate_on(session_.snapshot(), *data_.test);
  folder_.write_summary(summary_json(result, data_.train));
}

}  // namespace nibble
