// SPDX-License-Identifier: Apache-2.0
// The blocks that need a GPU, beside the CPU; 77, "skipped", where there is none.
#include <algorithm>
#include <iostream>
#include <vector>

#include "nibble/cuda/device.h"
#include "nibble/engine/cuda_engine.h"
#include "nibble/engine/engine.h"
#include "nibble/kernels/device_accumulate.h"

using namespace nibble;

extern "C" int answer_in_c(const void* loaded, void* answers);

namespace {

bool is_product_the_cpus(const Engine& engine) {
  constexpr std::int64_t m = 5, k = 300, n = 7;
  const Accumulator rules = accumulator_of(parse_format("fp16"));
  Tensor left(DType::f32, {m, k}), right(DType::f32, {k, n});
  Tensor expected(DType::f32, {m, n}), given(DType::f32, {m, n});
  for (std::int64_t i = 0; i < m * k; ++i) left.as<float>()[i] = static_cast<float>(i % 17) / 8;
  for (std::int64_t i = 0; i < k * n; ++i) right.as<float>()[i] = static_cast<float>(i % 23) / 16;
  matmul(left.view(), right.view(), expected.view(), rules);

  const auto floats_of = [&](const Tensor& tensor) {
    const EngineBuffer buffer = engine.allocate(tensor.bytes(), BufferPlace::device);
    buffer.write({tensor.data(), tensor.bytes()});
    return buffer;
  };
  const EngineBuffer a_ = floats_of(left), b_ = floats_of(right), c_ = floats_of(given);
  const auto* a = reinterpret_cast<const float*>(a_.bytes().data());
  const auto* b = reinterpret_cast<const float*>(b_.bytes().data());
  auto* c = reinterpret_cast<float*>(c_.bytes().data());
  void *workspace = nullptr, *stream = nullptr;
#include <accumulation_1.cpp>
  cuda::wait_for({});
  c_.read({given.data(), given.bytes()});
  return std::ranges::equal(given.as<float>(), expected.as<float>());
}

}  // namespace

int main() {
  if (cuda::device_count() == 0) return 77;
  const Engine cpu = Engine::load("model.nib");
  std::vector<std::byte> loaded(256 * cpu.input().bytes);
  for (std::size_t i = 0; i < loaded.size(); ++i) loaded[i] = std::byte(i * 37 % 128);
  std::vector<std::byte> expected(256 * cpu.output().bytes), answers(expected.size());
  cpu.run(loaded, 256, expected);
#include <engine_2.cpp>
  pictures.write(loaded);
  engine.run(pictures.bytes(), 256, answers);
  std::cout << (answers == expected ? "right" : "wrong");
  std::ranges::fill(answers, std::byte{});
  std::cout << (answer_in_c(loaded.data(), answers.data()) == 0 && answers == expected ? ", right"
                                                                                       : ", wrong");
  std::cout << (is_product_the_cpus(engine) ? ", right\n" : ", wrong\n");
}
