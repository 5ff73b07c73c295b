// SPDX-License-Identifier: Apache-2.0
// The integer engine on arrays: what fits runs in its own memory, all else as `nibble run` takes
// it.
#include <nanobind/stl/string.h>

#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "inference/example_reader.h"
#include "nibble/core/parallel.h"
#include "nibble/inference/answer_engine.h"
#include "python/src/array.h"
#include "python/src/checks.h"
#include "python/src/errors.h"
#include "python/src/networks/bind.h"
#include "python/src/new_arrays.h"
#include "python/src/strided.h"
#include "tasks/measure_engine.h"

namespace nibble::python {
namespace {

constexpr std::string_view kRun = "run";

struct EngineObject {
  EngineObject(const ModelObject& model, const EngineOptions& options)
      : answers(std::make_unique<const AnswerEngine>(copy_of(model.model()), options)),
        reader(answers->network(), answers->engine().input()),
        device(options.device),
        threads(options.threads) {}
  ~EngineObject() {
    const nb::gil_scoped_release others_may_run;  // what was submitted ends with Python's help
    answers.reset();
  }

  const Engine& engine() const { return answers->engine(); }

  std::unique_ptr<const AnswerEngine> answers;
  ExampleReader reader;
  std::string device;
  int threads;
};

// Examples of an array as the engine wants them, in its own memory where that is possible.
class Examples {
 public:
  Examples(const Array& array, const EngineObject& self) {
    if (!array.is_on_cpu()) {
      throw StateMistake(kRun, "x's device", device_text(array.device()),
                         "cpu, where this engine runs");
    }
    const ValueInfo& info = self.engine().input();
    is_one_ = is_one(array.shape(), info.shape);
    if (array.is_contiguous() && array.dtype() == info.dtype && info.zero == 0 &&
        (array.shape() == info.shape || is_batch(array.shape(), info.shape))) {
      batch_ = is_one_ ? 1 : array.shape()[0];
      bytes_ = {array.data(), info.bytes * static_cast<std::size_t>(batch_)};
      return;
    }
    Tensor gathered;
    batch_ = self.reader.take(dense(array, gathered), "x", copied_);
    bytes_ = copied_;
  }

  std::int64_t batch() const { return batch_; }
  std::span<const std::byte> bytes() const { return bytes_; }

  // Of what comes out: a batch, or one answer where one example came in.
  Shape shape_for(const Shape& one) const {
    if (is_one_) return one;
    std::vector<std::int64_t> extents{batch_};
    extents.insert(extents.end(), one.extents().begin(), one.extents().end());
    return Shape(extents);
  }

 private:
  static bool is_batch(const Shape& shape, const Shape& one) {
    if (shape.rank() != one.rank() + 1) return false;
    for (std::size_t axis = 0; axis < one.rank(); ++axis) {
      if (shape[axis + 1] != one[axis]) return false;
    }
    return shape[0] > 0;
  }

  // One example: as the network takes it, a plane of one channel, or channel by channel.
  static bool is_one(const Shape& shape, const Shape& one) {
    if (shape == one || shape.rank() < one.rank()) return true;
    return shape.rank() == 3 && one.rank() == 3 && one[2] > 1 && shape[0] == one[2];
  }

  bool is_one_ = false;
  std::int64_t batch_ = 0;
  std::span<const std::byte> bytes_;
  std::vector<std::byte> copied_;
};

void run_into(const EngineObject& self, const Examples& examples, std::byte* output) {
  const nb::gil_scoped_release others_may_run;
  const std::size_t bytes =
      self.engine().output().bytes * static_cast<std::size_t>(examples.batch());
  self.engine().run(examples.bytes(), examples.batch(), {output, bytes});
}

void check_output(const Array& output, const Shape& shape, DType dtype) {
  constexpr Argument kOut{kRun, "out"};
  check_shape(output, shape, kOut);
  if (output.dtype() != dtype) {
    throw TypeMistake(kRun, "out's dtype", python_name(output.dtype()), python_name(dtype));
  }
  if (!output.is_on_cpu() || !output.is_contiguous())
    throw TypeMistake(kRun, "out", "a strided array or one on a GPU", "a dense one on the CPU");
}

nb::object run(const EngineObject& self, nb::handle x, nb::handle out) {
  const Array input(x, {kRun, "x"}, Access::read);
  const Examples examples(input, self);
  const ValueInfo& info = self.engine().output();
  const Shape shape = examples.shape_for(info.shape);
  if (!out.is_none()) {
    const Array output(out, {kRun, "out"}, Access::write);
    check_output(output, shape, info.dtype);
    run_into(self, examples, output.data());
    note_written(output);
    return nb::borrow(out);
  }
  Tensor integers(info.dtype, shape);
  run_into(self, examples, integers.data());
  return to_python(std::move(integers), input.kind());
}

// A batch on its way: all that must live until it has ended. It dies with Python's lock held.
struct Submission {
  Submission(const EngineObject& self, nb::handle given, nb::handle told)
      : x(nb::borrow(given)),
        future(nb::borrow(told)),
        array(x, {"submit", "x"}, Access::read),
        examples(array, self),
        output(self.engine().output().dtype, examples.shape_for(self.engine().output().shape)) {}

  void end(const std::exception_ptr& error) {
    try {
      if (error) std::rethrow_exception(error);
      future.attr("set_result")(to_python(std::move(output), array.kind()));
    } catch (const Error& mistake) {
      future.attr("set_exception")(to_exception(mistake));
    } catch (const std::exception& other) {
      future.attr("set_exception")(to_exception(Error(other.what(), ErrorKind::internal)));
    }
  }

