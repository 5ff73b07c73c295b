// SPDX-License-Identifier: Apache-2.0
// A batch norm between its loops over numbers: from the exact sums of channels to the constants of
// every channel, over all ranks, as every backend on the host does it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "laws/batch_norm.h"

namespace nibble::inline backend {

// One rank's sums, a channel after the other; `ends` are the negated least and the most.
struct ChannelSums {
  explicit ChannelSums(std::size_t channels);

  std::vector<std::int64_t> values;
  std::vector<std::int64_t> squares;
  std::vector<std::int64_t> negated_least;
  std::vector<std::int64_t> most;
};

struct ChannelErrorSums {
  explicit ChannelErrorSums(std::size_t channels) : errors(channels), products(channels) {}

  std::vector<std::int64_t> errors;
  std::vector<std::int64_t> products;
};

class NormalizedBatch {
 public:
  // Of value numbers by channel: R(multiplier·v + addend, shift), in 2^exponent.
  struct Lines {
    std::vector<std::int32_t> multiplier;
    std::vector<std::int64_t> addend;
    std::vector<std::int32_t> shift;
    int exponent = 0;
  };
  // Of errors passed on: R(error·e + value·v + addend, shift), in 2^exponent.
  struct Planes {
    std::vector<std::int32_t> error;
    std::vector<std::int32_t> value;
    std::vector<std::int64_t> addend;
    std::vector<std::int32_t> shift;
    int exponent = 0;
  };

  explicit NormalizedBatch(const NormalizationCase& norm)
      : pixels_(norm.picture.pixels()), running_share_(norm.running_share) {}

  // `exponents` are those of the values, by channel; γ and β as they are trained.
  const Lines& forward(ChannelSums sums, const StepContext& step, std::vector<int> exponents,
                       std::span<const std::int32_t> scale, std::span<const std::int32_t> shift);
  // Writes the gradients; the shifts of the planes are not known yet.
  const Planes& backward(ChannelErrorSums errors, int error_exponent, Communicator* cluster,
                         Sums& scale, Sums& shift);
  // The largest magnitudes that the planes reach in this rank's numbers: the shifts follow.
  const Planes& bound(std::vector<std::int64_t> largest, Communicator* cluster);

  NormalizationRecord record() const;
  const RunningStatistics& running() const { return running_; }
  void set_running(const RunningStatistics& running) { running_ = running; }

 private:
  void keep(std::size_t channel, const NormMoments& moments);

  std::int64_t pixels_;
  int running_share_;
  RunningStatistics running_;
  std::int64_t count_ = 0;
  std::vector<int> exponents_;
  std::vector<NormSums> sums_;
  std::vector<NormStatistics> statistics_;
  std::vector<NormLine> line_list_;
  std::vector<int> plane_exponents_;
  Lines lines_;
  Planes planes_;
};

// What values have for exponents, by channel: `product` null where no sums are read.
std::vector<int> norm_exponents(int exponent, std::size_t channels,
                                std::span<const std::int8_t> product);

}  // namespace nibble::inline backend
