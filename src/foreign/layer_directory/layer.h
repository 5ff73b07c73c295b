// SPDX-License-Identifier: Apache-2.0
// The layers of a layer directory with their keys, and their text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "foreign/layer_directory/layer_record.h"
#include "nibble/graph/op.h"

namespace nibble::inline foreign {

enum class StoredType : std::uint8_t { s4, s8, s16, u16, s32, f32 };
std::string_view name_of(StoredType type);

// A tensor as the text declares it: "weight=s4,4:64 64 1 1" and the path of its bytes.
struct StoredTensor {
  StoredType type = StoredType::s8;
  std::vector<std::int64_t> extents;
  std::string path;
  bool operator==(const StoredTensor&) const = default;
};

struct NetworkLayer {
  static constexpr std::string_view kType = "ResNetQuantized";
  std::string mode;
  bool operator==(const NetworkLayer&) const = default;
};
struct ConvLayer {
  static constexpr std::string_view kType = "Conv2d";
  std::string mode;
  std::int64_t in_channels = 0;
  std::int64_t out_channels = 0;
  Extent2 kernel;
  Extent2 stride;
  Extent2 padding;
  Extent2 dilation;
  std::int64_t groups = 1;
  StoredTensor bias;
  StoredTensor weight;  // out, in / groups, rows, columns
  bool operator==(const ConvLayer&) const = default;
};
struct ReluLayer {
  static constexpr std::string_view kType = "ReLU";
  std::string mode;
  bool is_in_place = true;
  bool operator==(const ReluLayer&) const = default;
};
struct QuantizeLayer {
  static constexpr std::string_view kType = "Quantize";
  std::string mode;
  std::int64_t output_bits = 0;
  std::int64_t shift = 0;
  std::int64_t max_factor = 0;
  StoredTensor factors;
  bool operator==(const QuantizeLayer&) const = default;
};
struct MaxPoolLayer {
  static constexpr std::string_view kType = "MaxPool2d";
  std::string mode;
  std::int64_t kernel = 0;
  std::int64_t stride = 0;
  std::int64_t padding = 0;
  std::int64_t dilation = 1;
  bool returns_indices = false;
  bool rounds_up = false;
  bool operator==(const MaxPoolLayer&) const = default;
};
struct AveragePoolLayer {
  static constexpr std::string_view kType = "AvgPool2d";
  std::string mode;
  std::int64_t kernel = 0;
  std::int64_t stride = 0;
  std::int64_t padding = 0;
  bool rounds_up = false;
  bool counts_padding = true;
  bool operator==(const AveragePoolLayer&) const = default;
};
struct LinearLayer {
  static constexpr std::string_view kType = "Linear";
  std::string mode;
  std::int64_t in_features = 0;
  std::int64_t out_features = 0;
  StoredTensor bias;
  StoredTensor weight;
  bool operator==(const LinearLayer&) const = default;
};
struct ScaleLayer {
  static constexpr std::string_view kType = "Scale";
  std::string mode;
  StoredTensor divisors;
  bool operator==(const ScaleLayer&) const = default;
};
struct SequentialLayer {
  static constexpr std::string_view kType = "Sequential";
  std::int64_t children = 0;
  bool operator==(const SequentialLayer&) const = default;
};
struct BottleneckLayer {
  static constexpr std::string_view kType = "BottleneckQuantized";
  std::int64_t stride = 1;
  bool has_downsample = true;
  bool operator==(const BottleneckLayer&) const = default;
};

using Layer =
    std::variant<NetworkLayer, ConvLayer, ReluLayer, QuantizeLayer, MaxPoolLayer, AveragePoolLayer,
                 LinearLayer, ScaleLayer, SequentialLayer, BottleneckLayer>;

// Checks each value by itself: numbers are 0 to 2^31 - 1, extents of tensors 1 or more. Unknown and
// missing keys are errors.
Layer parse_layer(const LayerRecord& record);

// With the keys in their usual order.
std::string to_text(const Layer& layer);

// Checks of what a layer says against what it must be; each throws with file and line.

// `why` follows the expected number.
void check_equal(const LayerRecord& record, std::string_view key, std::int64_t got,
                 std::int64_t expected, std::string_view why);
void check_false(const LayerRecord& record, std::string_view key, bool got);
void check_true(const LayerRecord& record, std::string_view key, bool got);
void check_mode(const LayerRecord& record, const std::string& got, const std::string& expected);

// One of the types, and the extents.
void check_tensor(const LayerRecord& record, std::string_view key, const StoredTensor& got,
                  const std::vector<StoredType>& types, const std::vector<std::int64_t>& extents);

}  // namespace nibble::inline foreign
