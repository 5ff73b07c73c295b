// SPDX-License-Identifier: Apache-2.0
// Cuts a tensor into chunks and feeds them to the vector kernels.
#include "kernels/quantize/quantize_paths.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/quantize/group_scales.h"
#include "nibble/core/parallel.h"

namespace nibble::inline kernels {
namespace {

constexpr std::size_t kChunk = 4096;         // elements: input, output and draws stay in L1 and L2
constexpr std::size_t kGrain = 16 * kChunk;  // elements a thread takes at once
constexpr std::size_t kStreamBytes = 24U << 20;  // larger outputs go past the caches

float define(const RoundPlan& plan, float y, std::uint32_t draw) {
  return plan.program->define(y, draw);
}

// One call of quantize on the fast path: into an output, or in pieces for somebody else.
class FastQuantizer {
 public:
  FastQuantizer(std::span<const float> input, std::span<float> output, const Format& format,
                const Grouping& grouping, const QuantizeOptions& options,
                const QuantizeKernels& kernels, const RoundedPiece* takes_pieces = nullptr)
      : input_(input),
        output_(output),
        format_(format),
        grouping_(grouping),
        options_(options),
        kernels_(kernels),
        takes_pieces_(takes_pieces) {}

  // False where the plan has to be left to the definition; nothing is written then.
  bool run();

 private:
  bool runs_in_lines_of_blocks() const {
    return grouping_.granularity == Granularity::block && grouping_.inner == 1 && blocks_;
  }
  bool can_stream() const {
    return takes_pieces_ == nullptr && output_.size_bytes() >= kStreamBytes &&
           input_.data() != output_.data() &&
           reinterpret_cast<std::uintptr_t>(output_.data()) % 64 == 0;
  }
  ScaleUse scale_use() const {
    if (format_.scaling.kind == ScaleKind::none) return ScaleUse::none;
    return format_.scaling.kind == ScaleKind::power_of_two ? ScaleUse::exact : ScaleUse::divide;
  }

  void round_blocks();
  void round_one_scale(const GroupScale& group);
  void round_axis();
  void round_strided_blocks();

  // Calls body(run, first element) for pieces of [begin, end) of at most `piece` elements, with
  // their draws ready.
  template <class Body>
  void in_pieces(std::size_t begin, std::size_t end, std::size_t piece, const Body& body) const;

  std::span<const float> input_;
  std::span<float> output_;
  const Format& format_;
  const Grouping& grouping_;
  const QuantizeOptions& options_;
  const QuantizeKernels& kernels_;
  const RoundedPiece* takes_pieces_;
  std::shared_ptr<const RoundProgram> program_;
  std::optional<BlockPlan> blocks_;
  GroupScales scales_;
  std::vector<float> scale_values_;
};

template <class Body>
void FastQuantizer::in_pieces(std::size_t begin, std::size_t end, std::size_t piece,
                              const Body& body) const {
  const bool draws = options_.rounding.is_stochastic();
  std::vector<std::uint32_t> draw_space(draws ? piece + kDrawSlack : 0);
  std::vector<float> rounded(takes_pieces_ != nullptr ? piece : 0);
  for (std::size_t i = begin; i < end; i += piece) {
    const std::size_t count = std::min(piece, end - i);
    Run run{input_.data() + i, takes_pieces_ != nullptr ? rounded.data() : output_.data() + i,
            count};
    if (draws) {
      run.draws = kernels_.fill_draws(options_.random, options_.rounding.random_bits, i, count,
                                      draw_space.data(), run.input);
    }
    body(run, i);
    if (takes_pieces_ != nullptr) (*takes_pieces_)({rounded.data(), count}, i);
  }
  // Streamed lines must have left before another thread may read them.
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void FastQuantizer::round_blocks() {
  if (format_.scaling.kind == ScaleKind::two_level) {
    blocks_->tensor_scale = tensor_scale_of(input_, format_);
  }
  const auto block = static_cast<std::size_t>(grouping_.block);
  const auto length = static_cast<std::size_t>(grouping_.length);
  const std::size_t piece = std::max<std::size_t>(1, kChunk / block) * block;  // whole blocks
  const bool streams = can_stream() && block % 16 == 0 && length % block == 0;
  const auto body = [&](Run run, std::size_t) {
    run.streams = streams;
    kernels_.round_blocks(program_->plan(), define, run, *blocks_);
  };
  if (length % block == 0) {
    // Lines end where blocks end: one long sequence of blocks.
    parallel_for(input_.size(), 64 * piece,
                 [&](std::size_t begin, std::size_t end) { in_pieces(begin, end, piece, body); });
    return;
  }
  const std::size_t lines = input_.size() / length;
  parallel_for(lines, std::max<std::size_t>(1, kGrain / length),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t line = begin; line < end; ++line) {
                   // A block may be longer than its line.
                   in_pieces(line * length, (line + 1) * length, std::min(piece, length), body);
                 }
               });
}

void FastQuantizer::round_one_scale(const GroupScale& group) {
  parallel_for(input_.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    in_pieces(begin, end, kChunk, [&](Run run, std::size_t) {
      run.streams = can_stream();
      kernels_.round_run(program_->plan(), define, run, scale_use(), group.scale);
    });
  });
}

