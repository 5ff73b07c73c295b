// SPDX-License-Identifier: Apache-2.0
// Normalized values and the errors that are passed on, rounded number by number.
#include <climits>

#include "backend/cuda/block_totals.cuh"
#include "backend/cuda/chunk_rules.cuh"
#include "backend/cuda/kernel_start.cuh"
#include "backend/cuda/norm_laws.cuh"
#include "backend/cuda/octets.cuh"

namespace nibble::cuda {
namespace {

constexpr int kNormalizingBlocks = 3;  // of a multiprocessor
constexpr int kPassingBlocks = 2;

// Of eight channels that follow one another.
class OctetDraws {
 public:
  __device__ __forceinline__ OctetDraws(const RoundingSite& site, const Rows& result,
                                        std::uint32_t channel)
      : key_{site.step->seed, site.stream, site.step->step},
        before_(static_cast<std::uint64_t>(site.step->first_image) * result.pixels.divisor),
        channels_(result.channels),
        channel_(channel) {}

  // Two counters serve eight draws that begin with one.
  __device__ __forceinline__ void draw(std::uint32_t row, std::uint32_t (&draws)[kOctet]) const {
    const std::uint64_t element = (before_ + row) * channels_ + channel_;
    if (element % 4 == 0) {
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        const PhiloxBlock four = philox::block_of(key_, element / 4 + k);
#pragma unroll
        for (int i = 0; i < 4; ++i) draws[k * 4 + i] = four[i];
      }
    } else {
#pragma unroll
      for (int i = 0; i < kOctet; ++i) draws[i] = draw_of(key_, element + i);
    }
  }
  __device__ std::uint32_t draw_at(std::uint32_t row, std::uint32_t channel) const {
    return draw_of(key_, (before_ + row) * channels_ + channel);
  }

 private:
  RandomKey key_;
  std::uint64_t before_;
  std::uint32_t channels_;
  std::uint32_t channel_;
};

// Numbers of eight channels in 2^-32 of the unit that they are rounded to: the upper word is then
// what stays, the lower one what is cut.
template <ShiftRounding kRounding>
class LiftedRounding {
 public:
  // Of one channel, which is shifted by `shift`.
  static __device__ __forceinline__ bool can_lift(int shift) {
    return kRounding != ShiftRounding::pseudo_stochastic && shift >= 0 && shift <= 32;
  }

  __device__ __forceinline__ LiftedRounding(const RoundingSite& site, const Rows& result,
                                            std::uint32_t channel)
      : draws_(site, result, channel) {}

  __device__ __forceinline__ uint2 round(const std::int64_t (&lifted)[kOctet], std::uint32_t row) {
    std::uint32_t draws[kOctet] = {};
    if constexpr (kRounding == ShiftRounding::stochastic) draws_.draw(row, draws);
    std::int32_t kept[kOctet];
    std::int32_t most = 0;
    std::int32_t least = 0;
#pragma unroll
    for (int i = 0; i < kOctet; i += 2) {
      kept[i] = rounded(lifted[i], draws[i]);
      kept[i + 1] = rounded(lifted[i + 1], draws[i + 1]);
      most = __vimax3_s32(most, kept[i], kept[i + 1]);
      least = __vimin3_s32(least, kept[i], kept[i + 1]);
    }
    if (max(most, -least) > 127) {
#pragma unroll
      for (int i = 0; i < kOctet; ++i) {
        const std::int32_t cut = max(min(kept[i], 127), -127);
        saturated_ += cut != kept[i] ? 1 : 0;
        kept[i] = cut;
      }
    }
    return make_uint2(bytes_of(kept[0], kept[1], kept[2], kept[3]),
                      bytes_of(kept[4], kept[5], kept[6], kept[7]));
  }
  __device__ __forceinline__ std::uint32_t saturated() const {
    return saturated_;
  }

 private:
  // ⌊(x + a) / 2^32⌋ of x >= 0 is, of the magnitude m of x < 0, -⌊(m + 2^32 - 1 - a) / 2^32⌋. To
  // the nearest a is 2^31, and one less of x < 0; stochastically what is cut is rounded up where it
  // is above the draw, so that a is 2^32 - 1 less the draw, and the draw of x < 0.
  static __device__ __forceinline__ std::int32_t rounded(std::int64_t x, std::uint32_t draw) {
    const auto sign = static_cast<std::uint32_t>(x >> 63);  // all ones where negative
    const std::uint32_t added =
        kRounding == ShiftRounding::nearest ? (1u << 31) + sign : ~(draw ^ sign);
    return static_cast<std::int32_t>((x + added) >> 32);
  }
  static __device__ __forceinline__ std::uint32_t bytes_of(std::int32_t a, std::int32_t b,
                                                           std::int32_t c, std::int32_t d) {
    return __byte_perm(__byte_perm(a, b, 0x0040), __byte_perm(c, d, 0x0040), 0x5410);
  }

