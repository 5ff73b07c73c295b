// SPDX-License-Identifier: Apache-2.0
// Sizes of engines, and who makes the next.
#include "python/src/networks/growing_engine.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "core/device_name.h"
#include "nibble/core/error.h"

namespace nibble::python {
namespace {

constexpr std::int64_t kStep = 4;
constexpr std::int64_t kMostOnGpu = 256;

// More examples at a time are no faster: a CPU takes at most four, and gives each thread pieces of
// its own from two a thread on; the definitions take one.
std::int64_t most_at_once(const DeviceName& device, int threads) {
  if (device.kind == "cuda") return kMostOnGpu;
  std::int64_t most = device.kind == "cpu" ? std::max<std::int64_t>(kStep, 2 * threads) : 1;
  for (const DeviceName& each : device.both) most = std::max(most, most_at_once(each, threads));
  return most;
}

EngineUse use(SizedEngine& engine) {
  ++*engine.users;
  return {&engine, EngineLeaver{engine.users}};
}

}  // namespace

GrowingEngine::GrowingEngine(const ModelObject& model, const EngineOptions& options,
                             std::optional<std::int64_t> max_batch)
    : model_(model.file), options_(options) {
  options_.max_batch = max_batch.value_or(1);
  most_ = max_batch ? *max_batch : most_at_once(parse_device(options.device), options.threads);
  current_ = std::make_unique<SizedEngine>(model_->model, options_);
}

EngineUse GrowingEngine::now() const {
  const std::lock_guard lock(mutex_);
  return use(*current_);
}

EngineUse GrowingEngine::for_batch(std::int64_t batch) {
  Engines gone;  // after the lock
  const auto fits = [&]() -> EngineUse {
    const std::lock_guard lock(mutex_);
    gone = take_unused();
    return std::min(batch, most_) <= current_->max_batch ? use(*current_) : nullptr;
  };
  if (EngineUse found = fits()) return found;
  {
    const std::lock_guard lock(growing_);
    grow(batch);
  }
  return fits();
}

// Under growing_: nobody else changes most_ and current_ meanwhile.
void GrowingEngine::grow(std::int64_t batch) {
  std::int64_t most = most_;
  std::int64_t wanted = 1;
  while (wanted < std::min(batch, most)) wanted *= kStep;
  wanted = std::min(wanted, most);
  std::unique_ptr<SizedEngine> larger;
  while (wanted > current_->max_batch && !(larger = made(wanted))) most = wanted /= kStep;
  const std::lock_guard lock(mutex_);
  most_ = most;
  if (!larger) return;
  std::swap(current_, larger);
  left_.push_back(std::move(larger));
}

// Null: there is no room for it.
std::unique_ptr<SizedEngine> GrowingEngine::made(std::int64_t max_batch) {
  options_.max_batch = max_batch;
  try {
    return std::make_unique<SizedEngine>(model_->model, options_);
  } catch (const std::bad_alloc&) {
    return nullptr;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::memory || error.kind() == ErrorKind::limit) return nullptr;
    throw;
  }
}

// Under mutex_.
GrowingEngine::Engines GrowingEngine::take_unused() {
  const auto unused =
      std::ranges::partition(left_, [](const auto& each) { return *each->users > 0; });
  Engines taken(std::make_move_iterator(unused.begin()), std::make_move_iterator(unused.end()));
  left_.erase(unused.begin(), unused.end());
  return taken;
}

}  // namespace nibble::python
