// SPDX-License-Identifier: Apache-2.0
// Batch norm on a GPU: two passes over the batch each way, and a third back where the exponent was
// not guessed. Ranks meet on the host between the passes.
#include <vector>

#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/cuda_memory.h"
#include "backend/cuda/normalization.h"

namespace nibble::inline backend {
namespace {

class CudaNormalization final : public NormalizationOp {
 public:
  CudaNormalization(CudaBackend& backend, const NormalizationCase& norm)
      : backend_(backend),
        channels_(static_cast<std::size_t>(norm.picture.channels)),
        totals_(backend.lasting(channels_ * sizeof(cuda::NormTotals))),
        known_(backend.lasting(channels_ * sizeof(cuda::NormChannel))),
        planes_(
            backend.lasting((channels_ / cuda::kLeastPlaneChannels + 1) * sizeof(cuda::NormPlane))),
        shared_(backend.lasting(sizeof(cuda::NormShared))),
        running_share_(norm.running_share) {
    std::vector<const cuda::DeviceBuffer*> empty = {&totals_, &known_, &planes_, &shared_};
    if (running_share_ > 0) {
      running_ = backend.lasting(channels_ * sizeof(NormMoments));
      empty.push_back(&running_);
    }
    for (const cuda::DeviceBuffer* each : empty)
      cuda::queue(backend.queue(), cuda::ZeroJob{each->as<void>(), each->size() / 4});
  }

  void forward(const Values& input, const Weights* product, const Weights& scale,
               const Weights& shift, ShiftPoint point, const Values& output) override {
    const cuda::NormRows values = rows_of(input);
    const std::int8_t* shifts =
        product != nullptr ? cuda_weights(*product).sum_shifts(channels_) : nullptr;
    const cuda::RoundingSite site = backend_.site_of(point, output);
    count_ = backend_.step().all_images * input.picture.pixels();
    sum(values, nullptr,
        cuda::NormLinesJob{.norm = place(),
                           .sum_shifts = shifts,
                           .exponent = backend_.exponent(input),
                           .scale = cuda_weights(scale).fine(),
                           .shift = cuda_weights(shift).fine(),
                           .point = site.point,
                           .count = count_,
                           .elements = site.elements,
                           .running = keeps() ? running_.as<NormMoments>() : nullptr,
                           .running_share = has_running_ ? running_share_ : kWhole});
    has_running_ = has_running_ || keeps();
    backend_.hold(cuda::NormalizeJob{.values = values,
                                     .norm = place(),
                                     .site = site,
                                     .result = backend_.target(output),
                                     .rectified_exponent = nullptr},
                  output);
  }

  void backward(const Values& input, const Values& error, ShiftPoint point,
                const Values& input_error, Sums& scale, Sums& shift) override {
    cuda::DeviceQueue& queue = backend_.queue();
    const bool is_wanted = !input_error.memory.is_empty();
    const cuda::NormRows values = rows_of(input);
    const cuda::Rows errors = backend_.rows(error);
    cuda::RoundingSite site = backend_.site_of(point, error);
    sum(values, errors.data,
        cuda::NormPlanesJob{.norm = place(),
                            .error_exponent = errors.exponent,
                            .scale_gradient = gradient(scale, error),
                            .shift_gradient = gradient(shift, error),
                            .point = is_wanted ? site.point : nullptr,
                            .count = count_,
                            .elements = site.elements});
    if (!is_wanted) return;
    cuda::PassErrorJob job{.values = values,
                           .errors = errors,
                           .norm = place(),
                           .site = site,
                           .result = backend_.target(input_error)};
    cuda::queue(queue, job);
    if (backend_.step().cluster != nullptr) meet_exponents();
    job.site.is_repeat = true;
    cuda::queue(queue, job);
  }

  void forward_frozen(const Values& input, const FrozenLine& line, const Values& output) override {
    const cuda::Rows from = backend_.rows(input);
    cuda::AddedRows rows{.operands = {}, .count = 1};
    rows.operands[0] = {from.data, from.exponent, 0, from.pitch()};
    cuda::queue(backend_.queue(), frozen_each(rows, line, backend_.target(output)));
  }