  OctetDraws draws_;
  std::uint32_t saturated_ = 0;
};

// The same by the definition, number by number: for what is rare. number_at(row, channel) and
// shift_at(channel); returns how many results were cut.
template <ShiftRounding kRounding, class NumberAt, class ShiftAt>
__device__ __forceinline__ std::uint32_t round_by_definition(const OctetPlace& at,
                                                             const RoundingSite& site,
                                                             const Rows& result, bool rectifies,
                                                             const NumberAt& number_at,
                                                             const ShiftAt& shift_at) {
  const OctetDraws draws(site, result, 0);
  const std::uint32_t pitch = result.chunks.divisor * kChunk;
  std::uint32_t saturated = 0;
  if (!at.is_inside) return 0;
#pragma unroll 1
  for (std::uint32_t row = at.row; row < result.rows; row += at.step) {
#pragma unroll 1
    for (std::uint32_t c = at.channel; c < at.channel + kOctet; ++c) {
      std::int8_t kept = 0;
      if (c < result.channels) {
        const std::uint32_t draw =
            kRounding == ShiftRounding::stochastic ? draws.draw_at(row, c) : 0;
        const std::int64_t rounded = round_shift(kRounding, number_at(row, c), shift_at(c), draw);
        kept = clamp127(rounded);
        saturated += kept != rounded ? 1 : 0;
      }
      result.data[std::size_t{row} * pitch + c] = rectifies && kept < 0 ? std::int8_t{0} : kept;
    }
  }
  return saturated;
}

// To the count of results that were cut, from all threads of a block.
__device__ void count_saturated(std::uint32_t own, std::uint64_t* to) {
  const BlockTotals all = block_totals(0, own);
  if (threadIdx.x == 0 && all.sum > 0) atomic_add(to, all.sum);
}
__device__ std::uint64_t* saturated_of(DevicePoint& point) {
  return reinterpret_cast<std::uint64_t*>(&point.state.saturated);
}

// body(row, loaded) for every row of a thread, while the next one is loaded already.
template <class Load, class Body>
__device__ __forceinline__ void for_each_row(const OctetPlace& at, std::uint32_t rows,
                                             const Load& load, const Body& body) {
  if (!at.is_inside || at.row >= rows) return;
  auto next = load(at.row);
  for (std::uint32_t row = at.row; row < rows; row += at.step) {
    const auto loaded = next;
    if (row + at.step < rows) next = load(row + at.step);
    body(row, loaded);
  }
}

template <class Values, ShiftRounding kRounding>
__device__ __noinline__ std::uint32_t normalize_by_definition(const NormalizeJob& job,
                                                              int exponent) {
  const NormChannel* channels = job.norm.channels;
  const std::uint32_t pitch = job.values.rows.chunks.divisor * kChunk;
  return round_by_definition<kRounding>(
      OctetPlace(job.values), job.site, job.result, job.rectified_exponent != nullptr,
      [&](std::uint32_t row, std::uint32_t c) {
        return channels[c].line.at(Values::at(job.values.rows.data, std::size_t{row} * pitch + c));
      },
      [&](std::uint32_t c) { return norm_shift(exponent, channels[c].line.exponent); });
}

template <class Values, ShiftRounding kRounding>
__global__ void __launch_bounds__(kOctetThreads, kNormalizingBlocks)
    normalize(const __grid_constant__ NormalizeJob job) {
  start_kernel();
  using Rounding = LiftedRounding<kRounding>;
  const OctetPlace at(job.values);
  const std::uint32_t pitch = job.values.rows.chunks.divisor * kChunk;
  const int exponent = value_exponent(job.values, job.norm);
  std::int32_t multiplier[kOctet];
  std::int64_t addend[kOctet];
  std::int32_t lift[kOctet];
  bool is_lifted = true;
#pragma unroll
  for (int i = 0; i < kOctet; ++i) {
    const bool is_there = at.channel + i < job.result.channels;
    const NormLine line = is_there ? job.norm.channels[at.channel + i].line : NormLine{};
    const int shift = is_there ? norm_shift(exponent, line.exponent) : 0;
    multiplier[i] = static_cast<std::int32_t>(line.multiplier);
    addend[i] = line.addend;
    lift[i] = 32 - shift;
    is_lifted = is_lifted && Rounding::can_lift(shift);
  }
  Rounding rounding(job.site, job.result, at.channel);
  const bool rectifies = job.rectified_exponent != nullptr;
  const auto number_at = [&](std::uint32_t row) { return std::size_t{row} * pitch + at.channel; };
  std::uint32_t saturated = 0;
  if (is_lifted) {  // numbers are below 2^39: no channel has a larger one than its ends
    for_each_row(
        at, job.result.rows,
        [&](std::uint32_t row) { return Values::load(job.values.rows.data, number_at(row)); },
        [&](std::uint32_t row, const typename Values::Loaded& loaded) {
          std::int32_t v[kOctet];
          Values::widen(loaded, v);
          std::int64_t lifted[kOctet];
#pragma unroll
          for (int i = 0; i < kOctet; ++i)
            lifted[i] = (std::int64_t{multiplier[i]} * v[i] + addend[i]) << lift[i];
          uint2 bytes = rounding.round(lifted, row);
          if (rectifies) bytes = make_uint2(__vmaxs4(bytes.x, 0u), __vmaxs4(bytes.y, 0u));
          *reinterpret_cast<uint2*>(job.result.data + number_at(row)) = bytes;
        });
    saturated = rounding.saturated();
  } else {
    saturated = normalize_by_definition<Values, kRounding>(job, exponent);
  }
  count_saturated(saturated, saturated_of(*job.site.point));
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) {
    if (job.result.exponent != nullptr) *job.result.exponent = exponent;
    if (rectifies) *job.rectified_exponent = exponent;
  }
}

