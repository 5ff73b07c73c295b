// SPDX-License-Identifier: Apache-2.0
// Runs the second device, keeps its values, and holds those of the first against them.
#include "engine/runner.h"

#include <fmt/format.h>

#include <algorithm>

#include "nibble/core/error.h"
#include "nibble/engine/engine.h"

namespace nibble::inline engine {
namespace {

class CheckRunner final : public EngineRunner {
 public:
  CheckRunner(const EngineProgram& program, NamedRunner first, NamedRunner second)
      : values_(program.values),
        entry_bytes_(program.entry.bytes),
        first_(std::move(first)),
        second_(std::move(second)) {}

  void run(std::span<const std::byte> input, std::int64_t batch,
           std::span<std::byte> output) const override {
    run_watched(input, batch, output, [](std::size_t, const ResultReader&) {});
  }

  // One example at a time: all values of it are kept.
  void run_watched(std::span<const std::byte> input, std::int64_t batch,
                   std::span<std::byte> output, const ResultWatcher& watch) const override {
    const std::size_t answer_bytes = values_.back().info.bytes;
    for (std::int64_t e = 0; e < batch; ++e) {
      const auto at = static_cast<std::size_t>(e);
      const auto example = input.subspan(at * entry_bytes_, entry_bytes_);
      const auto answer = output.subspan(at * answer_bytes, answer_bytes);
      std::vector<std::vector<std::byte>> kept(values_.size());
      second_.runner->run_watched(
          example, 1, answer,
          [&](std::size_t value, const ResultReader& read) { read(kept[value]); });
      first_.runner->run_watched(example, 1, answer,
                                 [&](std::size_t value, const ResultReader& read) {
                                   compare(e, value, read, kept[value]);
                                   watch(value, read);
                                 });
    }
  }

  const std::vector<StepInfo>& steps() const override { return first_.runner->steps(); }
  std::size_t weight_bytes() const override {
    return first_.runner->weight_bytes() + second_.runner->weight_bytes();
  }
  std::size_t arena_bytes() const override {
    return first_.runner->arena_bytes() + second_.runner->arena_bytes();
  }
  const TuningFile& tuning() const override { return first_.runner->tuning(); }

 private:
  void compare(std::int64_t example, std::size_t value, const ResultReader& read,
               const std::vector<std::byte>& theirs) const {
    if (theirs.empty()) return;  // the second has it within a step only
    std::vector<std::byte> ours;
    read(ours);
    if (ours == theirs) return;
    const ValueInfo& info = values_[value].info;
    const std::vector<std::int64_t> a = as_integers(info, ours);
    const std::vector<std::int64_t> b = as_integers(info, theirs);
    const auto at = std::ranges::mismatch(a, b).in1 - a.begin();
    const Picture& picture = values_[value].picture;
    throw Error("check",
                fmt::format("layer {}, example {}, row {}, column {}, channel {}", info.name,
                            example, at / picture.channels / picture.width,
                            at / picture.channels % picture.width, at % picture.channels),
                fmt::format("{} of {}", a[static_cast<std::size_t>(at)], first_.name),
                fmt::format("{} of {}", b[static_cast<std::size_t>(at)], second_.name),
                ErrorKind::internal);
  }

  std::vector<ProgramValue> values_;
  std::size_t entry_bytes_;
  NamedRunner first_;
  NamedRunner second_;
};

}  // namespace

std::unique_ptr<EngineRunner> make_check_runner(const EngineProgram& program, NamedRunner first,
                                                NamedRunner second) {
  return std::make_unique<CheckRunner>(program, std::move(first), std::move(second));
}

}  // namespace nibble::inline engine
