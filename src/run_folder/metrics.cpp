// SPDX-License-Identifier: Apache-2.0
// Counts right and wrong answers.
#include "nibble/run_folder/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "nibble/core/error.h"
#include "nibble/core/parallel.h"

namespace nibble::inline run_folder {
namespace {

constexpr std::int64_t kBest = 5;
constexpr std::int64_t kMostConfused = 4096;  // classes: a matrix of 128 MiB
constexpr std::size_t kLogitsAtOnce = 1 << 14;

struct Answer {
  std::int64_t label_rank = -1;  // classes in front of the label; -1: the row has a NaN
  std::int64_t first = 0;        // the class in front of all
};

Answer answer_of(std::span<const float> row, std::int32_t label) {
  const float at_label = row[static_cast<std::size_t>(label)];
  Answer answer{.label_rank = 0};
  for (std::size_t j = 0; j < row.size(); ++j) {
    if (std::isnan(row[j])) return {};
    if (row[j] > row[static_cast<std::size_t>(answer.first)]) {
      answer.first = static_cast<std::int64_t>(j);
    }
    const bool is_before = j < static_cast<std::size_t>(label);
    if (row[j] > at_label || (row[j] == at_label && is_before)) ++answer.label_rank;
  }
  return answer;
}

double share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::size_t rows_at_once(std::int64_t classes) {
  return std::max<std::size_t>(1, kLogitsAtOnce / static_cast<std::size_t>(classes));
}

}  // namespace

double cross_entropy(std::span<const float> logits, std::int32_t label) {
  double largest = -std::numeric_limits<double>::infinity();
  for (const float logit : logits) largest = std::max(largest, double{logit});
  double sum = 0;
  for (const float logit : logits) sum += std::exp(double{logit} - largest);
  return std::log(sum) - (double{logits[static_cast<std::size_t>(label)]} - largest);
}

Classification::Classification(std::int64_t classes) : classes_(classes) {
  if (classes < 1 || classes > 65536) {
    throw Error("metrics", "classes", std::to_string(classes), "1 to 65536");
  }
  if (has_confusion()) confusion_.resize(static_cast<std::size_t>(classes * classes));
}

void Classification::add(std::span<const float> logits, std::span<const std::int32_t> labels) {
  check(logits, labels);
  const auto width = static_cast<std::size_t>(classes_);
  std::vector<double> losses(labels.size());
  parallel_for(labels.size(), rows_at_once(classes_), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      losses[i] = cross_entropy(logits.subspan(i * width, width), labels[i]);
    }
  });
  add(logits, labels, losses);
}

void Classification::add(std::span<const float> logits, std::span<const std::int32_t> labels,
                         std::span<const double> losses) {
  check(logits, labels);
  if (losses.size() != labels.size()) {
    throw Error("metrics", "losses", std::to_string(losses.size()), std::to_string(labels.size()));
  }
  const auto width = static_cast<std::size_t>(classes_);
  std::vector<Answer> answers(labels.size());
  parallel_for(labels.size(), rows_at_once(classes_), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      answers[i] = answer_of(logits.subspan(i * width, width), labels[i]);
    }
  });
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const Answer& answer = answers[i];
    ++images_;
    loss_sum_ += losses[i];
    if (answer.label_rank < 0) {
      ++unanswered_;
      continue;
    }
    if (answer.label_rank == 0) ++correct_;
    if (answer.label_rank < kBest) ++correct5_;
    if (has_confusion()) {
      ++confusion_[static_cast<std::size_t>(labels[i] * classes_ + answer.first)];
    }
  }
}

void Classification::check(std::span<const float> logits,
                           std::span<const std::int32_t> labels) const {
  const std::size_t expected = labels.size() * static_cast<std::size_t>(classes_);
  if (logits.size() != expected) {
    throw Error("metrics", "logits", std::to_string(logits.size()), std::to_string(expected));
  }
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0 || labels[i] >= classes_) {
      throw Error("metrics", "label of image " + std::to_string(i), std::to_string(labels[i]),
                  "0 to " + std::to_string(classes_ - 1));
    }
  }
}

bool Classification::has_confusion() const {
  return classes_ <= kMostConfused;
}

double Classification::top1() const {
  return share(correct_, images_);
}

double Classification::top5() const {
  return share(correct5_, images_);
}

double Classification::mean_loss() const {
  return images_ == 0 ? 0 : loss_sum_ / static_cast<double>(images_);
}

std::int64_t Classification::confusion(std::int64_t label, std::int64_t answer) const {
  if (!has_confusion()) {
    throw Error("metrics", "classes of a confusion matrix", std::to_string(classes_),
                "up to " + std::to_string(kMostConfused));
  }
  if (label < 0 || label >= classes_ || answer < 0 || answer >= classes_) {
    throw Error("metrics", "classes of a confusion",
                std::to_string(label) + ", " + std::to_string(answer),
                "0 to " + std::to_string(classes_ - 1));
  }
  return confusion_[static_cast<std::size_t>(label * classes_ + answer)];
}

std::string to_json(const Classification& result, std::span<const std::string> class_names) {
  nlohmann::ordered_json json{{"images", result.images()},
                              {"correct", result.correct()},
                              {"top1", result.top1()},
                              {"top5", result.top5()},
                              {"loss", result.mean_loss()}};
  if (result.unanswered() > 0) json["unanswered"] = result.unanswered();
  auto& rows = json["confusion"] = nlohmann::ordered_json::array();
  const std::int64_t kept = result.has_confusion() ? result.classes() : 0;
  for (std::int64_t label = 0; label < kept; ++label) {
    auto row = nlohmann::ordered_json::array();
    for (std::int64_t answer = 0; answer < kept; ++answer) {
      row.push_back(result.confusion(label, answer));
    }
    rows.push_back(std::move(row));
  }
  json["class_names"] = std::vector<std::string>(class_names.begin(), class_names.end());
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace nibble::inline run_folder
