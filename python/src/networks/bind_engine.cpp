// SPDX-License-Identifier: Apache-2.0
// The integer engine on arrays: what fits runs in its own memory, all else as `nibble run` takes
// it.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <unistd.h>

#include <condition_variable>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nibble/core/parallel.h"
#include "nibble/cuda/device.h"
#include "python/src/checks.h"
#include "python/src/device_memory.h"
#include "python/src/errors.h"
#include "python/src/networks/bind.h"
#include "python/src/networks/engine_arrays.h"
#include "python/src/overlap.h"
#include "tasks/measure_engine.h"

namespace nibble::python {
namespace {

constexpr std::string_view kRun = "run";
constexpr int kMostLanes = 64;  // as of nibble bench

// What was queued on the GPU before, on the current stream, must have ended: the engine has streams
// of its own.
std::optional<cuda::Place> queue_before(const EngineObject& self, bool is_on_gpu) {
  return is_on_gpu ? std::optional(place_on(self.memory.index)) : std::nullopt;
}

void run_into(const EngineObject& self, const Examples& examples, std::byte* output,
              bool is_on_gpu) {
  const std::optional<cuda::Place> queue = queue_before(self, is_on_gpu);
  const nb::gil_scoped_release others_may_run;
  if (queue) cuda::wait_for(*queue);
  const std::size_t bytes = self.output.bytes * static_cast<std::size_t>(examples.batch());
  const EngineUse used = self.engines->for_batch(examples.batch());
  used->engine().run(examples.bytes(), examples.batch(), {output, bytes});
}

void check_output(const EngineObject& self, const Array& output, const Shape& shape) {
  check_shape(output, shape, {kRun, "out"});
  const DType dtype = self.output.dtype;
  if (output.dtype() != dtype) {
    throw TypeMistake(kRun, "out's dtype", python_name(output.dtype()), python_name(dtype));
  }
  const bool is_within_reach = output.is_on_cpu() || output.device() == self.memory;
  if (!is_within_reach || !output.is_contiguous()) {
    throw TypeMistake(kRun, "out", "a strided array or one on another device",
                      "a dense one on the CPU, or where the engine runs");
  }
}

nb::object run(const EngineObject& self, nb::handle x, nb::handle out) {
  const Array input(x, {kRun, "x", kNumbers}, Access::read);
  const Examples examples(input, self);
  if (!out.is_none()) {
    const std::string type = python_name(self.output.dtype);
    const Array output(out, {kRun, "out", type}, Access::write);
    check_output(self, output, examples.shape_for(self.output.shape));
    check_apart(input, output, {kRun, "out"}, false);
    run_into(self, examples, output.data(), examples.is_on_gpu() || !output.is_on_cpu());
    note_written(output);
    return nb::borrow(out);
  }
  Answers answers(self, examples, input);
  run_into(self, examples, answers.bytes().data(), examples.is_on_gpu() || answers.is_on_gpu());
  return answers.take(input.kind());
}

// A batch on its way, for those who must not go before it. A child made by fork has lost the
// threads of its parent's.
class OnItsWay {
 public:
  OnItsWay() {
    const std::lock_guard lock(mutex_);
    if (process_ != getpid()) count_ = 0;
    process_ = getpid();
    ++count_;
  }
  OnItsWay(OnItsWay&& other) noexcept : counts_(std::exchange(other.counts_, false)) {}
  OnItsWay& operator=(OnItsWay&&) = delete;
  ~OnItsWay() {
    if (!counts_) return;
    const std::lock_guard lock(mutex_);
    if (--count_ == 0) is_none_.notify_all();
  }

  static void wait_for_all() {
    if (process_ != getpid()) return;
    const nb::gil_scoped_release they_need_it;
    std::unique_lock lock(mutex_);
    is_none_.wait(lock, [] { return count_ == 0; });
  }

