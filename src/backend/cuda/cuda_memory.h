// SPDX-License-Identifier: Apache-2.0
// Values, weights and gradients in the memory of a GPU.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "backend/cuda/device_pool.h"
#include "backend/cuda/round_sources.h"
#include "backend/cuda/training_kernels.h"

namespace nibble::inline backend {

class CudaBackend;

class CudaMemory final : public Memory {
 public:
  explicit CudaMemory(cuda::DeviceBuffer buffer) : buffer_(std::move(buffer)) {}
  std::int8_t* data() const { return buffer_.as<std::int8_t>(); }

  // The same numbers turned, as long as they have the exponent that lies there and nobody writes
  // others.
  const std::int8_t* turned(const std::int32_t* exponent) const {
    return exponent == turned_exponent_ ? turned_.as<std::int8_t>() : nullptr;
  }
  std::int8_t* keep_turned(cuda::DeviceBuffer buffer, const std::int32_t* exponent) {
    turned_ = std::move(buffer);
    turned_exponent_ = exponent;
    return turned_.as<std::int8_t>();
  }
  // The windows of a layer laid out, from its forward pass to its gradient; others may have other
  // windows.
  MemoryHandle patches(const ProductOp& layer) const {
    const auto found = patches_.find(&layer);
    return found == patches_.end() ? MemoryHandle() : found->second;
  }
  void keep_patches(const ProductOp& layer, MemoryHandle patches) {
    patches_[&layer] = std::move(patches);
  }

  void forget_copies() {
    turned_.release();
    turned_exponent_ = nullptr;
    patches_.clear();
  }

 private:
  cuda::DeviceBuffer buffer_;
  cuda::DeviceBuffer turned_;
  const std::int32_t* turned_exponent_ = nullptr;
  std::map<const ProductOp*, MemoryHandle> patches_;
};

class CudaWeights final : public Weights {
 public:
  CudaWeights(CudaBackend& backend, const WeightsCase& weights);

  void write(const WeightsState& state) override;
  WeightsState read() const override;
  std::unique_ptr<Departure> leave(bool with_fine) const override;
  void read_mantissas(std::span<std::int8_t> mantissas) const override;
  int exponent() const override;
  UpdateRecord last_update() const override;

  const std::int8_t* mantissas() const { return mantissas_.as<std::int8_t>(); }
  const std::int32_t* fine() const { return fine_.as<std::int32_t>(); }
  // It may move within a step: kernels read it, and the host waits for it.
  const std::int32_t* device_exponent() const { return exponent_.as<std::int32_t>(); }
  // (out, tap, in) and (in, tap, out), each filled up to 16 at the end, or with groups to a span,
  // as products read it: made on the first call, kept up to date from then on.
  struct Packed {
    const std::int8_t* ahead = nullptr;
    const std::int8_t* back = nullptr;
  };
  Packed packed(const WeightShape& shape, const cuda::GroupSpans& spans);
  // By output, filled up to 16: laws/batch_norm.h, norm_sum_shift.
  const std::int8_t* sum_shifts(std::size_t outputs);
  void forget_sum_shifts() { has_sum_shifts_ = false; }  // the mantissas change
  // Brings packed ones up to date, where an update does not.
  std::optional<cuda::TurnJob> packing_back() const;
  cuda::UpdateJob update_job() const;

 private:
  std::size_t size() const { return static_cast<std::size_t>(case_.shape.elements()); }
  void put_exponent(std::int32_t exponent);
  void make_packed();
  void make_packed(const cuda::GroupSpans& spans);
  void pack();
  const std::int8_t* ahead() const {
    return ahead_.is_empty() ? mantissas() : ahead_.as<std::int8_t>();
  }

  CudaBackend& backend_;
  WeightsCase case_;
  cuda::DeviceBuffer exponent_;
  cuda::DeviceBuffer mantissas_;
  cuda::DeviceBuffer fine_;  // empty where there is none
  cuda::DeviceBuffer momentum_;
  cuda::DeviceBuffer record_;
  cuda::DeviceBuffer ahead_;
  cuda::DeviceBuffer back_;
  cuda::DeviceBuffer grouped_;  // GroupedFilters
  cuda::DeviceBuffer sum_shifts_;
  bool has_sum_shifts_ = false;    // of the mantissas as they are
  WeightShape packed_shape_ = {};  // of no taps: nothing is packed
  cuda::FilledUp filled_ = {};
};

// Packing changes no value.
inline CudaWeights& cuda_weights(const Weights& weights) {
  return const_cast<CudaWeights&>(static_cast<const CudaWeights&>(weights));
}

template <class Source>
cuda::FrozenEach<Source> frozen_each(const Source& source, const FrozenLine& line,
                                     const cuda::Rows& result) {
  return {.source = source,
          .bias = cuda_weights(*line.bias).fine(),
          .multiplier = cuda_weights(*line.multiplier).fine(),
          .result = result,
          .shift = line.shift,
          .exponent = line.exponent};
}

class CudaTotals final : public WeightTotals {
 public:
  CudaTotals(CudaBackend& backend, std::size_t size);
  void add(const Weights& weights) override;
  void read(std::span<std::int32_t> totals) const override;
  void write(std::span<const std::int32_t> totals) override;

 private:
  CudaBackend& backend_;
  std::size_t size_;
  cuda::DeviceBuffer memory_;
};

class CudaSums final : public Sums {
 public:
  CudaSums(CudaBackend& backend, std::size_t size);
  ~CudaSums() override;
  int read(std::span<std::int64_t> sums) override;
  void write(std::span<const std::int64_t> sums, int exponent) override;
  std::unique_ptr<Departure> leave(std::size_t size, bool fits_32) override;
  void arrive(Departure& departure, std::size_t size) override;

  // All zeros, of products whose factors have these exponents.
  void clear(const cuda::SumForm& form, std::vector<Slot> factors);
  void expect(std::vector<Slot> factors);  // 64 bits, which a kernel will write
  // The most that clear() has had to zero; who has done so says it.
  cuda::ZeroJob zeros() const { return {data(), most_words_}; }
  void set_clean() { clean_words_ = most_words_; }
  void reduce(Communicator& cluster);

  void* data() const { return memory_.as<void>(); }
  const cuda::SumForm& form() const { return form_; }
  bool is_wide() const { return form_.planes == 0; }
  cuda::SumExponent exponent() const;

 private:
  void reserve();  // what the form takes
  void put(const void* sums, bool is_wide, int exponent);

  CudaBackend& backend_;
  std::size_t size_;
  cuda::DeviceBuffer memory_;
  cuda::SumForm form_;
  std::uint64_t most_words_ = 0;   // of 4 bytes: batches of one size need more than others
  std::uint64_t clean_words_ = 0;  // zeroed since they were used
  std::vector<Slot> factors_;      // at most two: their exponents add up to that of the sums
  int exponent_ = 0;               // where the host wrote them
};

}  // namespace nibble::inline backend
