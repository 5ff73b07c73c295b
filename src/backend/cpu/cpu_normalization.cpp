// SPDX-License-Identifier: Apache-2.0
// Batch norm in integers: two passes over the batch forward, three back.
#include <algorithm>
#include <mutex>
#include <utility>

#include "backend/cpu/cpu_backend.h"
#include "backend/normalized_batch.h"
#include "kernels/integer_loops/integer_loops.h"
#include "kernels/normalization/normalization_loops.h"
#include "nibble/core/parallel.h"

namespace nibble::inline backend {
namespace {

constexpr std::size_t kNormPixels = 16;  // 256 rows: their sums fit 32 bits

// One image's channels at one pixel.
struct ChannelRow {
  std::int64_t group;
  std::int64_t pixel;
  std::int64_t image;  // in the group
};

// The rows of a part of the batch, body(row) of each.
template <class Body>
void for_rows(const BlockTensor& tensor, std::size_t begin, std::size_t end, const Body& body) {
  const std::int64_t pixels = tensor.picture.pixels();
  for (std::size_t i = begin; i < end; ++i) {
    const auto at = static_cast<std::int64_t>(i);
    for (std::int64_t image = 0; image < tensor.images_in(at / pixels); ++image)
      body(ChannelRow{at / pixels, at % pixels, image});
  }
}

// Values of 16 bits, or bytes widened on the way.
class ValueRows {
 public:
  ValueRows(const Values& values, const BlockTensor& tensor)
      : tensor_(tensor), has_sums_(values.storage == ValueStorage::s16) {}

  // Lives until the next call with the same buffer.
  const std::int16_t* at(const ChannelRow& row, std::vector<std::int16_t>& buffer) const {
    const std::int64_t offset = row.image * tensor_.picture.stride();
    if (has_sums_) return tensor_.sums_at(row.group, row.pixel) + offset;
    const auto channels = static_cast<std::size_t>(tensor_.picture.channels);
    buffer.resize(channels);
    normalization_loops().widen(tensor_.at(row.group, row.pixel) + offset, buffer.data(), channels);
    return buffer.data();
  }

 private:
  BlockTensor tensor_;
  bool has_sums_;
};

class CpuNormalization final : public NormalizationOp {
 public:
  CpuNormalization(CpuBackend& backend, const NormalizationCase& norm)
      : backend_(backend),
        channels_(static_cast<std::size_t>(norm.picture.channels)),
        batch_(norm) {}

  void forward(const Values& input, const Weights* product, const Weights& scale,
               const Weights& shift, ShiftPoint point, const Values& output) override {
    const BlockTensor tensor = backend_.block(input);
    const ValueRows rows(input, tensor);
    std::span<const std::int8_t> weight;
    if (product != nullptr) weight = cpu_weights(*product).mantissas();
    const NormalizedBatch::Lines& lines = batch_.forward(
        sums_of(tensor, rows), backend_.step(), norm_exponents(tensor.exponent, channels_, weight),
        cpu_weights(scale).fine(), cpu_weights(shift).fine());
    const NormLines constants{lines.multiplier.data(), lines.addend.data(), lines.shift.data()};
    const auto number = [&](std::size_t c, std::int64_t v, std::int64_t) {
      return lines.multiplier[c] * v + lines.addend[c];
    };
    round(
        point, tensor, rows, nullptr, lines.shift, number, output,
        [&](const std::int16_t* v, const std::int8_t*, const std::uint32_t* draws, std::int8_t* y) {
          return normalization_loops().normalize(v, constants, draws, y, channels_);
        });
    backend_.set_exponent(output, lines.exponent);
  }

  void backward(const Values& input, const Values& error, ShiftPoint point,
                const Values& input_error, Sums& scale, Sums& shift) override {
    const BlockTensor tensor = backend_.block(input);
    const ValueRows rows(input, tensor);
    const BlockTensor errors = backend_.block(error);
    const NormalizedBatch::Planes& planes =
        batch_.backward(error_sums_of(tensor, rows, errors), errors.exponent,
                        backend_.step().cluster, scale, shift);
    if (input_error.memory.is_empty()) return;
    NormPlanes constants{planes.error.data(), planes.value.data(), planes.addend.data(), nullptr};
    batch_.bound(largest_of(tensor, rows, errors, constants), backend_.step().cluster);
    constants.shift = planes.shift.data();
    const auto number = [&](std::size_t c, std::int64_t v, std::int64_t e) {
      return planes.error[c] * e + planes.value[c] * v + planes.addend[c];
    };
    round(point, tensor, rows, &errors, planes.shift, number, input_error,
          [&](const std::int16_t* v, const std::int8_t* e, const std::uint32_t* draws,
              std::int8_t* y) {
            return normalization_loops().pass_error(e, v, constants, draws, y, channels_);
          });
    backend_.set_exponent(input_error, planes.exponent);
  }

