// SPDX-License-Identifier: Apache-2.0
// Means, pools and all that stands alone, on a GPU.
#include <bit>

#include "engine/cuda/device_work.h"
#include "engine/cuda/finish_constants.h"
#include "engine/cuda/number_jobs.h"
#include "engine/cuda/window_jobs.h"
#include "graph/mean_factors.h"
#include "graph/node_error.h"

namespace nibble::inline engine {
namespace {

template <class Pool>
cuda::DeviceWindow pool_window(const Pool& pool) {
  const auto size = [](std::int64_t extent) { return static_cast<std::int32_t>(extent); };
  return {.kernel = {size(pool.kernel.y), size(pool.kernel.x)},
          .stride = {size(pool.stride.y), size(pool.stride.x)},
          .padding = {size(pool.padding.y), size(pool.padding.x)},
          .dilation = {1, 1}};
}

// The three axes of a picture; a vector has the last alone.
std::int32_t axis_of(const std::vector<std::int64_t>& list, std::size_t of_three,
                     std::int64_t missing) {
  const std::size_t skipped = 3 - list.size();
  return static_cast<std::int32_t>(of_three < skipped ? missing : list[of_three - skipped]);
}

// A step that stands alone, and where its values lie.
class SingleWork {
 public:
  SingleWork(const DeviceParts& parts, const ProgramStep& step, const SingleLaw& law)
      : parts_(parts), step_(step), law_(law), in_(input(0)), out_(parts.places[step.output]) {}

  DeviceWork work() const {
    return std::visit([&](const auto& op) { return of(op); }, law_.op);
  }

 private:
  const DevicePlace& input(std::size_t k) const { return parts_.places[step_.inputs[k]]; }

  // Any of what works on each number; the rest of the job is the operation's.
  DeviceWork change(cuda::NumberJob job) const {
    return [job, in = in_, out = out_](const DeviceRun& run) {
      cuda::NumberJob own = job;
      own.in = in.in(run.arena);
      own.out = out.in(run.arena);
      own.order = cuda::ChunkOrder::of(own.out, run.images);
      queue(run.queue, own);
    };
  }
  const std::int32_t* numbers_by_channel() const {
    return parts_.constants.keep(by_channel(law_.numbers, out_));
  }

  DeviceWork of(const Bias&) const {
    cuda::NumberJob job{};
    job.op = cuda::NumberOp::bias;
    job.numbers = numbers_by_channel();
    return change(job);
  }
  DeviceWork of(const Relu&) const {
    cuda::NumberJob job{};
    job.op = cuda::NumberOp::relu;
    return change(job);
  }
  static cuda::ScalarRescale scalar(const Rescale& op, std::int64_t multiplier) {
    return {.multiplier = static_cast<std::int32_t>(multiplier),
            .shift = static_cast<std::int32_t>(op.shift),
            .low = static_cast<std::int32_t>(op.low),
            .high = static_cast<std::int32_t>(op.high)};
  }
  DeviceWork joined_sum(const Rescale& op) const {
    const auto term = [&](std::size_t k) {
      return scalar(law_.terms[k].op, law_.terms[k].multiplier);
    };
    return [first = input(0), second = input(1), out = out_,
            job = cuda::JoinedSumJob{.in = {},
                                     .out = {},
                                     .order = {},
                                     .terms = {term(0), term(1)},
                                     .result = scalar(op, law_.numbers[0])}](const DeviceRun& run) {
      cuda::JoinedSumJob own = job;
      own.in[0] = first.in(run.arena);
      own.in[1] = second.in(run.arena);
      own.out = out.in(run.arena);
      own.order = cuda::ChunkOrder::of(own.out, run.images);
      queue(run.queue, own);
    };
  }
  DeviceWork of(const Rescale& op) const {
    if (!law_.terms.empty()) return joined_sum(op);
    cuda::NumberJob job{};
    job.op = cuda::NumberOp::rescale;
    job.numbers = numbers_by_channel();
    job.shift = static_cast<std::int32_t>(op.shift);
    job.low = static_cast<std::int32_t>(op.low);
    job.high = static_cast<std::int32_t>(op.high);
    job.is_wide = law_.is_wide ? 1 : 0;
    return change(job);
  }
  DeviceWork of(const Table& op) const {
    cuda::NumberJob job{};
    job.op = cuda::NumberOp::table;
    job.numbers =
        parts_.constants.keep(std::vector<std::int32_t>(law_.numbers.begin(), law_.numbers.end()));
    job.low = static_cast<std::int32_t>(op.first);
    return change(job);
  }

  template <int kMost>
  DeviceWork add() const {
    std::vector<DevicePlace> ins;
    for (std::size_t k = 0; k < step_.inputs.size(); ++k) ins.push_back(input(k));
    return [ins, out = out_](const DeviceRun& run) {
      cuda::AddJob<kMost> job{};
      for (std::size_t k = 0; k < ins.size(); ++k) job.in[k] = ins[k].in(run.arena);
      job.out = out.in(run.arena);
      job.order = cuda::ChunkOrder::of(job.out, run.images);
      job.count = static_cast<std::uint32_t>(ins.size());
      queue(run.queue, job);
    };
  }
  DeviceWork of(const Add&) const {
    if (step_.inputs.size() > cuda::kMostAddends)
      throw Error("engine", step_.name, std::to_string(step_.inputs.size()) + " values",
                  "a sum of at most 64 on a GPU", ErrorKind::limit);
    return step_.inputs.size() <= cuda::kFewAddends ? add<cuda::kFewAddends>()
                                                    : add<cuda::kMostAddends>();
  }

