// SPDX-License-Identifier: Apache-2.0
// How well a model did: counts that do not depend on how the images came in.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nibble::inline run_folder {

// The answer is the class with the largest logit, the first of equal ones. A label is among the
// best five when fewer than five classes are larger, or equal and before it. A row with a NaN has
// no answer and counts as wrong.
class Classification {
 public:
  explicit Classification(std::int64_t classes);

  // Logits (n, classes) row by row, labels 0 to classes - 1. The loss of an image is its softmax
  // cross-entropy in double; another loss is given as one number an image. Losses are added image
  // after image, so batches and threads do not matter.
  void add(std::span<const float> logits, std::span<const std::int32_t> labels);
  void add(std::span<const float> logits, std::span<const std::int32_t> labels,
           std::span<const double> losses);

  std::int64_t classes() const { return classes_; }
  std::int64_t images() const { return images_; }
  std::int64_t correct() const { return correct_; }
  std::int64_t correct5() const { return correct5_; }
  std::int64_t unanswered() const { return unanswered_; }  // rows with a NaN
  double top1() const;                                     // a share from 0 to 1; 0 without images
  double top5() const;
  double mean_loss() const;
  bool has_confusion() const;  // the matrix is kept for up to 4,096 classes
  // Images of class `label` that were taken for `answer`.
  std::int64_t confusion(std::int64_t label, std::int64_t answer) const;

 private:
  void check(std::span<const float> logits, std::span<const std::int32_t> labels) const;

  std::int64_t classes_;
  std::int64_t images_ = 0;
  std::int64_t correct_ = 0;
  std::int64_t correct5_ = 0;
  std::int64_t unanswered_ = 0;
  double loss_sum_ = 0;
  std::vector<std::int64_t> confusion_;
};

// Softmax cross-entropy of one row in double: log Σ exp(x_j - max) - (x_label - max).
double cross_entropy(std::span<const float> logits, std::int32_t label);

struct Evaluation {
  std::int64_t images = 0;
  double loss = 0;                        // mean over the images
  std::optional<Classification> classes;  // empty for a regression
};

struct NamedEvaluation {
  std::string name;
  Evaluation evaluation;
};

// {"images", "correct", "top1", "top5", "loss", "confusion", "class_names"}; names may be empty,
// and "unanswered" comes with them where it is not 0.
std::string to_json(const Classification& result, std::span<const std::string> class_names = {});

}  // namespace nibble::inline run_folder
