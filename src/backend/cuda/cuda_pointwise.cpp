// SPDX-License-Identifier: Apache-2.0
// What is done to every number, on a GPU.
#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/cuda_memory.h"
#include "backend/cuda/plain_kernels.h"
#include "backend/cuda/round_sources.h"
#include "nibble/core/error.h"

namespace nibble::inline backend {
namespace {

class CudaPointwise {
 public:
  CudaPointwise(CudaBackend& backend, std::span<const Values> from, const Values& to)
      : backend_(backend), from_(from), to_(to) {}

  void operator()(const Rectify& rectify) const {
    if (!rectify.has_cut && backend_.rectify_held(from_[0], to_, nullptr)) return;
    queue_rectifier(rectify.has_cut, nullptr);
  }
  void operator()(const RectifyError& rectify) const {
    if (!rectify.has_cut && backend_.rectify_held(from_[0], to_, &from_[1])) return;
    queue_rectifier(rectify.has_cut, &from_[1]);
  }
  void operator()(const Drop& drop) const {
    queue(cuda::DropJob{.from = backend_.rows(from_[0]),
                        .to = backend_.target(to_),
                        .step = backend_.device_step(),
                        .stream = drop.stream,
                        .halvings = drop.halvings});
  }
  void operator()(const AddValues& add) const { backend_.round(add.point, added(), to_); }
  void operator()(const ConcatValues& concat) const {
    round(concat.point, cuda::JoinedRows{added()});
  }
  void operator()(const AddBias& add) const {
    const CudaWeights& bias = cuda_weights(*add.bias);
    round(add.point, cuda::BiasedRows{operand(from_[0]), bias.mantissas(), bias.device_exponent()});
  }
  void operator()(const MoveBox& box) const {
    const Values& small = box.to_small ? to_ : from_[0];
    const std::int64_t sizes[] = {small.picture.height, small.picture.width,
                                  small.picture.channels};
    cuda::BoxJob job{.from = backend_.rows(from_[0]),
                     .to = backend_.target(to_),
                     .begin = {},
                     .step = {},
                     .small = {},
                     .width = Divisor::of(static_cast<std::uint32_t>(to_.picture.width)),
                     .from_width = static_cast<std::uint32_t>(from_[0].picture.width),
                     .to_small = box.to_small ? 1u : 0u};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      job.begin[axis] = static_cast<std::int32_t>(box.begin[axis]);
      job.step[axis] = Divisor::of(static_cast<std::uint32_t>(box.step[axis]));
      job.small[axis] = static_cast<std::int32_t>(sizes[axis]);
    }
    queue(job);
  }
  void operator()(const CopyValues&) const {
    if (backend_.pass_held(from_[0], to_)) return;
    queue(cuda::CopyJob{backend_.rows(from_[0]), backend_.target(to_)});
  }

 private:
  template <class Job>
  void queue(const Job& job) const {
    cuda::queue(backend_.queue(), job);
  }

  template <class Source>
  void round(ShiftPoint point, const Source& source) const {
    backend_.round(point, to_, [&](const cuda::RoundingSite& site) {
      queue(cuda::RoundEach<Source>{source, site, backend_.target(to_)});
    });
  }

  void queue_rectifier(bool has_cut, const Values* passed) const {
    cuda::RectifyJob job{.from = backend_.rows(from_[0]),
                         .to = backend_.target(to_),
                         .passed = nullptr,
                         .passed_exponent = nullptr,
                         .has_cut = has_cut ? 1u : 0u};
    if (passed != nullptr) {
      job.passed = backend_.rows(*passed).data;
      job.passed_exponent = backend_.exponent(*passed);
    }
    queue(job);
  }

  cuda::Operand operand(const Values& values, std::int64_t begin = 0) const {
    const cuda::Rows rows = backend_.rows(values);
    return {rows.data, rows.exponent, static_cast<std::uint32_t>(begin), rows.pitch()};
  }

  cuda::AddedRows added() const {
    if (from_.size() > cuda::kMostOperands)
      throw Error("cuda", "operands of a sum", std::to_string(from_.size()),
                  "at most " + std::to_string(cuda::kMostOperands));
    cuda::AddedRows rows{.operands = {}, .count = from_.size()};
    std::int64_t begin = 0;
    for (std::size_t k = 0; k < from_.size(); ++k) {
      rows.operands[k] = operand(from_[k], begin);
      begin += from_[k].picture.channels;
    }
    return rows;
  }

  CudaBackend& backend_;
  std::span<const Values> from_;
  const Values& to_;
};

}  // namespace

void CudaBackend::pointwise(const PointCase& point, std::span<const Values> from,
                            const Values& to) {
  std::visit(CudaPointwise(*this, from, to), point);
}

}  // namespace nibble::inline backend
