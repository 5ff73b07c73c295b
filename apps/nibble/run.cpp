// SPDX-License-Identifier: Apache-2.0
// nibble run: what an integer network answers to pictures and arrays.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <CLI/CLI.hpp>
#include <cstring>
#include <filesystem>
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

struct RunFlags {
  std::string model;
  std::vector<std::string> inputs;
  std::string output;
  std::string layers;
  std::string tensors;
  std::int64_t batch = 16;
  int threads = 0;
  std::string device = "cpu";
};

struct Inputs {
  std::vector<std::string> names;  // of the examples
  std::vector<std::byte> integers;

  std::int64_t size() const { return static_cast<std::int64_t>(names.size()); }
};

Inputs read_inputs(const std::vector<std::string>& paths, const ExampleReader& reader) {
  Inputs inputs;
  for (const std::string& path : paths) {
    const std::int64_t count = reader.read(path, inputs.integers);
    for (std::int64_t i = 0; i < count; ++i)
      inputs.names.push_back(count == 1 ? path : fmt::format("{}[{}]", path, i));
  }
  if (inputs.names.empty()) throw Error("run", "examples of --input", "none", "one or more");
  return inputs;
}

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

void print_answers(const AnswerEngine& engine, const Inputs& inputs, std::span<const float> reals) {
  const std::size_t width = reals.size() / inputs.names.size();
  const bool is_classifier = engine.engine().output().shape.rank() == 1;
  if (!is_classifier) return;
  for (std::size_t i = 0; i < std::min(kMostShown, inputs.names.size()); ++i) {
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
  if (inputs.names.size() > kMostShown) fmt::print("… {} in all\n", inputs.names.size());
}

void run(const RunFlags& flags) {
  use_threads(flags.threads);
  const AnswerEngine engine(
      read_model(flags.model).model,
      {.device = flags.device, .max_batch = flags.batch, .threads = thread_count()});
  const ExampleReader reader(engine.network(), engine.engine().input());
  const Inputs inputs = read_inputs(flags.inputs, reader);
  const ValueInfo& output = engine.engine().output();
  const Shape shape = batch_of(inputs.size(), output.shape);
  Tensor integers(output.dtype, shape);
  const auto start = std::chrono::steady_clock::now();
  engine.engine().run(inputs.integers, inputs.size(), {integers.data(), integers.bytes()});
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Tensor reals(DType::f32, shape);
  engine.to_reals({integers.data(), integers.bytes()}, reals.as<float>());

  std::string written;
  if (!flags.layers.empty()) written += write_layers(flags, inputs);
  if (!flags.tensors.empty()) written += write_tensors(flags, inputs, engine.engine().input());
  if (!flags.output.empty())
    write_npy(flags.output, engine.has_divisor() ? reals.view() : integers.view());
  if (flags.output == "-") return;
  print_answers(engine, inputs, reals.as<float>());
  fmt::print("{}", written);
  fmt::print("{} of {}: {:.3f} ms an image; tuning {}\n", inputs.size(), engine.engine().name(),
             1e3 * seconds / static_cast<double>(inputs.size()),
             engine.engine().tuning().to_string());
}

}  // namespace

void add_run(CLI::App& app) {
  CLI::App& verb =
      *app.add_subcommand("run", "what an integer model answers to pictures or arrays");
  const auto flags = std::make_shared<RunFlags>();
  verb.add_option("MODEL", flags->model, "an integer model (.nib)")->type_name("")->required();
  verb.add_option("--input", flags->inputs, "arrays (.npy) and pictures (JPEG, PNG), one batch")
      ->type_name("FILE")
      ->required();
  CLI::Option* output = verb.add_option("--output", flags->output,
                                        "the last value of the network (- is standard output)")
                            ->type_name("Y.npy");
  verb.add_option("--batch", flags->batch, "examples at a time (16)")->check(CLI::Range(1, 65536));
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
