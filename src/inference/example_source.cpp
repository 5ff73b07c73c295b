// SPDX-License-Identifier: Apache-2.0
// Finds out where examples come from.
#include "inference/example_source.h"

namespace nibble::inline inference {

std::unique_ptr<ExampleSource> load_examples(const std::string& data, Split split,
                                             std::int64_t image_size, const AnswerEngine& engine) {
  auto source = std::make_unique<ExampleSource>(engine);
  if (has_file_list(data)) {
    source->class_names = engine.network().class_names;
    source->examples = examples_of(read_file_list(data), data, source->reader);
  } else {
    source->dataset = load_dataset(data, split, {.image_size = image_size});
    source->class_names = source->dataset.class_names;
    source->examples = examples_of(source->dataset, engine.network(), source->reader);
  }
  return source;
}

}  // namespace nibble::inline inference
