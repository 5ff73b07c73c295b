// SPDX-License-Identifier: Apache-2.0
// Runs the definitions, example by example.
#include "engine/runner.h"

#include <cstring>

#include "graph/defined_network.h"
#include "nibble/engine/engine.h"

namespace nibble::inline engine {
namespace {

// Dense, as the value's info has them.
void write_integers(const ValueInfo& info, const Integers& numbers, std::byte* to) {
  for (const std::int64_t number : numbers) {
    const auto word = static_cast<std::int32_t>(number);
    if (info.dtype == DType::i32) {
      std::memcpy(to, &word, sizeof word);
    } else {
      *to = static_cast<std::byte>(word);
    }
    to += size_of(info.dtype);
  }
}

class ReferenceRunner final : public EngineRunner {
 public:
  explicit ReferenceRunner(const EngineProgram& program)
      : network_(program.model), values_(program.values), entry_(program.entry) {
    for (const ProgramStep& step : program.steps)
      steps_.push_back(
          {.name = step.name, .kind = step.kind, .shape = {}, .macs = step.macs, .is_wide = true});
    for (const Tensor& tensor : program.model.parameters)
      weight_bytes_ += static_cast<std::size_t>(tensor.shape().elements()) * sizeof(std::int64_t);
    for (const ProgramValue& value : values_)
      arena_bytes_ += static_cast<std::size_t>(value.picture.elements()) * sizeof(std::int64_t);
  }

  void run(std::span<const std::byte> input, std::int64_t batch,
           std::span<std::byte> output) const override {
    run_watched(input, batch, output, [](std::size_t, const ResultReader&) {});
  }

  void run_watched(std::span<const std::byte> input, std::int64_t batch,
                   std::span<std::byte> output, const ResultWatcher& watch) const override {
    const ValueInfo& answer = values_.back().info;
    for (std::int64_t e = 0; e < batch; ++e) {
      const auto at = static_cast<std::size_t>(e);
      const std::vector<Integers> found =
          network_.values(as_integers(entry_, input.subspan(at * entry_.bytes, entry_.bytes)),
                          [&](std::size_t value, const Integers& numbers) {
                            if (values_[value].is_stored) show(value, numbers, watch);
                          });
      write_integers(answer, found.back(), output.data() + at * answer.bytes);
    }
  }

  const std::vector<StepInfo>& steps() const override { return steps_; }
  std::size_t weight_bytes() const override { return weight_bytes_; }
  std::size_t arena_bytes() const override { return arena_bytes_; }

 private:
  void show(std::size_t value, const Integers& numbers, const ResultWatcher& watch) const {
    watch(value, [&](std::vector<std::byte>& bytes) {
      bytes.resize(values_[value].info.bytes);
      write_integers(values_[value].info, numbers, bytes.data());
    });
  }

  DefinedNetwork network_;
  std::vector<ProgramValue> values_;
  ValueInfo entry_;
  std::vector<StepInfo> steps_;
  std::size_t weight_bytes_ = 0;
  std::size_t arena_bytes_ = 0;
};

}  // namespace

std::unique_ptr<EngineRunner> make_reference_runner(const EngineProgram& program,
                                                    const EngineOptions& /*options*/) {
  return std::make_unique<ReferenceRunner>(program);
}

}  // namespace nibble::inline engine