  NormalizationRecord record() override { return batch_.record(); }
  RunningStatistics running() override { return batch_.running(); }
  void set_running(const RunningStatistics& running) override { batch_.set_running(running); }

  void forward_frozen(const Values& input, const FrozenLine& line, const Values& output) override {
    const BlockTensor tensor = backend_.block(input);
    const BlockTensor result = backend_.block(output);
    const auto bias = cpu_weights(*line.bias).fine();
    const auto multiplier = cpu_weights(*line.multiplier).fine();
    const auto pixels = static_cast<std::size_t>(tensor.groups() * tensor.picture.pixels());
    parallel_for(pixels, kNormPixels, [&](std::size_t begin, std::size_t end) {
      for_rows(tensor, begin, end, [&](const ChannelRow& row) {
        const std::int8_t* x = byte_row(tensor, row);
        std::int8_t* y = result.at(row.group, row.pixel) + row.image * result.picture.stride();
        for (std::size_t c = 0; c < channels_; ++c)
          y[c] = frozen_norm_value(x[c], bias[c], multiplier[c], line.shift);
      });
    });
    backend_.set_exponent(output, line.exponent);
  }

 private:
  // body(begin, end, own) sums pixels up into a thread's own; they are joined one by one.
  template <class Own, class Body, class Join>
  static void sum_up(const BlockTensor& tensor, const Own& empty, const Body& body,
                     const Join& join) {
    std::mutex mutex;
    const auto pixels = static_cast<std::size_t>(tensor.groups() * tensor.picture.pixels());
    parallel_for(pixels, kNormPixels, [&](std::size_t begin, std::size_t end) {
      Own own = empty;
      body(begin, end, own);
      const std::lock_guard lock(mutex);
      join(own);
    });
  }

  ChannelSums sums_of(const BlockTensor& tensor, const ValueRows& rows) const {
    ChannelSums all(channels_);
    struct Own {
      std::vector<std::int64_t> values, squares;
      std::vector<std::int32_t> least, most;
    };
    const Own empty{std::vector<std::int64_t>(channels_), std::vector<std::int64_t>(channels_),
                    std::vector<std::int32_t>(channels_, 32767),
                    std::vector<std::int32_t>(channels_, -32768)};
    const auto body = [&](std::size_t begin, std::size_t end, Own& own) {
      std::vector<std::int16_t> buffer;
      std::vector<std::int32_t> sums(channels_);
      for (std::size_t first = begin; first < end; first += kNormPixels) {
        std::ranges::fill(sums, 0);
        for_rows(tensor, first, std::min(first + kNormPixels, end), [&](const ChannelRow& row) {
          normalization_loops().add_moments(
              rows.at(row, buffer),
              {sums.data(), own.squares.data(), own.least.data(), own.most.data()}, channels_);
        });
        for (std::size_t c = 0; c < channels_; ++c) own.values[c] += sums[c];
      }
    };
    sum_up(tensor, empty, body, [&](const Own& own) {
      for (std::size_t c = 0; c < channels_; ++c) {
        all.values[c] += own.values[c];
        all.squares[c] += own.squares[c];
        all.negated_least[c] = std::max(all.negated_least[c], -std::int64_t{own.least[c]});
        all.most[c] = std::max(all.most[c], std::int64_t{own.most[c]});
      }
    });
    return all;
  }

  ChannelErrorSums error_sums_of(const BlockTensor& tensor, const ValueRows& rows,
                                 const BlockTensor& errors) const {
    ChannelErrorSums all(channels_);
    const auto body = [&](std::size_t begin, std::size_t end, ChannelErrorSums& own) {
      std::vector<std::int16_t> buffer;
      std::vector<std::int32_t> sums(channels_);
      for (std::size_t first = begin; first < end; first += kNormPixels) {
        std::ranges::fill(sums, 0);
        for_rows(tensor, first, std::min(first + kNormPixels, end), [&](const ChannelRow& row) {
          normalization_loops().add_error_moments(byte_row(errors, row), rows.at(row, buffer),
                                                  sums.data(), own.products.data(), channels_);
        });
        for (std::size_t c = 0; c < channels_; ++c) own.errors[c] += sums[c];
      }
    };
    sum_up(tensor, ChannelErrorSums(channels_), body, [&](const ChannelErrorSums& own) {
      for (std::size_t c = 0; c < channels_; ++c) {
        all.errors[c] += own.errors[c];
        all.products[c] += own.products[c];
      }
    });
    return all;
  }

