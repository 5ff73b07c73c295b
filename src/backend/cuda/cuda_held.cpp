// SPDX-License-Identifier: Apache-2.0
// Work of a step that waits for what follows it: a rectifier or a pool that it can do on its way.
#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/cuda_memory.h"
#include "backend/cuda/plain_kernels.h"
#include "backend/cuda/round_sources.h"

namespace nibble::inline backend {

void CudaBackend::round(ShiftPoint point, const Values& from, const Values& to,
                        cuda::DeviceBuffer second, cuda::RoundedProduct product,
                        const cuda::WindowCopies& patches) {
  if (step_.cluster != nullptr) {
    return round(
        point, to,
        [&](const cuda::RoundingSite& site) {
          product.site = site;
          cuda::queue(queue(), path_, product);
        },
        second.as<std::int8_t>());
  }
  release();
  product.site = site_of(point, to);
  product.site.second = second.as<std::int8_t>();
  Held held{.job = product,
            .to = to.memory,
            .from = patches.segment != 0 ? from.memory : MemoryHandle(),
            .patches = patches,
            .second = std::move(second),
            .label = queue_.label()};
  if (product.copies.order != nullptr && wants_turned(product.result))
    held.turned = pool_.take(std::size_t{product.result.rows} * product.result.channels);
  held_ = std::move(held);
}

void CudaBackend::hold(const cuda::LargestJob& pool, const Values& to) {
  release();
  Held held{.job = pool, .to = to.memory, .label = queue_.label()};
  if (to.images % cuda::kTurnedImages == 0 && wants_turned(pool.to))
    held.turned = pool_.take(std::size_t{pool.to.rows} * pool.to.channels);
  held_ = std::move(held);
}

void CudaBackend::hold(const cuda::NormalizeJob& norm, const Values& to) {
  release();
  held_ = {.job = norm, .to = to.memory, .label = queue_.label()};
}

void CudaBackend::round(ShiftPoint point, const cuda::AddedRows& rows, const Values& to) {
  if (step_.cluster != nullptr) {
    return round(point, to, [&](const cuda::RoundingSite& site) {
      cuda::queue(queue(), cuda::RoundEach<cuda::AddedRows>{rows, site, target(to)});
    });
  }
  release();
  held_ = {.job = cuda::RoundEach<cuda::AddedRows>{rows, site_of(point, to), target(to)},
           .to = to.memory,
           .label = queue_.label()};
}

void CudaBackend::release() {
  if (!updates_.empty()) return launch_updates();
  if (std::holds_alternative<std::monostate>(held_.job)) return;
  const std::string label = queue_.label();
  queue_.set_label(held_.label);
  std::visit([&](const auto& job) { launch(job); }, held_.job);
  held_ = {};
  queue_.set_label(label);
}

// Where the held results go turned; null where nobody wants them, or where no memory was taken yet:
// from the next step on it will be.
std::int8_t* CudaBackend::held_turned(const std::int32_t* made, const std::int32_t* rectified) {
  const std::int32_t* exponent = rectified != nullptr ? rectified : made;
  if (!turned_.contains(exponent)) return nullptr;
  turned_.insert(made);
  if (held_.turned.is_empty()) return nullptr;
  return static_cast<CudaMemory*>(held_.to.get())->keep_turned(std::move(held_.turned), exponent);
}

const std::int8_t* CudaBackend::turned(const Values& values) {
  release();
  const std::int32_t* at = exponent(values);
  const auto* data = static_cast<const CudaMemory*>(values.memory.get())->turned(at);
  if (data == nullptr) turned_.insert(at);
  return data;
}

void CudaBackend::launch(cuda::LargestJob pool) {
  const auto images = pool.to.rows / pool.to.pixels.divisor;
  pool.turned = {.from = pool.to,
                 .to = held_turned(pool.to.exponent, pool.rectified_exponent),
                 .images = images,
                 .pitch = images,
                 .channel_step = 1,
                 .pixel_step = pool.to.channels,
                 .channel_tiles = {},
                 .pixel_blocks = {}};
  cuda::queue(queue_, pool);
}

void CudaBackend::launch(cuda::RoundedProduct product) {
  product.turned = held_turned(product.result.exponent, product.rectified_exponent);
  cuda::queue(queue_, path_, product);
  if (step_.rule == ShiftRule::frozen) return;
  product.site.is_repeat = true;
  cuda::queue(queue_, path_, product);
}

void CudaBackend::launch(cuda::RoundEach<cuda::AddedRows> sums) {
  cuda::queue(queue_, sums);
  if (step_.rule == ShiftRule::frozen) return;
  sums.site.is_repeat = true;
  cuda::queue(queue_, sums);
}

// Where the held job makes `values`, which stay in their memory: also the exponent of `to`.
template <class Job>
bool CudaBackend::name_held(Job& job, const cuda::Rows& result, const Values& values,
                            const Values& to) const {
  if (values.memory != to.memory || to.exponent.place < 0 || job.rectified_exponent != nullptr ||
      result.data != rows(values).data)
    return false;
  job.rectified_exponent = exponent(to);
  return true;
}

bool CudaBackend::rectify_held(const Values& values, const Values& to, const Values* passed) {
  const auto join = [&](auto& job, const cuda::Rows& result) {
    if (!name_held(job, result, values, to)) return false;
    if constexpr (requires { job.passed; })
      job.passed = passed == nullptr ? nullptr : rows(*passed).data;
    return true;
  };
  if (auto* product = std::get_if<cuda::RoundedProduct>(&held_.job))
    return join(*product, product->result);
  if (auto* pool = std::get_if<cuda::LargestJob>(&held_.job); pool != nullptr && passed != nullptr)
    return join(*pool, pool->to);
  if (auto* norm = std::get_if<cuda::NormalizeJob>(&held_.job); norm != nullptr && !passed)
    return join(*norm, norm->result);
  if (auto* sums = std::get_if<cuda::RoundEach<cuda::AddedRows>>(&held_.job))
    return join(*sums, sums->result);
  return false;
}

bool CudaBackend::pool_held(const cuda::LargestJob& pool, const Values& to) {
  auto* product = std::get_if<cuda::RoundedProduct>(&held_.job);
  if (product == nullptr || held_.patches.segment == 0 || product->turned != nullptr ||
      product->pooled.values != nullptr || product->result.data != pool.from.data ||
      product->rectified_exponent != pool.from.exponent ||
      product->site.rounding != ShiftRounding::nearest || product->bias.mantissas != nullptr)
    return false;
  product->copies = held_.patches;
  product->pooled = {pool.to.data, pool.marks, {pool.to.exponent, nullptr}};
  held_.pooled = to.memory;
  held_.turned.release();
  return true;
}

bool CudaBackend::pass_held(const Values& values, const Values& to) {
  if (auto* product = std::get_if<cuda::RoundedProduct>(&held_.job)) {
    cuda::PooledRows& pooled = product->pooled;
    if (pooled.values == nullptr || values.memory != to.memory || to.exponent.place < 0 ||
        pooled.values != rows(values).data || pooled.exponents[1] != nullptr)
      return false;
    pooled.exponents[1] = exponent(to);
    return true;
  }
  auto* pool = std::get_if<cuda::LargestJob>(&held_.job);
  return pool != nullptr && name_held(*pool, pool->to, values, to);
}

}  // namespace nibble::inline backend
