// SPDX-License-Identifier: Apache-2.0
// Which backend computes which pass of which layer.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <utility>

#include "backend/backend.h"
#include "integer_step/wire.h"

namespace nibble::inline integer_step {

// Where a layer's passes run.
struct LayerPlace {
  IntegerBackend* forward = nullptr;
  IntegerBackend* input_error = nullptr;
  IntegerBackend* weight_gradient = nullptr;
  IntegerBackend* update = nullptr;
  Wire* wire = nullptr;  // between them
};

class Placement {
 public:
  // Everything on one.
  explicit Placement(std::shared_ptr<IntegerBackend> all) : all_(std::move(all)) {}

  void place(std::size_t node, TrainPass pass, std::shared_ptr<IntegerBackend> backend) {
    placed_[{node, pass}] = std::move(backend);
  }

  IntegerBackend& of(std::size_t node, TrainPass pass) const {
    const auto found = placed_.find({node, pass});
    return found == placed_.end() ? *all_ : *found->second;
  }

  LayerPlace of(std::size_t node) const {
    return {&of(node, TrainPass::forward), &of(node, TrainPass::input_error),
            &of(node, TrainPass::weight_gradient), &of(node, TrainPass::update), wire_.get()};
  }

  Wire& wire() const { return *wire_; }

 private:
  std::shared_ptr<IntegerBackend> all_;
  std::shared_ptr<Wire> wire_ = std::make_shared<Wire>();
  std::map<std::pair<std::size_t, TrainPass>, std::shared_ptr<IntegerBackend>> placed_;
};

}  // namespace nibble::inline integer_step