  // The rest of the job is what moves where.
  static DeviceWork move(cuda::MoveJob job, const DevicePlace& from, const DevicePlace& to) {
    return [=](const DeviceRun& run) {
      cuda::MoveJob own = job;
      own.in = from.in(run.arena);
      own.out = to.in(run.arena);
      own.order = cuda::ChunkOrder::of(own.out, run.images);
      queue(run.queue, own);
    };
  }
  DeviceWork of(const Concat&) const {
    std::vector<DeviceWork> moves;
    std::uint32_t channel = 0;
    for (std::size_t k = 0; k < step_.inputs.size(); ++k) {
      const auto channels = static_cast<std::uint32_t>(input(k).picture.channels);
      cuda::MoveJob job{};
      for (std::int32_t& step : job.step) step = 1;
      job.first_channel = channel;
      job.end_channel = channel += channels;
      moves.push_back(move(job, input(k), out_));
    }
    return [moves](const DeviceRun& run) {
      for (const DeviceWork& each : moves) each(run);
    };
  }
  DeviceWork of(const Slice& op) const {
    cuda::MoveJob job{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      job.begin[axis] = axis_of(op.begin, axis, 0);
      job.step[axis] = axis_of(op.step, axis, 1);
    }
    job.end_channel = static_cast<std::uint32_t>(out_.picture.channels);
    return move(job, in_, out_);
  }
  DeviceWork of(const Pad& op) const {
    cuda::MoveJob job{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      job.begin[axis] = -axis_of(op.before, axis, 0);
      job.step[axis] = 1;
    }
    job.end_channel = static_cast<std::uint32_t>(out_.picture.channels);
    return move(job, in_, out_);
  }

  DeviceWork of(const Flatten&) const {
    return [in = in_, out = out_](const DeviceRun& run) {
      cuda::FlattenJob job{.in = in.in(run.arena),
                           .out = out.in(run.arena),
                           .order = {},
                           .channels = Divisor::of(static_cast<std::uint32_t>(in.picture.channels)),
                           .width = Divisor::of(static_cast<std::uint32_t>(in.picture.width))};
      job.order = cuda::ChunkOrder::of(job.out, run.images);
      queue(run.queue, job);
    };
  }
  DeviceWork of(const MaxPool& op) const { return largest_work(op, in_, out_); }

  DeviceWork judge(const std::int64_t* table, std::int64_t high) const {
    const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(high)));
    return [=, in = in_, out = out_](const DeviceRun& run) {
      queue(run.queue, cuda::VectorJob{.in = in.in(run.arena),
                                       .out = out.in(run.arena),
                                       .table = table,
                                       .high = high,
                                       .images = run.images,
                                       .bits = bits});
    };
  }
  DeviceWork of(const SoftmaxTable& op) const {
    return judge(parts_.constants.keep(law_.numbers), op.high);
  }
  DeviceWork of(const ArgMax&) const { return judge(nullptr, 0); }

  template <class Other>
  DeviceWork of(const Other&) const {
    fail_node({.name = step_.name, .op = law_.op}, "step", name_of(law_.op),
              "an operation of integers");
  }

  const DeviceParts& parts_;
  const ProgramStep& step_;
  const SingleLaw& law_;
  const DevicePlace& in_;
  const DevicePlace& out_;
};

}  // namespace

DeviceWork largest_work(const MaxPool& pool, const DevicePlace& in, const DevicePlace& out) {
  return [=](const DeviceRun& run) {
    cuda::MaximumJob job{
        .in = in.in(run.arena), .out = out.in(run.arena), .window = pool_window(pool), .order = {}};
    job.order = cuda::ChunkOrder::of(job.out, run.images);
    queue(run.queue, job);
  };
}

DeviceWork mean_work(const DeviceParts& parts, const ProgramStep& step, const MeanLaw& law) {
  const DevicePlace& in = parts.places[step.inputs[0]];
  const DevicePlace& out = parts.places[step.output];
  const Extent2 extent{out.picture.height, out.picture.width};
  const MeanFactors factors(law.pool, {in.picture.height, in.picture.width}, extent);
  std::vector<std::int32_t> list;
  for (std::int64_t y = 0; y < extent.y; ++y) {
    for (std::int64_t x = 0; x < extent.x; ++x)
      list.push_back(static_cast<std::int32_t>(factors.of(y, x)));
  }
  const std::int32_t* kept = parts.constants.keep(list);
  const DeviceFinish finish(law.finish, {0}, out, nullptr, parts.constants);
  return [=, pool = law.pool](const DeviceRun& run) {
    queue(run.queue,
          cuda::MeanJob{.in = in.in(run.arena),
                        .factors = kept,
                        .window = pool_window(pool),
                        .order = cuda::ChunkOrder::of(out.in(run.arena), run.images),
                        .pixels = Divisor::of(static_cast<std::uint32_t>(out.picture.pixels())),
                        .unused = 0,
                        .finish = finish.in(run.arena)});
  };
}

DeviceWork single_work(const DeviceParts& parts, const ProgramStep& step, const SingleLaw& law) {
  return SingleWork(parts, step, law).work();
}

}  // namespace nibble::inline engine
