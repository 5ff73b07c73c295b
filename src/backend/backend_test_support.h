// SPDX-License-Identifier: Apache-2.0
// What tests of backends share: random batches, every path and thread count, and values that are
// put into a backend and taken out of it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "backend/test_reference_layers.h"
#include "core/isa.h"
#include "nibble/core/parallel.h"

namespace nibble::inline backend {

// Calls body() on every instruction set of the machine, with 1, 2 and 3 threads; the scalar
// definition, which is slow, with 2.
template <class Body>
void on_every_path(const Body& body) {
  for (const Isa isa : supported_isas()) {
    set_isa(isa);
    for (const int threads : {1, 2, 3}) {
      if (isa == Isa::reference && threads != 2) continue;
      set_thread_count(threads);
      SCOPED_TRACE(std::string(name_of(isa)) + ", " + std::to_string(threads) + " threads");
      body();
    }
  }
  reset_isa();
  set_thread_count(0);
}

// Backends beside the definitions and the CPU that a program's tests run on.
inline std::vector<std::string>& more_backends() {
  static std::vector<std::string> names;
  return names;
}

// Draws of (name, element): the same wherever the test runs.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : key_{seed, 0, 0} {}
  int in(int least, int most) {
    const auto count = static_cast<std::uint32_t>(std::int64_t{most} - least + 1);
    return static_cast<int>(least + static_cast<std::int64_t>(draw32(key_, next_++) % count));
  }

 private:
  RandomKey key_;
  std::uint64_t next_ = 0;
};

inline std::vector<std::int8_t> random_mantissas(std::size_t count, Draws& draws, int most = 127) {
  std::vector<std::int8_t> values(count);
  for (std::int8_t& each : values) each = static_cast<std::int8_t>(draws.in(-most, most));
  return values;
}

inline reference::Block random_block(const Picture& picture, std::int64_t images, int exponent,
                                     Draws& draws, int most = 127) {
  reference::Block block{picture, images, exponent, {}};
  block.data = random_mantissas(block.size(), draws, most);
  return block;
}

inline void expect_same(const reference::Block& got, const reference::Block& wanted,
                        std::string_view what) {
  EXPECT_EQ(got.exponent, wanted.exponent) << what;
  ASSERT_EQ(got.data.size(), wanted.data.size()) << what;
  EXPECT_TRUE(got.data == wanted.data)
      << what << " differ first at element "
      << std::mismatch(got.data.begin(), got.data.end(), wanted.data.begin()).first -
             got.data.begin();
}

// A backend, with values as plain blocks.
class Workplace {
 public:
  explicit Workplace(std::string_view name = "cpu") : backend(make_backend(name)) {}

  Values empty(const Picture& picture, std::int64_t images,
               ValueStorage storage = ValueStorage::s8) {
    return {.picture = picture,
            .images = images,
            .memory = backend->take(picture, images, storage),
            .exponent = backend->new_slot(),
            .storage = storage};
  }
  Values put(const reference::Block& block) {
    const Values values = empty(block.picture, block.images);
    backend->load(block.data, block.exponent, values);
    return values;
  }
  reference::Block get(const Values& values) {
    reference::Block block{
        values.picture, values.images, backend->read_slots().exponent(values), {}};
    block.data.resize(block.size());
    backend->store(values, block.data);
    return block;
  }
  ShiftPoint point(ShiftRounding rounding = ShiftRounding::nearest, std::uint32_t stream = 0) {
    return backend->new_point({"test", rounding, stream});
  }
  std::unique_ptr<Weights> weights(const WeightsCase& weights, std::span<const std::int8_t> values,
                                   int exponent) {
    std::unique_ptr<Weights> made = backend->weights(weights);
    WeightsState state{.mantissas = Tensor(DType::i8, weights.shape), .exponent = exponent};
    std::ranges::copy(values, state.mantissas.as<std::int8_t>().begin());
    made->write(state);
    return made;
  }

  std::unique_ptr<IntegerBackend> backend;
};

inline std::vector<std::int8_t> mantissas_of(const Weights& weights) {
  const WeightsState state = weights.read();
  const auto values = state.mantissas.as<std::int8_t>();
  return {values.begin(), values.end()};
}

}  // namespace nibble::inline backend