__device__ void vote(NormShared& shared, std::int32_t distance) {
  constexpr std::int32_t kMostVotes = 4;
  if (distance == shared.distance) {
    shared.votes = min(shared.votes + 1, kMostVotes);
  } else if (--shared.votes < 0) {
    shared.distance = distance;
    shared.votes = 0;
  }
}

template <class Values>
struct LoadedPair {
  typename Values::Loaded values;
  uint2 errors;
};

// What one thread found in its numbers.
struct PassedErrors {
  std::uint32_t saturated;
  std::int32_t wanted;  // the exponent that the largest asks for
};

template <class Values, ShiftRounding kRounding>
__device__ __noinline__ PassedErrors pass_by_definition(const PassErrorJob& job, int exponent) {
  const NormChannel* channels = job.norm.channels;
  const std::uint32_t pitch = job.values.rows.chunks.divisor * kChunk;
  int wanted = INT_MIN;
  const std::uint32_t saturated = round_by_definition<kRounding>(
      OctetPlace(job.values), job.site, job.result, false,
      [&](std::uint32_t row, std::uint32_t c) {
        const std::size_t number = std::size_t{row} * pitch + c;
        const NormErrorPlane& plane = channels[c].plane;
        const std::int64_t passed =
            plane.at(job.errors.data[number], Values::at(job.values.rows.data, number));
        const auto magnitude = static_cast<std::int64_t>(magnitude_of(passed));
        wanted = max(wanted, norm_wanted_exponent(magnitude, plane.exponent));
        return passed;
      },
      [&](std::uint32_t c) { return max(norm_shift(exponent, channels[c].plane.exponent), 0); });
  return {saturated, wanted};
}

template <class Values, ShiftRounding kRounding>
__global__ void __launch_bounds__(kOctetThreads, kPassingBlocks)
    pass_error(const __grid_constant__ PassErrorJob job) {
  start_kernel();
  using Rounding = LiftedRounding<kRounding>;
  NormShared& shared = *job.norm.shared;
  DevicePoint& point = *job.site.point;
  const bool is_repeat = job.site.is_repeat;
  const int exponent = is_repeat ? shared.error_exponent : shared.guess;
  if (is_repeat) {
    const bool was_right = shared.error_exponent == shared.guess;
    if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) {
      *job.result.exponent = exponent;
      vote(shared, exponent - *job.errors.exponent);
      point.state.misses += was_right ? 0 : 1;
      if (was_right) point.state.saturated = static_cast<std::int64_t>(point.saturated);
    }
    if (was_right) return;
  }
  const OctetPlace at(job.values);
  const std::uint32_t pitch = job.values.rows.chunks.divisor * kChunk;
  std::int32_t error[kOctet];
  std::int32_t value[kOctet];
  std::int64_t addend[kOctet];
  std::int32_t lift[kOctet];
  bool is_lifted = true;
  int wanted = INT_MIN;