  NormalizationRecord record() override {
    std::vector<cuda::NormChannel> known(channels_);
    backend_.queue().get(known.data(), known_.as<void>(), channels_ * sizeof(cuda::NormChannel));
    NormalizationRecord record;
    for (const cuda::NormChannel& each : known) {
      record.means.push_back(each.statistics.mean);
      record.variances.push_back(each.statistics.variance);
    }
    return record;
  }

  RunningStatistics running() override {
    if (!has_running_) return {};
    RunningStatistics running(channels_);
    backend_.queue().get(running.data(), running_.as<void>(), channels_ * sizeof(NormMoments));
    return running;
  }
  void set_running(const RunningStatistics& running) override {
    has_running_ = !running.empty();
    if (!has_running_) return;
    backend_.queue().flush();
    backend_.queue().put(running_.as<void>(), running.data(), channels_ * sizeof(NormMoments));
  }

 private:
  // Of the first batch, which is taken as it is.
  static constexpr int kWhole = 1 << kNormShareBits;

  bool keeps() const { return running_share_ > 0 && backend_.step().is_training; }
  cuda::NormPlace place() const {
    return {totals_.as<cuda::NormTotals>(), known_.as<cuda::NormChannel>(),
            planes_.as<cuda::NormPlane>(), shared_.as<cuda::NormShared>()};
  }
  template <class Laws>
  void sum(const cuda::NormRows& values, const std::int8_t* errors, const Laws& laws) {
    const bool is_alone = backend_.step().cluster == nullptr;
    const cuda::NormSumsJob<Laws> job{values, errors, laws, is_alone ? 1u : 0u};
    cuda::queue(backend_.queue(), job);
    if (is_alone) return;
    meet(errors == nullptr);
    cuda::queue_laws(backend_.queue(), job);
  }
  cuda::NormRows rows_of(const Values& values) const {
    return cuda::norm_rows(backend_.rows(values), values.storage == ValueStorage::s16);
  }
  // 64-bit sums in units of the errors, which a kernel writes.
  static std::int64_t* gradient(Sums& sums, const Values& error) {
    auto& own = static_cast<CudaSums&>(sums);
    own.expect({error.exponent});
    return static_cast<std::int64_t*>(own.data());
  }

  // Sums of all ranks take the place of this one's.
  void meet(bool has_ends) {
    backend_.queue().change(totals_.as<cuda::NormTotals>(), channels_, [&](auto totals) {
      std::vector<std::int64_t> sums;
      std::vector<std::int64_t> ends;
      for (const cuda::NormTotals& each : totals) {
        sums.insert(sums.end(), {each.first, each.second});
        ends.insert(ends.end(), {each.low, each.high});
      }
      Communicator& cluster = *backend_.step().cluster;
      cluster.sum(sums);
      if (has_ends) cluster.max(ends);
      for (std::size_t c = 0; c < channels_; ++c) {
        totals[c] = {.first = sums[2 * c],
                     .second = sums[2 * c + 1],
                     .high = static_cast<std::uint32_t>(ends[2 * c + 1]),
                     .low = static_cast<std::uint32_t>(ends[2 * c])};
      }
    });
  }

  void meet_exponents() {
    std::int32_t* place = &shared_.as<cuda::NormShared>()->error_exponent;
    backend_.queue().change(place, 1, [&](std::span<std::int32_t> own) {
      std::int64_t most = own[0];
      backend_.step().cluster->max({&most, 1});
      own[0] = static_cast<std::int32_t>(most);
    });
  }

  CudaBackend& backend_;
  std::size_t channels_;
  cuda::DeviceBuffer totals_;
  cuda::DeviceBuffer known_;
  cuda::DeviceBuffer planes_;
  cuda::DeviceBuffer shared_;
  cuda::DeviceBuffer running_;
  int running_share_;
  bool has_running_ = false;
  std::int64_t count_ = 0;  // numbers of a channel in the last batch
};

}  // namespace

std::unique_ptr<NormalizationOp> CudaBackend::normalization(const NormalizationCase& norm) {
  return std::make_unique<CudaNormalization>(*this, norm);
}

}  // namespace nibble::inline backend