 private:
  static inline std::mutex mutex_;
  static inline std::condition_variable is_none_;
  static inline int count_ = 0;
  static inline pid_t process_ = 0;  // whose batches they are
  bool counts_ = true;
};

// A batch on its way: all that must live until it has ended. It dies with Python's lock held.
struct Submission {
  Submission(const EngineObject& self, nb::handle given, nb::handle told)
      : x(nb::borrow(given)),
        future(nb::borrow(told)),
        array(x, {"submit", "x", kNumbers}, Access::read),
        examples(array, self),
        answers(self, examples, array) {}

  void end(const std::exception_ptr& error) {
    try {
      if (error) std::rethrow_exception(error);
      future.attr("set_result")(answers.take(array.kind()));
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
  Answers answers;
  EngineUse used;
  OnItsWay on_its_way;
};

void submit(const EngineObject& self, nb::handle x, nb::handle future) {
  auto made = std::make_unique<Submission>(self, x, future);
  Submission* batch = made.get();
  const std::optional<cuda::Place> queue =
      queue_before(self, batch->examples.is_on_gpu() || batch->answers.is_on_gpu());
  const nb::gil_scoped_release others_may_run;
  if (queue) cuda::wait_for(*queue);
  batch->used = self.engines->for_batch(batch->examples.batch());
  batch->used->engine().submit(batch->examples.bytes(), batch->examples.batch(),
                               batch->answers.bytes(), [batch](const std::exception_ptr& error) {
                                 const OnItsWay until_unlocked = std::move(batch->on_its_way);
                                 const nb::gil_scoped_acquire lock;
                                 const std::unique_ptr<Submission> ended(batch);
                                 ended->end(error);
                               });
  (void)made.release();  // the batch has it now
}

nb::object answers(const EngineObject& self, nb::handle x) {
  const Array input(x, {"answers", "x", kNumbers}, Access::read);
  const Examples examples(input, self);
  const ValueInfo& info = self.output;
  Tensor integers(info.dtype, examples.shape_for(info.shape));
  run_into(self, examples, integers.data(), examples.is_on_gpu());
  Tensor reals(DType::f32, integers.shape());
  {
    const nb::gil_scoped_release others_may_run;
    self.engines->now()->answers.to_reals({integers.data(), integers.bytes()}, reals.as<float>());
  }
  return beside(input, std::move(reals));
}

// The integers of every layer, by its name; of an engine that keeps layers.
nb::dict layer_values(const EngineObject& self, nb::handle x) {
  const Array input(x, {"layers", "x", kNumbers}, Access::read);
  const Examples examples(input, self);
  const std::optional<cuda::Place> queue = queue_before(self, examples.is_on_gpu());
  std::vector<std::pair<std::string, Tensor>> layers;
  {
    const nb::gil_scoped_release others_may_run;
    if (queue) cuda::wait_for(*queue);
    self.engines->now()->engine().run_layers(
        examples.bytes(), examples.batch(),
        [&](const ValueInfo& info, std::span<const std::byte> values) {
          Tensor tensor(info.dtype, examples.shape_for(info.shape));
          std::memcpy(tensor.data(), values.data(), values.size());
          layers.emplace_back(info.name, std::move(tensor));
        });
  }
  nb::dict arrays;
  for (auto& [name, tensor] : layers) arrays[name.c_str()] = beside(input, std::move(tensor));
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
  const EngineUse used = self.engines->now();
  for (const StepInfo& each : used->engine().steps())
    rows.append(nb::make_tuple(each.name, each.kind, each.shape, each.macs, each.is_wide));
  return rows;
}

std::string bench(const EngineObject& self, std::int64_t batch, double seconds) {
  if (batch < 1 || !(seconds > 0)) {
    throw Error("bench", "batch and seconds",
                std::to_string(batch) + " and " + std::to_string(seconds), "more than 0");
  }
  const nb::gil_scoped_release others_may_run;
  const EngineUse used = self.engines->for_batch(batch);
  return measure_engine(used->engine(), {.batch = batch,
                                         .seconds = seconds,
                                         .device = self.device,
                                         .threads = self.threads,
                                         .lanes = self.lanes});
}

}  // namespace

void bind_engine(nb::module_& module) {
  nb::class_<EngineObject> engine(module, "Engine");
  engine
      .def(
          "__init__",
          [](EngineObject* self, const ModelObject& model, const std::string& device, int threads,
             std::optional<std::int64_t> max_batch, bool keeps_layers, int lanes,
             std::optional<bool> unpacked) {
            if (threads < 0) throw Error("engine", "threads", std::to_string(threads), "1 or more");
            if (lanes < 1 || lanes > kMostLanes)
              throw Error("engine", "lanes", std::to_string(lanes),
                          "1 to " + std::to_string(kMostLanes));
            const nb::gil_scoped_release others_may_run;
            new (self)
                EngineObject(model,
                             {.device = device,
                              .threads = threads > 0 ? threads : thread_count(),
                              .lanes = lanes,
                              .keeps_layers = keeps_layers,
                              .packs_halves = unpacked ? std::optional(!*unpacked) : std::nullopt},
                             max_batch);
          },
          nb::arg("model"), nb::arg("device"), nb::arg("threads"), nb::arg("max_batch").none(),
          nb::arg("keeps_layers"), nb::arg("lanes"), nb::arg("unpacked").none())
      .def(
          "run", run, nb::arg("x") = nb::none(), nb::arg("out") = nb::none(),
          nb::sig("def run(self, x: typing.Any, out: typing.Any = None) -> typing.Any"),
          "The integers that the network answers with, for one example or a batch; into out, where "
          "it is given.\n\n"
          ">>> engine = nibble.Engine(digits_model)\n"
          ">>> out = np.empty((3, 10), np.int32)\n"
          ">>> engine.run(np.zeros((3, 8, 8, 1), np.uint8), out) is out\n"
          "True")
      .def("submit_into", submit, nb::arg("x").none(), nb::arg("future"),
           nb::sig("def submit_into(self, x: typing.Any, future: typing.Any) -> None"),
           "What submit does, by a future that is there.")
      .def("answers", answers, nb::arg("x") = nb::none(),
           nb::sig("def answers(self, x: typing.Any) -> typing.Any"),
           "As run, but the real numbers that the integers stand for, as float32.\n\n"
           ">>> answers = nibble.Engine(digits_model).answers(np.zeros((3, 8, 8, 1), np.uint8))\n"
           ">>> answers.shape, answers.dtype\n"
           "((3, 10), dtype('float32'))")
      .def("layer_values", layer_values, nb::arg("x").none(),
           nb::sig("def layer_values(self, x: typing.Any) -> dict[str, typing.Any]"),
           "What values gives, of an engine that keeps layers.")
      .def("bench_json", bench, nb::arg("batch"), nb::arg("seconds"), "What bench reads.")
      .def("steps", steps, nb::sig("def steps(self) -> list[tuple[str, str, str, int, bool]]"),
           "What layers reads.")
      .def_prop_ro(
          "input", [](const EngineObject& self) { return described(self.input()); },
          nb::sig("def input(self) -> tuple[str, tuple[int, ...], str, int, int, int]"),
          "What inputs reads.")
      .def_prop_ro(
          "output", [](const EngineObject& self) { return described(self.output); },
          nb::sig("def output(self) -> tuple[str, tuple[int, ...], str, int, int, int]"),
          "What outputs reads.")
      .def_prop_ro(
          "weight_bytes",
          [](const EngineObject& self) { return self.engines->now()->engine().weight_bytes(); },
          "Of the weights, as they lie in memory.")
      .def_prop_ro(
          "arena_bytes",
          [](const EngineObject& self) { return self.engines->now()->engine().arena_bytes(); },
          "Of all values of one run, for max_batch examples.")
      .def_ro("threads", &EngineObject::threads, "Of one run.")
      .def_ro("device", &EngineObject::device, "As it was asked for.");
  bind_engine_files(engine);
  module.def("wait_for_submitted", OnItsWay::wait_for_all,
             "Until all that was submitted has ended, to any engine, and no thread of theirs needs "
             "Python.");
}

}  // namespace nibble::python
