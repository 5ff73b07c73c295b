// SPDX-License-Identifier: Apache-2.0
// Emits C and lets the engine answer its test vectors.
#include "tasks/emit_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include "core/whole_folder.h"
#include "nibble/core/error.h"
#include "nibble/core/limits.h"
#include "nibble/engine/engine.h"
#include "tasks/json.h"
#include "tasks/random_examples.h"

namespace nibble::inline tasks {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kBytesOfNumber = 32;  // of a test vector: an integer and its text

// What the engine answers to made-up examples.
TestVectors vectors_of(const Model& model, std::int64_t count) {
  const Engine engine(copy_of(model));
  const std::int64_t numbers = engine.input().shape.elements() + engine.output().shape.elements();
  check_limit("memory", count * numbers * kBytesOfNumber, "emit", "bytes of test vectors");
  const std::vector<std::byte> inputs = random_examples(engine.input(), count);
  std::vector<std::byte> outputs(engine.output().bytes * static_cast<std::size_t>(count));
  engine.run(inputs, count, outputs);
  return {.count = count,
          .inputs = as_integers(engine.input(), inputs),
          .outputs = as_integers(engine.output(), outputs)};
}

void write_files(const fs::path& folder, const std::vector<EmittedFile>& files) {
  WholeFolder whole(folder, ExistingFiles::kept);
  for (const EmittedFile& each : files) whole.write(each.name, each.text);
  whole.commit();
}

TrainingFigures add_training(const TrainingStart& start, const EmitRequest& request,
                             std::vector<EmittedFile>& files) {
  TrainEmitSettings settings = *request.training;
  settings.prefix = request.settings.prefix;
  EmittedTraining training = emit_training(start.model, start.examples, settings);
  const std::optional<std::int64_t> most = request.settings.ram;
  if (most && training.figures.state_bytes > *most) {
    throw Error("emit", "RAM of training", fmt::format("{} bytes", training.figures.state_bytes),
                fmt::format("at most {}: --train-batch makes it smaller", *most));
  }
  std::ranges::move(training.files, std::back_inserter(files));
  return training.figures;
}

}  // namespace

// Nothing is overwritten unless that was asked for.
void check_emit_folder(const fs::path& folder, const EmitRequest& request) {
  if (request.is_forced) return;
  std::error_code error;
  if (!fs::exists(folder, error) && !error) return;
  if (!error && !fs::is_directory(folder, error))
    throw Error("emit", "output", folder.string(), "a folder, or none yet");
  const fs::directory_iterator first(folder, error);
  if (error)
    throw Error("emit", fmt::format("cannot read folder {}: {}", folder.string(), error.message()),
                ErrorKind::system);
  if (first == fs::directory_iterator()) return;
  throw Error("emit", "output folder " + folder.string(),
              "'" + first->path().filename().string() + "' in it", "an empty one, or --force");
}

EmitOutcome emit_folder(const TrainingStart& start, const fs::path& folder,
                        const EmitRequest& request) {
  check_emit_folder(folder, request);
  EmitSettings settings = request.settings;
  settings.has_training = request.training.has_value();
  check_emittable(start.model, settings);
  EmittedNetwork network = emit_c(start.model, settings, vectors_of(start.model, request.vectors));
  EmitOutcome outcome;
  if (request.training) outcome.training = add_training(start, request, network.files);
  write_files(folder, network.files);
  outcome.figures = std::move(network.figures);
  outcome.files = network.files.size();
  return outcome;
}

std::string to_json(const EmitOutcome& made) {
  Json json{{"files", made.files},
            {"ram", made.figures.arena_bytes},
            {"flash", made.figures.parameter_bytes},
            {"macs", made.figures.macs},
            {"plan", Json::array()}};
  for (const ArenaValue& each : made.figures.values) {
    json["plan"].push_back({{"value", each.name},
                            {"offset", each.offset},
                            {"bytes", each.bytes},
                            {"first", each.first},
                            {"last", each.last}});
  }
  if (made.training) json["training_ram"] = made.training->state_bytes;
  return json.dump();
}

}  // namespace nibble::inline tasks
