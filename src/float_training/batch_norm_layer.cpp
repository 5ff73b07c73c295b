// SPDX-License-Identifier: Apache-2.0
// Batch normalization over the whole batch: sums by slice in double, added in slice order.
#include <cmath>
#include <vector>

#include "float_training/layer.h"

namespace nibble::inline float_training {
namespace {

// Rows whose sums are kept in float before they join the double ones.
constexpr std::int64_t kBlock = 16;

class BatchNormLayer final : public Layer {
 public:
  explicit BatchNormLayer(const LayerSettings& settings)
      : op_(std::get<BatchNorm>(settings.node.op)),
        channels_(settings.output[settings.output.rank() - 1]),
        rows_(settings.output.elements() / channels_) {}

  bool keeps_inputs() const override { return true; }

  std::vector<LayerParameter*> parameters() override {
    return {&scale_, &shift_, &mean_, &variance_};
  }

  void forward(const ForwardArguments& arguments) override {
    if (arguments.pass.is_training) {
      measure(arguments);
    } else {
      const auto mean = mean_.value.as<float>();
      const auto variance = variance_.value.as<float>();
      batch_mean_.assign(mean.begin(), mean.end());
      set_inverse([&](std::size_t c) { return static_cast<double>(variance[c]); });
    }
    const float* scale = scale_.value.as<float>().data();
    const float* shift = shift_.value.as<float>().data();
    std::vector<float> factor(size());
    std::vector<float> offset(size());
    for (std::size_t c = 0; c < size(); ++c) {
      factor[c] = scale[c] * inverse_[c];
      offset[c] = shift[c] - batch_mean_[c] * factor[c];
    }
    for_each_row_block(arguments.pass, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const float* x = arguments.inputs[0] + row * channels_;
        float* y = arguments.output + row * channels_;
        for (std::int64_t c = 0; c < channels_; ++c) y[c] = x[c] * factor[c] + offset[c];
      }
    });
  }