  std::vector<std::int64_t> largest_of(const BlockTensor& tensor, const ValueRows& rows,
                                       const BlockTensor& errors, const NormPlanes& planes) const {
    using Largest = std::vector<std::int64_t>;
    Largest all(channels_);
    const auto body = [&](std::size_t begin, std::size_t end, Largest& own) {
      std::vector<std::int16_t> buffer;
      for_rows(tensor, begin, end, [&](const ChannelRow& row) {
        normalization_loops().raise_largest(byte_row(errors, row), rows.at(row, buffer), planes,
                                            own.data(), channels_);
      });
    };
    sum_up(tensor, all, body, [&](const Largest& own) {
      for (std::size_t c = 0; c < channels_; ++c) all[c] = std::max(all[c], own[c]);
    });
    return all;
  }

  // Rounds the numbers of all rows, by `loop` or, where it has no such rounding, number(c, v, e) by
  // the definition. `errors` null: there are none.
  template <class NumberOf, class Loop>
  void round(ShiftPoint point, const BlockTensor& tensor, const ValueRows& rows,
             const BlockTensor* errors, std::span<const std::int32_t> shifts,
             const NumberOf& number, const Values& to, const Loop& loop) {
    const ShiftPointCase& rounding = backend_.case_of(point);
    const BlockTensor result = backend_.block(to);
    RandomKey random = backend_.step().random;
    random.stream = rounding.stream;
    std::int64_t saturated = 0;
    const auto body = [&](std::size_t begin, std::size_t end, std::int64_t& own) {
      std::vector<std::int16_t> buffer;
      std::vector<std::uint32_t> draws(channels_);
      for_rows(tensor, begin, end, [&](const ChannelRow& row) {
        const std::int16_t* v = rows.at(row, buffer);
        const std::int8_t* e = errors == nullptr ? nullptr : byte_row(*errors, row);
        std::int8_t* y = result.at(row.group, row.pixel) + row.image * result.picture.stride();
        if (rounding.rounding == ShiftRounding::pseudo_stochastic) {
          for (std::size_t c = 0; c < channels_; ++c) {
            const std::int64_t rounded =
                shift_pseudo(number(c, v[c], e == nullptr ? 0 : e[c]), shifts[c]);
            y[c] = clamp127(rounded);
            own += y[c] != rounded ? 1 : 0;
          }
          return;
        }
        const bool draws_lots = rounding.rounding == ShiftRounding::stochastic;
        if (draws_lots) integer_loops().draw(random, element(result, row), draws.data(), channels_);
        own += loop(v, e, draws_lots ? draws.data() : nullptr, y);
      });
    };
    sum_up(tensor, std::int64_t{0}, body, [&](std::int64_t own) { saturated += own; });
    backend_.count_rounding(point, saturated, result.images * result.picture.elements());
  }

  std::uint64_t element(const BlockTensor& tensor, const ChannelRow& row) const {
    const std::int64_t image = backend_.step().first_image + row.group * kGroup + row.image;
    return static_cast<std::uint64_t>((image * tensor.picture.pixels() + row.pixel) *
                                      tensor.picture.channels);
  }

  static const std::int8_t* byte_row(const BlockTensor& errors, const ChannelRow& row) {
    return errors.at(row.group, row.pixel) + row.image * errors.picture.stride();
  }

  CpuBackend& backend_;
  std::size_t channels_;
  NormalizedBatch batch_;
};

}  // namespace

NormedSums::NormedSums(const Weights& weight, std::int64_t outputs, const FrozenLine* line)
    : line_(line) {
  if (line != nullptr) {
    job_ = {.shift = line->shift,
            .biases = cpu_weights(*line->bias).fine(),
            .multipliers = cpu_weights(*line->multiplier).fine()};
    return;
  }
  shifts_ = norm_sum_shifts(cpu_weights(weight).mantissas(), static_cast<std::size_t>(outputs));
  job_ = {.column_shifts = shifts_};
}

std::unique_ptr<NormalizationOp> CpuBackend::normalization(const NormalizationCase& norm) {
  return std::make_unique<CpuNormalization>(*this, norm);
}

}  // namespace nibble::inline backend
