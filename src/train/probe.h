// SPDX-License-Identifier: Apache-2.0
// What rounding does to every layer and role, seen in one batch an epoch.
#pragma once

#include <cstdint>
#include <vector>

#include "nibble/run/events.h"
#include "nibble/run/run_rows.h"
#include "train/rounder.h"

namespace nibble {

class Probe final : public RoundingObserver {
 public:
  // `events` may be null.
  Probe(std::int64_t epoch, std::int64_t step, EventSink* events)
      : epoch_(epoch), step_(step), events_(events) {}

  void observe(Role role, std::string_view layer, ConstTensorView before, ConstTensorView after,
               const RoundingRule* rule) override;

  const std::vector<LayerRow>& layers() const { return layers_; }
  const std::vector<HistogramRow>& histograms() const { return histograms_; }

 private:
  std::int64_t epoch_;
  std::int64_t step_;
  EventSink* events_;
  std::vector<LayerRow> layers_;
  std::vector<HistogramRow> histograms_;
};

}  // namespace nibble