// Long runs share one scale; short ones take theirs from a table of one period.
void FastQuantizer::round_axis() {
  const auto inner = static_cast<std::size_t>(grouping_.inner);
  const auto period = static_cast<std::size_t>(grouping_.length * grouping_.inner);
  constexpr std::size_t kShortRun = 64;
  std::vector<float> period_scales(inner < kShortRun ? period : 0);
  for (std::size_t i = 0; i < period_scales.size(); ++i)
    period_scales[i] = scale_values_[i / inner];
  parallel_for(input_.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    in_pieces(begin, end, kChunk, [&](const Run& run, std::size_t first) {
      for (std::size_t done = 0; done < run.count;) {
        const std::size_t i = first + done;
        const std::size_t unit = inner < kShortRun ? period : inner;
        const std::size_t count = std::min(run.count - done, unit - i % unit);
        const Run part{run.input + done, run.output + done, count,
                       run.draws == nullptr ? nullptr : run.draws + done};
        if (inner < kShortRun) {
          kernels_.round_scales(program_->plan(), define, part, scale_use(),
                                &period_scales[i % period]);
        } else {
          kernels_.round_run(program_->plan(), define, part, scale_use(),
                             scale_values_[i % period / inner]);
        }
        done += count;
      }
    });
  });
}

// Along an axis that is not the last, neighbours in memory belong to different blocks whose scales
// are neighbours too.
void FastQuantizer::round_strided_blocks() {
  const auto inner = static_cast<std::size_t>(grouping_.inner);
  const std::size_t rows = input_.size() / inner;
  parallel_for(
      rows, std::max<std::size_t>(1, kGrain / inner), [&](std::size_t begin, std::size_t end) {
        for (std::size_t row = begin; row < end; ++row) {
          const auto group =
              static_cast<std::size_t>(grouping_.group_of(static_cast<std::int64_t>(row * inner)));
          in_pieces(row * inner, (row + 1) * inner, kChunk, [&](const Run& run, std::size_t first) {
            kernels_.round_scales(program_->plan(), define, run, scale_use(),
                                  &scale_values_[group + first % inner]);
          });
        }
      });
}

bool FastQuantizer::run() {
  const int zero = format_.scaling.zero;
  blocks_ = make_block_plan(format_);
  if (runs_in_lines_of_blocks()) {
    program_ = RoundProgram::remembered(format_, 0, options_.rounding, options_.overflow);
    if (program_ == nullptr) return false;
    round_blocks();
    return true;
  }
  scales_ = group_scales(input_, format_, grouping_, options_);
  const int first_zero = scales_.groups.empty() ? zero : scales_.groups.front().zero;
  const auto differs = [&](const GroupScale& g) { return g.zero != first_zero || g.scale == 0; };
  if (std::any_of(scales_.groups.begin(), scales_.groups.end(), differs)) return false;
  program_ = RoundProgram::remembered(format_, first_zero, options_.rounding, options_.overflow);
  if (program_ == nullptr) return false;
  for (const GroupScale& group : scales_.groups) scale_values_.push_back(group.scale);
  switch (grouping_.granularity) {
    case Granularity::tensor:
      round_one_scale(scales_.groups.front());
      break;
    case Granularity::axis:
      round_axis();
      break;
    case Granularity::block:
      round_strided_blocks();
      break;
  }
  return true;
}

}  // namespace

bool quantize_by_kernels(std::span<const float> input, std::span<float> output,
                         const Format& format, const Grouping& grouping,
                         const QuantizeOptions& options, const QuantizeKernels& kernels) {
  return FastQuantizer(input, output, format, grouping, options, kernels).run();
}

bool round_pieces_by_kernels(std::span<const float> input, const Format& format,
                             const Grouping& grouping, const QuantizeOptions& options,
                             const QuantizeKernels& kernels, const RoundedPiece& body) {
  return FastQuantizer(input, {}, format, grouping, options, kernels, &body).run();
}

}  // namespace nibble::inline kernels
