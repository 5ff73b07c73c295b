// SPDX-License-Identifier: Apache-2.0
// nibble run: what an integer network answers to pictures and arrays.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <CLI/CLI.hpp>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "apps/nibble/verb.h"
#include "core/atomic_file.h"
#include "core/name.h"
#include "core/npy_header.h"
#include "core/whole_folder.h"
#include "data/harness_tensor.h"
#include "data/picture_set.h"
#include "data/picture_source.h"
#include "inference/example_reader.h"
#include "nibble/core/error.h"
#include "nibble/core/npy.h"
#include "nibble/core/parallel.h"
#include "nibble/graph/model_file.h"
#include "nibble/inference/answer_engine.h"
#include "tasks/shared_options.h"

namespace nibble {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostShown = 10;  // examples
constexpr std::size_t kBest = 5;
constexpr std::size_t kFilesAtOnce = 256;

struct RunFlags {
  std::string model;
  std::vector<std::string> inputs;
  std::string output;
  std::string layers;
  std::string tensors;
  std::int64_t batch = 16;
  int threads = 0;
  std::string device = "cpu";
  bool skips_broken = false;
};

struct Inputs {
  std::vector<std::string> names;  // of the examples
  std::vector<std::byte> integers;

  std::int64_t size() const { return static_cast<std::int64_t>(names.size()); }
};

// Folders and archives stand for their pictures.
class InputQueue {
 public:
  InputQueue(const std::vector<std::string>& paths, const ExampleReader& reader, bool skips_broken)
      : reader_(reader) {
    for (const std::string& path : paths) {
      std::error_code ignored;
      if (!fs::is_directory(path, ignored) && !path.ends_with(".tar")) {
        sources_.push_back({.path = path});
        continue;
      }
      PictureList list = list_picture_set(path, Split::test).list;
      const PictureForm form{.law = PictureForm::Law::middle, .shape = reader.info().shape};
      if (skips_broken) list = without_broken(std::move(list), form);
      lists_.push_back(std::move(list));
      for (std::size_t i = 0; i < lists_.back().size(); ++i)
        sources_.push_back({.path = {}, .list = lists_.size() - 1, .index = i});
    }
  }

  // The examples of the next files, up to `most` of them; none: the end.
  Inputs next(std::size_t most) {
    const auto files = std::span(sources_).subspan(next_, std::min(most, sources_.size() - next_));
    next_ += files.size();
    std::vector<std::vector<std::byte>> integers(files.size());
    std::vector<std::int64_t> counts(files.size(), 1);
    parallel_tasks(files.size(), [&](std::size_t i) {
      if (!files[i].path.empty()) {
        counts[i] = reader_.read(files[i].path, integers[i]);
        return;
      }
      const PictureList& list = lists_[files[i].list];
      integers[i].resize(reader_.info().bytes);
      reader_.read_picture(list.bytes(files[i].index), list.name(files[i].index),
                           integers[i].data());
    });
    Inputs inputs;
    for (std::size_t i = 0; i < files.size(); ++i) {
      const std::string path =
          files[i].path.empty() ? lists_[files[i].list].name(files[i].index) : files[i].path;
      for (std::int64_t k = 0; k < counts[i]; ++k)
        inputs.names.push_back(counts[i] == 1 ? path : fmt::format("{}[{}]", path, k));
      inputs.integers.insert(inputs.integers.end(), integers[i].begin(), integers[i].end());
    }
    return inputs;
  }

