// SPDX-License-Identifier: Apache-2.0
// What tests of integer layers share: batches in both layouts, random ones, every path and thread
// count, and a tape beside the reference.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "integer/input_layout.h"
#include "integer/reference_network.h"
#include "integer/tape.h"
#include "nibble/core/isa.h"
#include "nibble/core/parallel.h"
#include "nibble/graph/network_text.h"

namespace nibble {

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

// Draws of (name, element): the same wherever the test runs.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : key_{seed, 0, 0} {}
  int in(int least, int most) {
    return least +
           static_cast<int>(draw32(key_, next_++) % static_cast<std::uint32_t>(most - least + 1));
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

// Memory of its own, in the layout of layers.
class OwnBlock {
 public:
  OwnBlock(const Picture& picture, std::int64_t images, int exponent = 0)
      : memory_(static_cast<std::size_t>(groups_of(images) * picture.group_bytes())),
        tensor_{picture, images, exponent, memory_.data()} {}
  explicit OwnBlock(const reference::Block& block)
      : OwnBlock(block.picture, block.images, block.exponent) {
    lay_out(std::span<const std::int8_t>(block.data), tensor_);
  }
  OwnBlock(const OwnBlock&) = delete;
  OwnBlock& operator=(const OwnBlock&) = delete;

  BlockTensor& tensor() { return tensor_; }
  const BlockTensor& tensor() const { return tensor_; }

 private:
  std::vector<std::int8_t> memory_;
  BlockTensor tensor_;
};

// Image after image; what only fills up must be zeros.
inline reference::Block plain(const BlockTensor& tensor) {
  reference::Block block{tensor.picture, tensor.images, tensor.exponent, {}};
  const Picture& p = tensor.picture;
  for (std::int64_t image = 0; image < tensor.groups() * kGroup; ++image) {
    for (std::int64_t pixel = 0; pixel < p.pixels(); ++pixel) {
      const std::int8_t* from = tensor.at(image / kGroup, pixel) + image % kGroup * p.stride();
      for (std::int64_t c = 0; c < p.stride(); ++c) {
        if (image < tensor.images && c < p.channels) {
          block.data.push_back(from[c]);
        } else {
          EXPECT_EQ(from[c], 0) << "filling of image " << image << ", pixel " << pixel;
        }
      }
    }
  }
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

inline Network network_of(std::string_view toml) {
  return parse_network(toml, "test");
}

// A tape and the reference with the same random weights.
class Twins {
 public:
  explicit Twins(const Network& network, std::uint64_t seed = 1)
      : tape(network, {}), reference_(network, random_weights(seed)) {}

  // One step on both; errors come back from a random error of the answer.
  void step(std::int64_t images, std::uint64_t seed, const reference::Step& step = {},
            int input_exponent = -7) {
    Draws draws(seed);
    const auto batch = random_block(tape.input_picture(), images, input_exponent, draws);
    const OwnBlock laid_out(batch);
    reference::Block plain_batch = batch;
    const reference::Block wanted = reference_.forward(plain_batch, step);
    const IntegerPass pass{.rule = {ShiftRule::exact, step.random, nullptr, &tape.pool()},
                           .is_training = step.is_training,
                           .update = {.mu = step.mu, .bias_mu = step.bias_mu},
                           .all_images = images,
                           .pool = &tape.pool()};
    const BlockTensor answer = tape.forward(pass, laid_out.tensor());
    expect_same(plain(answer), wanted, "answers");
    if (!step.is_training) return;
    reference::Block error = random_block(answer.picture, images, -7, draws);
    const OwnBlock own(error);
    error.picture = wanted.picture;
    tape.backward(pass, own.tensor());
    reference_.backward(error, step);
    for (const TrainedTensor* each : tape.parameters()) {
      const auto mantissas = each->mantissas.as<std::int8_t>();
      EXPECT_TRUE(std::ranges::equal(mantissas, reference_.weights.at(each->name).mantissas))
          << each->name << " after the update";
    }
  }

  IntegerTape tape;

 private:
  std::map<std::string, reference::Weight> random_weights(std::uint64_t seed) {
    Draws draws(seed);
    std::map<std::string, reference::Weight> weights;
    for (TrainedTensor* each : tape.parameters()) {
      const auto values = random_mantissas(each->size(), draws);
      std::ranges::copy(values, each->mantissas.as<std::int8_t>().begin());
      weights[each->name] = {values, each->exponent};
    }
    tape.weights_changed();
    return weights;
  }

  reference::ReferenceNetwork reference_;
};

// Steps of a network on every path, beside the reference.
inline void expect_as_defined(std::string_view toml, std::initializer_list<std::int64_t> batches,
                              const reference::Step& step = {}) {
  const Network network = network_of(toml);
  on_every_path([&] {
    Twins twins(network);
    std::uint64_t seed = 7;
    for (const std::int64_t images : batches) {
      SCOPED_TRACE(std::to_string(images) + " images");
      reference::Step own = step;
      own.random = {5, 0, static_cast<std::uint32_t>(seed)};
      twins.step(images, seed++, own);
    }
  });
}

}  // namespace nibble
