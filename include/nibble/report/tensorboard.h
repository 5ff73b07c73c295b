// SPDX-License-Identifier: Apache-2.0
// Tells TensorBoard about a run, in an event file of the run's folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "nibble/run_folder/events.h"

namespace nibble::inline report {

struct BucketHistogram;

class TensorBoardSink final : public EventSink {
 public:
  // Opens FOLDER/events.out.tfevents.<unix time>.nibble. A run that goes on says from which step:
  // TensorBoard then forgets what older files of the folder tell of that step and later ones.
  explicit TensorBoardSink(const std::filesystem::path& folder,
                           std::optional<std::int64_t> resumed_at = std::nullopt);
  ~TensorBoardSink() override;
  TensorBoardSink(const TensorBoardSink&) = delete;
  TensorBoardSink& operator=(const TensorBoardSink&) = delete;

  // Events reach the disk within about a second of the next one, and all with flush(). A write
  // that fails throws.
  void scalar(std::string_view tag, std::int64_t step, double value) override;
  // Of the finite values; without any, nothing is told.
  void histogram(std::string_view tag, std::int64_t step, std::span<const float> values) override;
  void counted_histogram(std::string_view tag, std::int64_t step,
                         std::span<const CountedValue> values) override;
  void text(std::string_view tag, std::int64_t step, std::string_view words) override;
  void flush() override;

  const std::filesystem::path& path() const;

 private:
  struct State;
  void add(std::string_view tag, std::int64_t step, const BucketHistogram& counted);

  std::unique_ptr<State> state_;
};

}  // namespace nibble::inline report