#pragma unroll
  for (int i = 0; i < kOctet; ++i) {
    const bool is_there = at.channel + i < job.result.channels;
    const NormErrorPlane plane =
        is_there ? job.norm.channels[at.channel + i].plane : NormErrorPlane{};
    const int shift = is_there ? norm_shift(exponent, plane.exponent) : 0;
    error[i] = static_cast<std::int32_t>(plane.error);
    value[i] = static_cast<std::int32_t>(plane.value);
    addend[i] = plane.addend;
    lift[i] = 32 - shift;
    is_lifted = is_lifted && Rounding::can_lift(shift) && plane.most() >> (62 - lift[i]) == 0;
    if (is_there) wanted = max(wanted, plane.exponent);
  }
  Rounding rounding(job.site, job.result, at.channel);
  // In units of the result, magnitudes rounded up: they want as many bits as the numbers do.
  std::int32_t most = 0;
  std::int32_t least = 0;
  const auto number_at = [&](std::uint32_t row) { return std::size_t{row} * pitch + at.channel; };
  if (is_lifted) {
    for_each_row(
        at, job.result.rows,
        [&](std::uint32_t row) {
          return LoadedPair<Values>{Values::load(job.values.rows.data, number_at(row)),
                                    Bytes8::load(job.errors.data, number_at(row))};
        },
        [&](std::uint32_t row, const LoadedPair<Values>& loaded) {
          std::int32_t v[kOctet];
          std::int32_t e[kOctet];
          Values::widen(loaded.values, v);
          Bytes8::widen(loaded.errors, e);
          std::int64_t lifted[kOctet];
#pragma unroll
          for (int i = 0; i < kOctet; ++i) {
            lifted[i] =
                (std::int64_t{value[i]} * v[i] + (std::int64_t{error[i]} * e[i] + addend[i]))
                << lift[i];
            most = max(most, static_cast<std::int32_t>((lifted[i] + 0xffffffffu) >> 32));
            least = min(least, static_cast<std::int32_t>(lifted[i] >> 32));
          }
          *reinterpret_cast<uint2*>(job.result.data + number_at(row)) = rounding.round(lifted, row);
        });
  }
  most = max(most, -least);
  PassedErrors passed{rounding.saturated(), wanted};
  if (most > 1) passed.wanted = exponent + bits_of(static_cast<std::uint64_t>(most)) - 7;
  // Numbers below one unit tell nothing, unless there are others: then the guess was far too high.
  const bool has_seen = __syncthreads_or(most > 1 ? 1 : 0) != 0;
  if (!is_lifted || (most == 1 && !has_seen))
    passed = pass_by_definition<Values, kRounding>(job, exponent);
  passed.wanted = max(passed.wanted, wanted);
  if (is_repeat) return count_saturated(passed.saturated, saturated_of(point));
  count_saturated(passed.saturated, &point.saturated);
  const std::int32_t most_wanted = most_of_block(passed.wanted);
  if (threadIdx.x == 0) atomicMax(&shared.error_exponent, most_wanted);
}

template <ShiftRounding kRounding>
void queue_by(DeviceQueue& queue, const Grid& grid, const NormalizeJob& job) {
  if (job.values.has_sums != 0) return queue.launch(normalize<Sums8, kRounding>, grid, job);
  queue.launch(normalize<Bytes8, kRounding>, grid, job);
}
template <ShiftRounding kRounding>
void queue_by(DeviceQueue& queue, const Grid& grid, const PassErrorJob& job) {
  if (job.values.has_sums != 0) return queue.launch(pass_error<Sums8, kRounding>, grid, job);
  queue.launch(pass_error<Bytes8, kRounding>, grid, job);
}

template <class Job>
void queue_rounding(DeviceQueue& queue, const Job& job, std::uint32_t blocks) {
  constexpr std::uint32_t kRowsOfThread = 2;
  const Grid grid = octet_grid(queue, job.values, blocks, kRowsOfThread);
  switch (job.site.rounding) {
    case ShiftRounding::nearest:
      return queue_by<ShiftRounding::nearest>(queue, grid, job);
    case ShiftRounding::stochastic:
      return queue_by<ShiftRounding::stochastic>(queue, grid, job);
    case ShiftRounding::pseudo_stochastic:
      return queue_by<ShiftRounding::pseudo_stochastic>(queue, grid, job);
  }
}

}  // namespace

void queue(DeviceQueue& queue, const NormalizeJob& job) {
  queue_rounding(queue, job, kNormalizingBlocks);
}
void queue(DeviceQueue& queue, const PassErrorJob& job) {
  queue_rounding(queue, job, kPassingBlocks);
}

}  // namespace nibble::cuda
