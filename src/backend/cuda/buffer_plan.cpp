// SPDX-License-Identifier: Apache-2.0
// Places of the buffers of a step.
#include "backend/cuda/buffer_plan.h"

#include <algorithm>
#include <utility>

namespace nibble::cuda {
namespace {

bool is_same(const ArenaItem& a, const ArenaItem& b) {
  return a.bytes == b.bytes && a.first == b.first && a.last == b.last;
}

}  // namespace

void BufferPlan::begin(const StepKind& kind) {
  current_ = &kinds_[kind];
  items_.clear();
  has_all_places_ = true;
  now_ = 0;
  ++step_;
}

bool BufferPlan::end() {
  if (current_ == nullptr) return false;
  const bool came_again = std::ranges::equal(items_, current_->last, is_same);
  current_->last = std::exchange(items_, {});
  return came_again && !has_all_places_ && on_loan_ == 0;
}

void BufferPlan::find_places() {
  current_->planned = current_->last;
  bytes_ = std::max(bytes_, plan_arena(current_->planned, kAlignment));
}

void BufferPlan::forget() {
  kinds_.clear();
  current_ = nullptr;
  bytes_ = 0;
}

BufferPlan::Loan BufferPlan::take(std::size_t bytes) {
  ++on_loan_;
  if (current_ == nullptr) return {0, 0, bytes, std::nullopt};
  Loan loan{items_.size(), step_, bytes, std::nullopt};
  items_.push_back({.bytes = bytes, .first = now_, .last = now_});
  ++now_;
  if (loan.item < current_->planned.size()) {
    const ArenaItem& planned = current_->planned[loan.item];
    if (planned.bytes == bytes && is_free(planned.offset, planned.offset + bytes))
      loan.place = planned.offset;
  }
  has_all_places_ = has_all_places_ && loan.place.has_value();
  if (loan.place) used_.emplace(*loan.place, *loan.place + bytes);
  return loan;
}

void BufferPlan::give(const Loan& loan) {
  --on_loan_;
  if (loan.place) used_.erase(*loan.place);
  if (loan.step == step_ && loan.item < items_.size()) items_[loan.item].last = now_++;
}

bool BufferPlan::is_free(std::size_t begin, std::size_t end) const {
  const auto after = used_.lower_bound(end);
  return after == used_.begin() || std::prev(after)->second <= begin;
}

}  // namespace nibble::cuda
