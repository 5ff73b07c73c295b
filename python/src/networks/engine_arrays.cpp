// SPDX-License-Identifier: Apache-2.0
// An engine, and its examples and answers in memory of arrays.
#include "python/src/networks/engine_arrays.h"

#include <algorithm>
#include <future>
#include <utility>

#include "core/device_name.h"
#include "cuda/memory.h"
#include "kernels/quantize/widening.h"
#include "python/src/checks.h"
#include "python/src/device_memory.h"
#include "python/src/errors.h"
#include "python/src/new_arrays.h"
#include "python/src/strided.h"

namespace nibble::python {
namespace {

constexpr Argument kX{"run", "x", kNumbers};
constexpr std::size_t kBlock = 1 << 14;       // elements, which one thread widens
constexpr std::size_t kOneThreads = 1 << 17;  // elements, which take half a millisecond

// Engines that check each other take the host's alone.
Device memory_of(const std::string& name) {
  const DeviceName device = parse_device(name);
  return device.kind == "cuda" ? Device{Device::Kind::cuda, device.index} : Device{};
}

bool is_batch(const Shape& shape, const Shape& one) {
  if (shape.rank() != one.rank() + 1) return false;
  for (std::size_t axis = 0; axis < one.rank(); ++axis) {
    if (shape[axis + 1] != one[axis]) return false;
  }
  return shape[0] > 0;
}

// One example: as the network takes it, a plane of one channel, or channel by channel.
bool is_one(const Shape& shape, const Shape& one) {
  if (shape == one || shape.rank() < one.rank()) return true;
  return shape.rank() == 3 && one.rank() == 3 && one[2] > 1 && shape[0] == one[2];
}

Tensor copy_on_host(const Array& array) {
  if (!array.is_contiguous()) {
    if (array.kind() != Array::Kind::torch) {
      throw StateMistake(kX.function, "x", "a strided array of another package on a GPU",
                         "a dense one, or a torch tensor");
    }
    const nb::object dense = array.object().attr("detach")().attr("contiguous")();
    return copy_on_host(Array(dense, kX, Access::read));
  }
  Tensor copy(array.dtype(), array.shape());
  const cuda::Place place = place_on(array.device().index);
  const nb::gil_scoped_release others_may_run;
  cuda::copy(copy.data(), array.data(), copy.bytes(), place);
  return copy;
}

template <class Word, class ToFloat>
Tensor converted(ConstTensorView values, ToFloat to_float) {
  Tensor floats(DType::f32, values.shape());
  std::ranges::transform(values.as<Word>(), floats.as<float>().begin(), to_float);
  return floats;
}

// Floats of other widths as fp32, which is what the network rounds.
ConstTensorView in_fp32(ConstTensorView values, Tensor& storage) {
  switch (values.dtype()) {
    case DType::f64:
      storage = converted<double>(values, [](double each) { return static_cast<float>(each); });
      return storage.view();
    case DType::f16:
    case DType::bf16:
      (void)as_floats(values, storage);
      return storage.view();
    default:
      return values;
  }
}

bool is_real(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::f16 || dtype == DType::bf16;
}

// Real numbers in the network's own order, of a large batch a part by each of so many threads. They
// end with it: those of parallel_for would spin for a while, on cores that the engine wants next.
void take_reals(const ExampleReader& reader, ConstTensorView reals, int threads,
                std::vector<std::byte>& integers) {
  const ValueInfo& info = reader.info();
  const auto count = static_cast<std::size_t>(reals.elements());
  const std::size_t size = info.bytes / static_cast<std::size_t>(info.shape.elements());
  const std::size_t parts =
      std::clamp<std::size_t>(count / kOneThreads, 1, static_cast<std::size_t>(threads));
  integers.resize(count * size);
  const auto take_part = [&](std::size_t part) {
    const std::size_t end = count * (part + 1) / parts;
    for (std::size_t at = count * part / parts; at < end; at += kBlock) {
      Tensor widened;
      const ConstTensorView some(reals.data() + at * size_of(reals.dtype()), reals.dtype(),
                                 Shape{static_cast<std::int64_t>(std::min(kBlock, end - at))});
      reader.from_reals(in_fp32(some, widened).as<float>(), integers.data() + at * size);
    }
  };
  std::vector<std::future<void>> others;
  for (std::size_t part = 1; part < parts; ++part)
    others.push_back(std::async(std::launch::async, take_part, part));
  take_part(0);
  for (std::future<void>& each : others) each.get();
}

}  // namespace

EngineObject::EngineObject(const ModelObject& model, const EngineOptions& options,
                           std::optional<std::int64_t> max_batch)
    : engines(std::make_unique<GrowingEngine>(model, options, max_batch)),
      reader(engines->now()->answers.network(), engines->now()->engine().input()),
      output(engines->now()->engine().output()),
      device(options.device),
      memory(memory_of(options.device)),
      threads(options.threads),
      lanes(options.lanes) {}

EngineObject::~EngineObject() {
  const nb::gil_scoped_release others_may_run;  // what was submitted ends with Python's help
  engines.reset();
}

Examples::Examples(const Array& array, const EngineObject& self) {
  if (!array.is_on_cpu() && array.device() != self.memory) {
    throw StateMistake(kX.function, "x's device", device_text(array.device()),
                       device_text(self.memory) + ", where this engine runs");
  }
  const ValueInfo& info = self.input();
  is_one_ = is_one(array.shape(), info.shape);
  if (array.is_contiguous() && array.dtype() == info.dtype && info.zero == 0 &&
      (array.shape() == info.shape || is_batch(array.shape(), info.shape))) {
    is_on_gpu_ = !array.is_on_cpu();
    batch_ = is_one_ ? 1 : array.shape()[0];
    bytes_ = {array.data(), info.bytes * static_cast<std::size_t>(batch_)};
    return;
  }
  Tensor gathered;
  if (!array.is_on_cpu()) gathered = copy_on_host(array);
  const nb::gil_scoped_release others_may_run;
  const ConstTensorView values =
      array.is_on_cpu() ? dense(array, gathered) : std::as_const(gathered).view();
  if (is_real(values.dtype()) &&
      (values.shape() == info.shape || is_batch(values.shape(), info.shape))) {
    batch_ = is_one_ ? 1 : values.shape()[0];
    take_reals(self.reader, values, self.threads, copied_);
  } else {
    Tensor widened;
    batch_ = self.reader.take(in_fp32(values, widened), "x", copied_);
  }
  bytes_ = copied_;
}

Shape Examples::shape_for(const Shape& one) const {
  if (is_one_) return one;
  std::vector<std::int64_t> extents{batch_};
  extents.insert(extents.end(), one.extents().begin(), one.extents().end());
  return Shape(extents);
}

Answers::Answers(const EngineObject& self, const Examples& examples, const Array& input) {
  const ValueInfo& info = self.output;
  const Shape shape = examples.shape_for(info.shape);
  if (!input.is_on_cpu()) {
    on_gpu_ = empty_on_device(input, info.dtype, shape);
    const Array memory(on_gpu_, kX, Access::write);
    bytes_ = {memory.data(), memory.mutable_view().bytes()};
    return;
  }
  on_host_ = Tensor(info.dtype, shape);
  bytes_ = {on_host_.data(), on_host_.bytes()};
}

nb::object Answers::take(Array::Kind kind) {
  return on_gpu_.is_valid() ? std::move(on_gpu_) : to_python(std::move(on_host_), kind);
}

nb::object beside(const Array& input, Tensor made) {
  if (input.is_on_cpu()) return to_python(std::move(made), input.kind());
  nb::object result = empty_on_device(input, made.dtype(), made.shape());
  const Array memory(result, kX, Access::write);
  const cuda::Place place = place_on(memory.device().index);
  const nb::gil_scoped_release others_may_run;
  cuda::copy(memory.data(), made.data(), made.bytes(), place);
  return result;
}

}  // namespace nibble::python
