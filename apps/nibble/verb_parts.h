// SPDX-License-Identifier: Apache-2.0
// The parts of verbs that stand in files of their own.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "nibble/emit/emit_training.h"
#include "nibble/graph/network.h"

namespace CLI {
class App;
}

namespace nibble {

// nibble data check PATH: whether every picture of a folder, a list or of archives can be read.
bool is_path_of_pictures(const std::string& path);

// Reads all, prints what cannot be read and how fast the others were; throws where there is one.
void check_pictures(const std::string& path, bool is_json);

// nibble data export: a data set as folders of pictures.
void add_data_export(CLI::App& data);

// nibble data preprocess: pictures as tensors of the MLPerf harness.
void add_data_preprocess(CLI::App& data);

// nibble describe --operations: what can be done with each operation.
enum class TableForm { text, json, markdown };
void print_operations(TableForm form);

// The factors of a model of integers, as embedded engineers want them. Of every rescale: multiplier
// and shift of each channel in CMSIS-NN's convention, and the zero point and the scale of its
// format.
std::string rescale_tables(const Model& model);
std::string rescale_tables_json(const Model& model);

// The options of nibble emit that belong to training on the device.
struct EmitTrainingFlags {
  bool is_on = false;
  std::string data;
  TrainEmitSettings settings;
};

void add_training_flags(CLI::App& verb, EmitTrainingFlags& flags);

// Of a model file, or of a network (a name or a .toml) with the weights that the trainer draws.
TrainingStart training_start_of(const std::string& what, const EmitTrainingFlags& flags);

// nibble loadgen score, test01, test04, report: what runs of LoadGen were worth.
void add_loadgen_results(CLI::App& verb);

// nibble signature of integer networks in the engine: names and hashes, which do not depend on
// path, threads or machine.
std::vector<std::pair<std::string, std::uint64_t>> inference_hashes();

// And of training in integers: what was trained, and the hash of its weights and last answers. The
// long ones are 50 steps of VGG-small-7: seconds with VNNI, hours by the definition. `device`
// computes, and changes no hash.
std::vector<std::pair<std::string, std::uint64_t>> integer_hashes(bool is_long,
                                                                  const std::string& device);

}  // namespace nibble
