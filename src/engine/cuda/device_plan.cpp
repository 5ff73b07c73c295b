// SPDX-License-Identifier: Apache-2.0
// Compiles programs for GPUs.
#include "engine/cuda/device_plan.h"

#include <cstring>

#include "engine/cuda/example_jobs.h"
#include "engine/cuda/number_jobs.h"

namespace nibble::inline engine {
namespace {

cuda::ExampleType type_of(DType dtype) {
  if (dtype == DType::i32) return cuda::ExampleType::i32;
  return dtype == DType::i8 ? cuda::ExampleType::i8 : cuda::ExampleType::u8;
}

DeviceWork work_of(const DeviceParts& parts, const ProgramStep& step, std::string& shape) {
  if (const auto* product = std::get_if<ProductLaw>(&step.law))
    return product_work(parts, step, *product, shape);
  if (const auto* mean = std::get_if<MeanLaw>(&step.law)) return mean_work(parts, step, *mean);
  return single_work(parts, step, std::get<SingleLaw>(step.law));
}

// Of one example, each value once.
std::int64_t bytes_of(const DevicePlaces& places, const ProgramStep& step) {
  std::int64_t bytes = places[step.output].image_bytes();
  for (const std::size_t value : step.reads()) bytes += places[value].image_bytes();
  if (const LargestLaw* largest = step.largest())
    bytes += 2 * places[largest->pooled].image_bytes();
  return bytes;
}

bool is_wide_step(const ProgramStep& step) {
  const FinishLaw* law = step.finish();
  return law != nullptr ? law->is_wide : std::get<SingleLaw>(step.law).is_wide;
}

}  // namespace

DevicePlan::DevicePlan(const EngineProgram& program, const EngineOptions& options,
                       const Tuning& tuning, int device)
    : constants_(device), entry_(program.entry) {
  const cuda::ProductPath path = cuda::product_path(device);
  const DevicePlaces places(program, options, path == cuda::ProductPath::wgmma);
  layout_ = places.entry();
  images_ = places.images();
  arena_bytes_ = places.arena_bytes();
  for (std::size_t i = 0; i < program.values.size(); ++i) {
    values_.push_back(program.values[i].info);
    places_.push_back(places[i]);
  }
  const DeviceParts parts{program, places, constants_, path, cuda::multiplies_halves(device),
                          tuning};
  for (const ProgramStep& step : program.steps) {
    if (places.is_alias(step)) continue;
    std::string shape;
    works_.push_back(work_of(parts, step, shape));
    results_.push_back(step.output);
    infos_.push_back({.name = step.name,
                      .kind = step.kind,
                      .shape = shape,
                      .macs = step.macs,
                      .bytes = bytes_of(places, step),
                      .is_wide = is_wide_step(step)});
  }
  constants_.wait();
}

// Examples lie dense where they come from.
void DevicePlan::load(const DeviceRun& run, const void* input, std::uint32_t* is_wrong) const {
  const auto size = [](std::int64_t extent) { return static_cast<std::int32_t>(extent); };
  const auto divisor = [](std::int64_t by) { return Divisor::of(static_cast<std::uint32_t>(by)); };
  cuda::LoadJob job{.from = input,
                    .is_wrong = is_wrong,
                    .to = places_[0].in(run.arena),
                    .order = {},
                    .type = type_of(entry_.dtype),
                    .zero = static_cast<std::int32_t>(entry_.zero),
                    .low = static_cast<std::int32_t>(entry_.low + entry_.zero),
                    .high = static_cast<std::int32_t>(entry_.high + entry_.zero),
                    .extent = {size(layout_.example.height), size(layout_.example.width)},
                    .step = {size(layout_.y.step), size(layout_.x.step)},
                    .origin = {size(layout_.y.origin), size(layout_.x.origin)},
                    .channels = divisor(layout_.example.channels),
                    .count = divisor(layout_.x.count)};
  job.order = cuda::ChunkOrder::of(job.to, run.images);
  queue(run.queue, job);
  fill_border(run, 0);
}

void DevicePlan::run_step(const DeviceRun& run, std::size_t step) const {
  works_[step](run);
  fill_border(run, results_[step]);
}

void DevicePlan::store(const DeviceRun& run, void* output) const {
  cuda::StoreJob job{.from = places_.back().in(run.arena),
                     .to = output,
                     .order = {},
                     .type = type_of(answer().dtype),
                     .unused = 0};
  job.order = cuda::ChunkOrder::of(job.from, run.images);
  queue(run.queue, job);
}

void DevicePlan::fill_border(const DeviceRun& run, std::size_t value) const {
  if (!places_[value].has_border) return;
  queue(run.queue, cuda::BorderJob{places_[value].in(run.arena), run.images, 0});
}

void DevicePlan::unpack(std::size_t index, const std::vector<std::byte>& bytes, std::int64_t images,
                        std::vector<std::byte>& to) const {
  const DevicePlace& place = places_[index];
  const ValueInfo& info = values_[index];
  const EntryLayout layout = index == 0 ? layout_ : EntryLayout::plain(place.picture);
  to.resize(info.bytes * static_cast<std::size_t>(images));
  std::byte* at = to.data();
  for (std::int64_t image = 0; image < images; ++image) {
    const std::byte* from = bytes.data() + image * place.image_bytes();
    for (std::int64_t y = 0; y < layout.example.height; ++y) {
      for (std::int64_t x = 0; x < layout.example.width; ++x) {
        const std::int64_t row = layout.y.stored_pixel(y);
        const std::int64_t column = layout.x.stored_pixel(x);
        const std::int64_t first = layout.channel(y - row * layout.y.step - layout.y.origin,
                                                  x - column * layout.x.step - layout.x.origin, 0);
        for (std::int64_t c = 0; c < layout.example.channels; ++c, at += size_of(info.dtype)) {
          const std::int32_t number =
              place.number(from, row * place.picture.width + column, first + c);
          std::memcpy(at, &number, size_of(info.dtype));  // little endian, as GPUs are
        }
      }
    }
  }
}

}  // namespace nibble::inline engine