 private:
  struct Source {
    std::string path = {};  // of a file; empty: a picture of a list
    std::size_t list = 0;
    std::size_t index = 0;
  };
  const ExampleReader& reader_;
  std::vector<PictureList> lists_;
  std::vector<Source> sources_;
  std::size_t next_ = 0;
};

Shape batch_of(std::int64_t examples, const Shape& shape) {
  std::vector<std::int64_t> extents{examples};
  extents.insert(extents.end(), shape.extents().begin(), shape.extents().end());
  return Shape(extents);
}

// Every layer in a file of its own; all of them appear at the end or none.
std::string write_layers(const RunFlags& flags, const Inputs& inputs) {
  const Engine engine = Engine::load(flags.model, {.device = flags.device,
                                                   .max_batch = flags.batch,
                                                   .threads = thread_count(),
                                                   .keeps_layers = true});
  WholeFolder whole(flags.layers, ExistingFiles::kept);
  std::vector<std::unique_ptr<AtomicFile>> files;
  for (std::int64_t done = 0; done < inputs.size(); done += flags.batch) {
    const std::int64_t piece = std::min(flags.batch, inputs.size() - done);
    const std::size_t bytes = engine.input().bytes;
    std::size_t layer = 0;
    engine.run_layers(
        std::span(inputs.integers)
            .subspan(static_cast<std::size_t>(done) * bytes,
                     static_cast<std::size_t>(piece) * bytes),
        piece, [&](const ValueInfo& info, std::span<const std::byte> values) {
          if (done == 0) {
            files.push_back(std::make_unique<AtomicFile>(whole.path() / (info.name + ".npy")));
            files.back()->stream()
                << npy_header_text(info.dtype, batch_of(inputs.size(), info.shape));
          }
          files[layer++]->stream().write(reinterpret_cast<const char*>(values.data()),
                                         static_cast<std::streamsize>(values.size()));
        });
  }
  for (const auto& file : files) file->commit();
  whole.commit();
  return fmt::format("wrote {} layers to {}\n", files.size(), flags.layers);
}

// The integers that entered, as the MLPerf harness keeps them.
std::string write_tensors(const RunFlags& flags, const Inputs& inputs, const ValueInfo& info) {
  if (info.dtype == DType::i32 || info.shape.rank() != 3)
    throw Error("run", "--tensors for an input", info.shape.to_string(), "(h, w, c) of bytes");
  WholeFolder whole(flags.tensors, ExistingFiles::kept);
  for (std::size_t i = 0; i < inputs.names.size(); ++i) {
    std::string name = fs::path(inputs.names[i]).filename().string();
    if (!name.ends_with(".npy")) name += ".npy";
    write_harness_tensor(whole.path() / name,
                         {inputs.integers.data() + i * info.bytes, info.dtype, info.shape});
  }
  whole.commit();
  return fmt::format("wrote {} tensors to {}\n", inputs.names.size(), flags.tensors);
}

std::string class_text(const Network& network, std::int32_t index) {
  const auto place = static_cast<std::size_t>(index);
  return place < network.class_names.size()
             ? fmt::format("{} ({})", network.class_names[place], index)
             : std::to_string(index);
}

// The first ones; `shown` counts them.
void print_answers(const AnswerEngine& engine, const Inputs& inputs, std::span<const float> reals,
                   std::size_t& shown) {
  const std::size_t width = reals.size() / inputs.names.size();
  const bool is_classifier = engine.engine().output().shape.rank() == 1;
  if (!is_classifier) return;
  for (std::size_t i = 0; i < inputs.names.size() && shown < kMostShown; ++i, ++shown) {
    const auto row = reals.subspan(i * width, width);
    std::string line;
    if (engine.gives_class()) {
      line = class_text(engine.network(), static_cast<std::int32_t>(row[0]));
    } else {
      for (const std::int32_t best : largest(row, kBest)) {
        line +=
            fmt::format("{}{} {:.6g}", line.empty() ? "" : ", ", class_text(engine.network(), best),
                        row[static_cast<std::size_t>(best)]);
      }
    }
    fmt::print("{}: {}\n", well_formed(inputs.names[i]), line);
  }
}

// What --output keeps of all pieces.
struct Answers {
  std::vector<std::byte> integers = {};
  std::vector<float> reals = {};
};

void write_answers(const RunFlags& flags, const AnswerEngine& engine, Answers& answers,
                   std::int64_t examples) {
  const ValueInfo& output = engine.engine().output();
  const Shape shape = batch_of(examples, output.shape);
  const bool is_real = engine.has_divisor();
  std::byte* data =
      is_real ? reinterpret_cast<std::byte*>(answers.reals.data()) : answers.integers.data();
  write_npy(flags.output, ConstTensorView(data, is_real ? DType::f32 : output.dtype, shape));
}

void run(const RunFlags& flags) {
  use_threads(flags.threads);
  const AnswerEngine engine(
      read_model(flags.model).model,
      {.device = flags.device, .max_batch = flags.batch, .threads = thread_count()});
  const ExampleReader reader(engine.network(), engine.engine().input());
  InputQueue queue(flags.inputs, reader, flags.skips_broken);
  const bool is_whole = !flags.layers.empty() || !flags.tensors.empty();
  const std::size_t piece = is_whole ? std::numeric_limits<std::size_t>::max() : kFilesAtOnce;
  const ValueInfo& output = engine.engine().output();
  Answers answers;
  std::string written;
  std::int64_t examples = 0;
  std::size_t shown = 0;
  double seconds = 0;
  for (Inputs inputs = queue.next(piece); inputs.size() > 0; inputs = queue.next(piece)) {
    std::vector<std::byte> integers(static_cast<std::size_t>(inputs.size()) * output.bytes);
    const auto start = std::chrono::steady_clock::now();
    engine.engine().run(inputs.integers, inputs.size(), integers);
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    examples += inputs.size();
    std::vector<float> reals(static_cast<std::size_t>(inputs.size() * output.shape.elements()));
    engine.to_reals(integers, reals);
    if (!flags.layers.empty()) written += write_layers(flags, inputs);
    if (!flags.tensors.empty()) written += write_tensors(flags, inputs, engine.engine().input());
    if (flags.output != "-") print_answers(engine, inputs, reals, shown);
    if (flags.output.empty()) continue;
    if (engine.has_divisor()) {
      answers.reals.insert(answers.reals.end(), reals.begin(), reals.end());
    } else {
      answers.integers.insert(answers.integers.end(), integers.begin(), integers.end());
    }
  }
  if (examples == 0) throw Error("run", "examples of --input", "none", "one or more");
  if (!flags.output.empty()) write_answers(flags, engine, answers, examples);
  if (flags.output == "-") return;
  if (shown == kMostShown && examples > static_cast<std::int64_t>(shown))
    fmt::print("… {} in all\n", examples);
  fmt::print("{}", written);
  fmt::print("{} of {}: {:.3f} ms an image; tuning {}\n", examples, engine.engine().name(),
             1e3 * seconds / static_cast<double>(examples), engine.engine().tuning().to_string());
}

}  // namespace

