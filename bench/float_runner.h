// SPDX-License-Identifier: Apache-2.0
// Float training of one network on one batch, stepped again and again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "float_training/session.h"
#include "nibble/float_training/recipe.h"

namespace nibble {

class FloatRunner {
 public:
  // `format` is that of all roles but the accumulator.
  FloatRunner(const std::string& network, std::int64_t batch, const std::string& format,
              bool has_dropout, bool is_fast);

  double step();  // gives the loss; the batch is there already, as it is for the peer
  double median_seconds(int steps);
  double operations() const;  // of a step: forward, errors, gradients

  // The batch and the weights, for the peer.
  void dump(const std::filesystem::path& folder);

 private:
  Recipe recipe_;
  Dataset data_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Batcher> batcher_;
  std::vector<std::int32_t> indices_;
};

}  // namespace nibble
