// SPDX-License-Identifier: Apache-2.0
// Answers of a frozen network with batch norms.
#include "integer_training/integer_evaluator.h"

#include "integer_training/integer_model.h"
#include "nibble/core/error.h"

namespace nibble::inline integer_training {
namespace {

// What enters, image after image: bytes by the table of their channel.
std::span<const std::int8_t> mantissas_of(const InputBatch& batch,
                                          std::vector<std::int8_t>& memory) {
  if (batch.tables.empty()) return batch.mantissas;
  memory.resize(batch.bytes.size());
  const std::size_t channels = batch.tables.size() / 256;
  for (std::size_t i = 0; i < memory.size(); ++i)
    memory[i] = batch.tables[i % channels * 256 + batch.bytes[i]];
  return memory;
}

}  // namespace

bool has_engine(const std::string& device) {
  try {
    check_device(device);
    return true;
  } catch (const Error&) {
    return false;
  }
}

FrozenAnswers::FrozenAnswers(const Model& model, const std::string& device, std::int64_t batch)
    : engine_(copy_of(model), {.device = device, .max_batch = batch}),
      exponent_(value_exponents_of(model.network).back()) {}

IntegerAnswers FrozenAnswers::answer(const InputBatch& examples) {
  const ValueInfo& output = engine_.output();
  IntegerAnswers answers{.mantissas = std::vector<std::int8_t>(
                             static_cast<std::size_t>(examples.images) * output.bytes),
                         .exponent = exponent_,
                         .width = static_cast<std::int64_t>(output.bytes)};
  engine_.run(std::as_bytes(mantissas_of(examples, mantissas_)), examples.images,
              std::as_writable_bytes(std::span(answers.mantissas)));
  return answers;
}

}  // namespace nibble::inline integer_training
