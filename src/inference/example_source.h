// SPDX-License-Identifier: Apache-2.0
// Examples by name or path, with all that has to live as long: any data set that Nibble knows, or a
// folder with val_map.txt.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "inference/engine_evaluation.h"

namespace nibble::inline inference {

struct ExampleSource {
  explicit ExampleSource(const AnswerEngine& engine)
      : reader(engine.network(), engine.engine().input()) {}

  ExampleReader reader;
  Dataset dataset = {};  // empty where files are read when they are needed
  Examples examples = {};
  std::vector<std::string> class_names = {};
};

// How pictures become examples; a network's input decides the rest.
struct ExampleOptions {
  Split split = Split::test;
  std::int64_t image_size = 0;    // see LoadOptions
  bool skips_broken = false;      // see LoadOptions
  bool takes_unlabelled = false;  // labels are then all PictureList::kNoLabel
};
std::unique_ptr<ExampleSource> load_examples(const std::string& data, const ExampleOptions& options,
                                             const AnswerEngine& engine);

}  // namespace nibble::inline inference
