// SPDX-License-Identifier: Apache-2.0
// Finds out where examples come from.
#include "inference/example_source.h"

#include <utility>

#include "data/picture_source.h"

namespace nibble::inline inference {
namespace {

std::vector<ListedFile> without_broken(std::vector<ListedFile> files, const ExampleReader& reader) {
  std::vector<ListedFile> whole;
  for (const std::int32_t i : find_whole(files.size(), [&](std::size_t file) {
         std::vector<std::byte> integers;
         reader.read(files[file].path, integers);
       })) {
    whole.push_back(std::move(files[static_cast<std::size_t>(i)]));
  }
  return whole;
}

}  // namespace

std::unique_ptr<ExampleSource> load_examples(const std::string& data, const ExampleOptions& options,
                                             const AnswerEngine& engine) {
  auto source = std::make_unique<ExampleSource>(engine);
  if (has_file_list(data)) {
    source->class_names = engine.network().class_names;
    std::vector<ListedFile> files = read_file_list(data);
    if (!options.takes_unlabelled) check_labelled(files, data);
    if (options.skips_broken) files = without_broken(std::move(files), source->reader);
    source->examples = examples_of(std::move(files), data, source->reader);
  } else {
    source->dataset = load_dataset(data, options.split,
                                   {.image_size = options.image_size,
                                    .input = input_of(engine.network()).shape,
                                    .skips_broken = options.skips_broken,
                                    .takes_unlabelled = options.takes_unlabelled});
    source->class_names = source->dataset.class_names;
    source->examples = examples_of(source->dataset, engine.network(), source->reader);
  }
  return source;
}

}  // namespace nibble::inline inference
