// SPDX-License-Identifier: Apache-2.0
// For tests: small networks by chance, of all layers that integer training has.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "nibble/core/philox.h"

namespace nibble::inline integer_step {

// What not every user of such networks has.
struct RandomTrainLayers {
  bool has_norms = false;    // of about half of the convolutions and sums
  bool has_concats = false;  // in the place of about half of the sums
};

class RandomTrainNetwork {
 public:
  explicit RandomTrainNetwork(std::uint64_t seed, const RandomTrainLayers& layers = {})
      : key_{seed, 0, 0}, layers_(layers) {}

  // Pictures are 7×6 with 2 channels, classes are 5.
  std::string toml() {
    const int count = in(3, 9);
    if (layers_.has_norms) layer("batch_norm", "");
    for (int i = 0; i < count; ++i) add_layer();
    if (in(0, 1) == 0) {
      layer("global_average_pool", "");
    } else {
      layer("flatten", "");
    }
    if (in(0, 1) == 0) {
      layer("linear", fmt::format(", features = {}{}", in(3, 80), bias()));
      layer("relu", "");
    }
    layer("linear", fmt::format(", features = 5{}", bias()));
    return "name = \"by-chance\"\ninput = [7, 6, 2]\nlayers = [\n" + text_ +
           fmt::format("  {{ op = \"{}\" }},\n]\n",
                       in(0, 3) == 0 ? "squared_error" : "softmax_cross_entropy");
  }

 private:
  struct Value {
    std::string name;
    int height;
    int width;
    int channels;
    bool operator==(const Value&) const = default;
  };

  int in(int least, int most) {
    return least +
           static_cast<int>(draw32(key_, next_++) % static_cast<std::uint32_t>(most - least + 1));
  }
  std::string bias() { return in(0, 1) == 0 ? ", bias = true" : ""; }

  void layer(std::string_view op, const std::string& more) {
    now_.name = fmt::format("n{}", values_.size());
    text_ += fmt::format("  {{ op = \"{}\", name = \"{}\"{} }},\n", op, now_.name, more);
    values_.push_back(now_);
  }

  static int after(int extent, int kernel, int stride, int padding, int dilation = 1) {
    return (extent + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
  }

  void add_layer() {
    switch (in(0, 9)) {
      case 0:
      case 1:
      case 2:
        return add_convolution();
      case 3:
        return layer(in(0, 2) == 0 ? "relu6" : "relu", "");
      case 4:
        return layer("bias", "");
      case 5:
        return add_pool("max_pool", "");
      case 6:
        return add_pool("average_pool", in(0, 1) == 0 ? ", counts_padding = false" : "");
      case 7:
        return layer("dropout", in(0, 2) == 0 ? ", share = 0.75" : "");
      case 8:
        return add_box();
      default:
        return add_sum();
    }
  }

  void add_convolution() {
    const int kernel_y = in(1, 3);
    const int kernel_x = in(1, 3);
    const int stride = in(1, 2);
    const int padding = in(0, 2);
    const int dilation = in(1, 2);
    const int height = after(now_.height, kernel_y, stride, padding, dilation);
    const int width = after(now_.width, kernel_x, stride, padding, dilation);
    if (now_.height + 2 * padding <= dilation * (kernel_y - 1) ||
        now_.width + 2 * padding <= dilation * (kernel_x - 1))
      return;
    const int groups =
        now_.channels % 2 == 0 && in(0, 2) == 0 ? (in(0, 1) == 0 ? 2 : now_.channels) : 1;
    const int channels = groups * in(1, groups > 4 ? 2 : 6);
    now_ = {"", height, width, channels};
    layer("conv2d",
          fmt::format(", channels = {}, kernel = [{}, {}], stride = {}, padding = {}, "
                      "dilation = {}, groups = {}{}",
                      channels, kernel_y, kernel_x, stride, padding, dilation, groups, bias()));
    if (layers_.has_norms && in(0, 1) == 0) layer("batch_norm", "");
  }

  void add_pool(std::string_view op, const std::string& more) {
    const int kernel = in(1, 3);
    const int stride = in(1, 3);
    const int padding = in(0, kernel / 2);
    if (now_.height + 2 * padding < kernel || now_.width + 2 * padding < kernel) return;
    now_.height = after(now_.height, kernel, stride, padding);
    now_.width = after(now_.width, kernel, stride, padding);
    layer(op,
          fmt::format(", kernel = {}, stride = {}, padding = {}{}", kernel, stride, padding, more));
  }

  void add_box() {
    if (in(0, 1) == 0) {
      const int before = in(0, 1);
      const int after = in(0, 2);
      now_.height += before;
      now_.width += before + after;
      now_.channels += after;
      return layer("pad",
                   fmt::format(", before = [{0}, {0}, 0], after = [0, {1}, {1}]", before, after));
    }
    if (now_.height < 3 || now_.width < 3) return;
    now_.height /= 2;
    now_.width -= 1;
    layer("slice", ", begin = [1, 1, 0], step = [2, 1, 1]");
  }

  // Two or three values of one height and width, the last one among them.
  void add_concat() {
    constexpr int kMostChannels = 40;
    std::vector<Value> fitting;
    for (const Value& each : values_) {
      if (each.height == now_.height && each.width == now_.width) fitting.push_back(each);
    }
    std::string names = fmt::format("\"{}\"", now_.name);
    const int own = now_.channels;
    for (int i = in(1, 2); i > 0; --i) {
      const int place = in(0, static_cast<int>(fitting.size()) - 1);
      const Value& one = fitting[static_cast<std::size_t>(place)];
      if (now_.channels + one.channels > kMostChannels) continue;
      const bool is_first = in(0, 1) == 0;
      names = is_first ? fmt::format("\"{}\", {}", one.name, names)
                       : fmt::format("{}, \"{}\"", names, one.name);
      now_.channels += one.channels;
    }
    if (now_.channels == own) return;
    layer("concat", fmt::format(", from = [{}]", names));
  }

  // With values that have the same extents, the last one among them.
  void add_sum() {
    if (layers_.has_concats && !values_.empty() && in(0, 1) == 0) return add_concat();
    std::vector<std::string> names;
    for (const Value& each : values_) {
      if (each.height == now_.height && each.width == now_.width && each.channels == now_.channels)
        names.push_back(each.name);
    }
    if (names.empty()) return;
    const int first = in(0, static_cast<int>(names.size()) - 1);
    layer("add", fmt::format(", from = [\"{}\", \"{}\"]", names[static_cast<std::size_t>(first)],
                             names.back()));
    if (layers_.has_norms && in(0, 1) == 0) layer("batch_norm", "");
  }

  RandomKey key_;
  RandomTrainLayers layers_;
  std::uint64_t next_ = 0;
  Value now_{"", 7, 6, 2};
  std::vector<Value> values_;
  std::string text_;
};

}  // namespace nibble::inline integer_step
