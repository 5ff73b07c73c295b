// SPDX-License-Identifier: Apache-2.0
// Puts the files of emitted training together, and makes the run that they begin with.
#include <fmt/format.h>

#include <utility>

#include "emit/kernels.h"
#include "emit/network_view.h"
#include "emit/train_code.h"
#include "emit/train_files.h"
#include "epoch_loop/training_data.h"
#include "integer_training/integer_learner.h"
#include "laws/integer_laws.h"
#include "nibble/emit/emit_training.h"

namespace nibble::inline emit {
namespace {

std::string text_of(std::string_view name) {
  return std::string(without_license(kernel_text(name)));
}

std::string power_table_text() {
  std::string text =
      "\n// 2^(15 + j / 256) to the nearest.\nstatic const uint16_t train_powers[256] = {";
  for (std::size_t i = 0; i < power_table().size(); ++i)
    text += fmt::format("{}{},", i % 14 == 0 ? "\n    " : " ", power_table()[i]);
  return text + "\n};\n";
}

class TrainingEmitter {
 public:
  TrainingEmitter(const Model& start, const TrainEmitSettings& settings)
      : start_(start),
        network_(with_plain_names(start.network)),
        settings_(settings),
        plan_(plan_training(start.network, settings.batch)) {
    check_sums(network_, plan_, settings.batch);
  }

  EmittedTraining emit(const TrainExpectation& expectation) {
    add("net_train.h", text_of("train.h"),
        {{"WORDS_TITLE", fmt::format("Integer-only training of {}.", network_.name)},
         {"VALUE_CONSTANTS", training_constants(network_, plan_, settings_)}});
    add("net_train_kernels.h", kernels());
    add("net_train.c", source());
    add_arrays();
    add_check(expectation);
    return {std::move(files_),
            {.weights = weight_count(network_), .state_bytes = state_bytes(network_, plan_)}};
  }

 private:
  void add(std::string_view name, std::string_view text, const CWords& words = {}) {
    const std::string filled = with_names(text, "net", words);
    files_.push_back({with_names(name, settings_.prefix), with_names(filled, settings_.prefix)});
  }

  std::string kernels() const {
    std::string text =
        "// The kernels that this network trains with.\n#ifndef NET_TRAIN_KERNELS_H\n"
        "#define NET_TRAIN_KERNELS_H\n\n";
    const CWords laws = {{"VALUE_BIAS_REACH", std::to_string(kBiasReach)},
                         {"VALUE_MEAN_BITS", std::to_string(kMeanBits)}};
    for (const std::string_view name : training_kernels(network_, plan_)) {
      if (name == "train_cross_entropy") text += power_table_text();
      text += "\n" + with_names(text_of(name), "net", laws);
    }
    return text + "\n#endif\n";
  }

  std::string source() const {
    return fmt::format(
        "// The training step of {}.\n#include \"net_train.h\"\n\n#include \"net_target.h\"\n"
        "#include \"net_train_kernels.h\"\n\n{}{}\n{}",
        network_.name, declaration_of(first_weights(start_)), training_passes(network_, plan_),
        text_of("train_interface"));
  }

  void add_arrays() {
    const CArray weights = first_weights(start_);
    add("net_train_start.c",
        fmt::format("// The first weights.\n#include \"net_target.h\"\n\n{}\n{}",
                    declaration_of(weights), definition_of(weights)));
  }

  void add_check(const TrainExpectation& expectation) {
    std::string declared;
    std::string defined =
        "// The images of the check.\n#include \"net_train_vectors.h\"\n\n"
        "#include \"net_target.h\"\n";
    for (const CArray& array : check_arrays(expectation)) {
      declared += declaration_of(array);
      defined += "\n" + definition_of(array);
    }
    add("net_train_vectors.h", text_of("train_vectors.h"),
        {{"VALUE_CONSTANTS", check_constants(expectation, settings_)}, {"VALUE_ARRAYS", declared}});
    add("net_train_vectors.c", defined + "\n" + check_hashes(expectation));
    add("net_train_check.c", text_of("train_check.c"));
  }

  const Model& start_;
  const Network network_;
  const TrainEmitSettings& settings_;
  TrainPlan plan_;
  std::vector<EmittedFile> files_;
};

}  // namespace

EmittedTraining emit_training(const Model& start, const Dataset& examples,
                              const TrainEmitSettings& settings) {
  check_trainable(start, settings);
  TrainingEmitter emitter(start, settings);
  return emitter.emit(expected_training(start, examples, settings));
}

TrainingStart training_start(const IntegerRecipe& recipe) {
  check_trainable_layers(recipe.network);
  TrainingData data = load_training_data(recipe);
  IntegerRecipe completed = recipe;
  static_cast<RunSettings&>(completed) = complete(recipe, data);
  completed.options.seed = completed.seed;
  Model model = IntegerLearner(completed, data, nullptr).snapshot();
  return {std::move(model), std::move(data.train)};
}

}  // namespace nibble::inline emit