  nb::object x;
  nb::object future;
  Array array;
  Examples examples;
  Tensor output;
};

void submit(const EngineObject& self, nb::handle x, nb::handle future) {
  auto made = std::make_unique<Submission>(self, x, future);
  Submission* batch = made.get();
  const nb::gil_scoped_release others_may_run;
  self.engine().submit(batch->examples.bytes(), batch->examples.batch(),
                       {batch->output.data(), batch->output.bytes()},
                       [batch](const std::exception_ptr& error) {
                         const nb::gil_scoped_acquire lock;
                         const std::unique_ptr<Submission> ended(batch);
                         ended->end(error);
                       });
  (void)made.release();  // the batch has it now
}

nb::object answers(const EngineObject& self, nb::handle x) {
  const Array input(x, {"answers", "x"}, Access::read);
  const Examples examples(input, self);
  const ValueInfo& info = self.engine().output();
  Tensor integers(info.dtype, examples.shape_for(info.shape));
  run_into(self, examples, integers.data());
  Tensor reals(DType::f32, integers.shape());
  self.answers->to_reals({integers.data(), integers.bytes()}, reals.as<float>());
  return to_python(std::move(reals), input.kind());
}

// The integers of every layer, by its name; of an engine that keeps layers.
nb::dict layer_values(const EngineObject& self, nb::handle x) {
  const Array input(x, {"layers", "x"}, Access::read);
  const Examples examples(input, self);
  std::vector<std::pair<std::string, Tensor>> layers;
  {
    const nb::gil_scoped_release others_may_run;
    self.engine().run_layers(examples.bytes(), examples.batch(),
                             [&](const ValueInfo& info, std::span<const std::byte> values) {
                               Tensor tensor(info.dtype, examples.shape_for(info.shape));
                               std::memcpy(tensor.data(), values.data(), values.size());
                               layers.emplace_back(info.name, std::move(tensor));
                             });
  }
  nb::dict arrays;
  for (auto& [name, tensor] : layers)
    arrays[name.c_str()] = to_python(std::move(tensor), input.kind());
  return arrays;
}

nb::tuple described(const ValueInfo& info) {
  nb::list extents;
  for (const std::int64_t extent : info.shape.extents()) extents.append(extent);
  return nb::make_tuple(info.name, nb::tuple(extents), python_name(info.dtype), info.low, info.high,
                        info.zero);
}

nb::list steps(const EngineObject& self) {
  nb::list rows;
  for (const StepInfo& each : self.engine().steps())
    rows.append(nb::make_tuple(each.name, each.kind, each.shape, each.macs, each.is_wide));
  return rows;
}

std::string bench(const EngineObject& self, std::int64_t batch, double seconds) {
  if (batch < 1 || !(seconds > 0)) {
    throw Error("bench", "batch and seconds",
                std::to_string(batch) + " and " + std::to_string(seconds), "more than 0");
  }
  const nb::gil_scoped_release others_may_run;
  return measure_engine(
      self.engine(),
      {.batch = batch, .seconds = seconds, .device = self.device, .threads = self.threads});
}

}  // namespace

void bind_engine(nb::module_& module) {
  nb::class_<EngineObject>(module, "Engine")
      .def(
          "__init__",
          [](EngineObject* self, const ModelObject& model, const std::string& device, int threads,
             std::int64_t max_batch, bool keeps_layers) {
            if (threads < 0) throw Error("engine", "threads", std::to_string(threads), "1 or more");
            const nb::gil_scoped_release others_may_run;
            new (self) EngineObject(model, {.device = device,
                                            .max_batch = max_batch,
                                            .threads = threads > 0 ? threads : thread_count(),
                                            .keeps_layers = keeps_layers});
          },
          nb::arg("model"), nb::arg("device"), nb::arg("threads"), nb::arg("max_batch"),
          nb::arg("keeps_layers"))
      .def("run", run, nb::arg("x").none(), nb::arg("out") = nb::none(),
           nb::sig("def run(self, x: typing.Any, out: typing.Any = None) -> typing.Any"))
      .def("submit_into", submit, nb::arg("x").none(), nb::arg("future"),
           nb::sig("def submit_into(self, x: typing.Any, future: typing.Any) -> None"))
      .def("answers", answers, nb::arg("x").none(),
           nb::sig("def answers(self, x: typing.Any) -> typing.Any"))
      .def("layer_values", layer_values, nb::arg("x").none(),
           nb::sig("def layer_values(self, x: typing.Any) -> dict[str, typing.Any]"))
      .def("bench_json", bench, nb::arg("batch"), nb::arg("seconds"))
      .def("steps", steps, nb::sig("def steps(self) -> list[tuple[str, str, str, int, bool]]"))
      .def_prop_ro(
          "input", [](const EngineObject& self) { return described(self.engine().input()); },
          nb::sig("def input(self) -> tuple[str, tuple[int, ...], str, int, int, int]"))
      .def_prop_ro(
          "output", [](const EngineObject& self) { return described(self.engine().output()); },
          nb::sig("def output(self) -> tuple[str, tuple[int, ...], str, int, int, int]"))
      .def_prop_ro("weight_bytes",
                   [](const EngineObject& self) { return self.engine().weight_bytes(); })
      .def_prop_ro("arena_bytes",
                   [](const EngineObject& self) { return self.engine().arena_bytes(); })
      .def_ro("threads", &EngineObject::threads)
      .def_ro("device", &EngineObject::device);
}

}  // namespace nibble::python