  // With x̂ = (x - mean)·inverse and m rows: dshift = Σ dy, dscale = Σ dy·x̂,
  // dx = scale·inverse·(dy - dshift/m - x̂·dscale/m).
  void backward(const BackwardArguments& arguments) override {
    const float* x = arguments.inputs[0];
    const float* dy = arguments.output_error;
    const auto [shift_sum, scale_sum] =
        sum_two(arguments.pass, [&](std::int64_t row, float* a, float* b) {
          const float* xr = x + row * channels_;
          const float* dyr = dy + row * channels_;
          for (std::int64_t c = 0; c < channels_; ++c) {
            a[c] += dyr[c];
            b[c] += dyr[c] * ((xr[c] - batch_mean_[c]) * inverse_[c]);
          }
        });
    float* dscale = scale_.gradient.as<float>().data();
    float* dshift = shift_.gradient.as<float>().data();
    const auto count = static_cast<double>(arguments.pass.slices.images * rows_);
    std::vector<float> factor(size());
    std::vector<float> mean_error(size());
    std::vector<float> slope(size());
    for (std::size_t c = 0; c < size(); ++c) {
      dshift[c] = static_cast<float>(shift_sum[c]);
      dscale[c] = static_cast<float>(scale_sum[c]);
      factor[c] = scale_.value.as<float>()[c] * inverse_[c];
      mean_error[c] = static_cast<float>(shift_sum[c] / count);
      slope[c] = static_cast<float>(scale_sum[c] / count) * inverse_[c];
    }
    if (arguments.input_errors[0] == nullptr) return;
    for_each_row_block(arguments.pass, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const float* xr = x + row * channels_;
        const float* dyr = dy + row * channels_;
        float* dx = arguments.input_errors[0] + row * channels_;
        for (std::int64_t c = 0; c < channels_; ++c) {
          dx[c] = factor[c] * (dyr[c] - mean_error[c] - (xr[c] - batch_mean_[c]) * slope[c]);
        }
      }
    });
  }

 private:
  std::size_t size() const { return static_cast<std::size_t>(channels_); }

  template <class VarianceOf>
  void set_inverse(const VarianceOf& variance_of) {
    inverse_.resize(size());
    for (std::size_t c = 0; c < size(); ++c) {
      inverse_[c] =
          static_cast<float>(1.0 / std::sqrt(variance_of(c) + static_cast<double>(op_.epsilon)));
    }
  }

  // The batch's moments, about the running mean so that squares stay small.
  void measure(const ForwardArguments& arguments) {
    float* running_mean = mean_.value.as<float>().data();
    float* running_variance = variance_.value.as<float>().data();
    const float* x = arguments.inputs[0];
    const auto [sum, squares] = sum_two(arguments.pass, [&](std::int64_t row, float* a, float* b) {
      const float* xr = x + row * channels_;
      for (std::int64_t c = 0; c < channels_; ++c) {
        const float centred = xr[c] - running_mean[c];
        a[c] += centred;
        b[c] += centred * centred;
      }
    });
    const auto count = static_cast<double>(arguments.pass.slices.images * rows_);
    const auto momentum = static_cast<double>(op_.momentum);
    const double unbiased = count > 1 ? count / (count - 1) : 1.0;
    batch_mean_.resize(size());
    std::vector<double> variance(size());
    for (std::size_t c = 0; c < size(); ++c) {
      const double mean = sum[c] / count;
      variance[c] = std::max(0.0, squares[c] / count - mean * mean);
      batch_mean_[c] = static_cast<float>(static_cast<double>(running_mean[c]) + mean);
      running_variance[c] =
          static_cast<float>((1 - momentum) * static_cast<double>(running_variance[c]) +
                             momentum * variance[c] * unbiased);
    }
    for (std::size_t c = 0; c < size(); ++c) {
      running_mean[c] = static_cast<float>((1 - momentum) * static_cast<double>(running_mean[c]) +
                                           momentum * static_cast<double>(batch_mean_[c]));
    }
    set_inverse([&](std::size_t c) { return variance[c]; });
  }

  using Sums = std::vector<double>;

  // Two sums a channel over all rows: add(row, a, b) adds a row to both.
  template <class AddRow>
  std::pair<Sums, Sums> sum_two(const Pass& pass, const AddRow& add) const {
    const Slices& slices = pass.slices;
    std::vector<Sums> parts(static_cast<std::size_t>(slices.count()));
    for_each_task(slices.count(), [&](std::int64_t slice) {
      Sums& part = parts[static_cast<std::size_t>(slice)];
      part.assign(2 * size(), 0.0);
      std::vector<float> block(2 * size());
      const std::int64_t end = slices.end(slice) * rows_;
      for (std::int64_t row = slices.begin(slice) * rows_; row < end; row += kBlock) {
        std::ranges::fill(block, 0.0F);
        for (std::int64_t r = row; r < std::min(row + kBlock, end); ++r) {
          add(r, block.data(), block.data() + channels_);
        }
        for (std::size_t i = 0; i < block.size(); ++i) part[i] += static_cast<double>(block[i]);
      }
    });
    Sums total(2 * size(), 0.0);
    for (const Sums& part : parts) {
      for (std::size_t i = 0; i < total.size(); ++i) total[i] += part[i];
    }
    return {Sums(total.begin(), total.begin() + channels_),
            Sums(total.begin() + channels_, total.end())};
  }

  template <class Body>
  void for_each_row_block(const Pass& pass, const Body& body) const {
    for_each_task(pass.slices.images,
                  [&](std::int64_t image) { body(image * rows_, (image + 1) * rows_); });
  }

  BatchNorm op_;
  std::int64_t channels_;
  std::int64_t rows_;  // an image
  LayerParameter scale_;
  LayerParameter shift_;
  LayerParameter mean_;  // running moments: changed by forward in training
  LayerParameter variance_;
  std::vector<float> batch_mean_;  // of the last pass
  std::vector<float> inverse_;     // 1 / √(variance + epsilon)
};

}  // namespace

std::unique_ptr<Layer> make_batch_norm(const LayerSettings& settings) {
  return std::make_unique<BatchNormLayer>(settings);
}

}  // namespace nibble::inline float_training