void add_run(CLI::App& app) {
  CLI::App& verb =
      *app.add_subcommand("run", "what an integer model answers to pictures or arrays");
  const auto flags = std::make_shared<RunFlags>();
  add_model_option(verb, flags->model)->required();
  verb.add_option("--input", flags->inputs,
                  "arrays (.npy), pictures (JPEG, PNG), folders and archives (.tar) of pictures")
      ->type_name("PATH")
      ->required();
  CLI::Option* output = verb.add_option("--output", flags->output,
                                        "the last value of the network (- is standard output)")
                            ->type_name("Y.npy");
  verb.add_option("--batch", flags->batch, "examples at a time (16)")
      ->transform(whole_number(1, 65536));
  add_skip_broken_option(verb, flags->skips_broken);
  add_threads_option(verb, flags->threads);
  add_device_option(verb, flags->device);
  verb.add_option("--layers", flags->layers, "write every layer's integers to DIR/LAYER.npy")
      ->type_name("DIR");
  verb.add_option("--tensors", flags->tensors,
                  "write what entered as tensors of the MLPerf harness, DIR/FILE.npy")
      ->type_name("DIR");
  verb.footer(
      "An array is one example or several: (h, w, c), (n, h, w, c) or (n, features), by channel\n"
      "where only that fits. i8, i16, i32 … are the integers that the network takes; u8 are too\n"
      "where it takes u8, and otherwise pictures, which mean, deviation and scale of the input "
      "turn\n"
      "into integers; f32 are real numbers, which its scale does. A tensor of the MLPerf harness\n"
      "(|S150528) is int8 by channel. Of JPEG and PNG files the shorter side becomes 256/224 of\n"
      "what the network takes, and the middle is cut out, as torchvision does it.\n"
      "The last value is f32 where the network ends in a divisor (logits of ResNet-50), else i8,\n"
      "u8 or i32.\n\n"
      "Examples:\n"
      "  nibble run resnet50.nib --input cat.jpg dog.png --output logits.npy\n"
      "  nibble run resnet50.nib --input x.npy --layers layers");
  verb.callback([flags, output] {
    if (flags->output == "-" && (!flags->layers.empty() || !flags->tensors.empty()))
      throw CLI::ValidationError(output->get_name(),
                                 "standard output has no room for --layers or --tensors");
    run(*flags);
  });
}

}  // namespace nibble
