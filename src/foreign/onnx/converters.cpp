// SPDX-License-Identifier: Apache-2.0
// Which converter an operation of ONNX has.
#include "foreign/onnx/converters.h"

#include <utility>

namespace nibble::inline foreign {

Converter find_converter(std::string_view domain, std::string_view op) {
  constexpr std::pair<std::string_view, Converter> kConverters[] = {
      {"Add", convert_add},
      {"AveragePool", convert_average_pool},
      {"BatchNormalization", convert_batch_norm},
      {"Cast", convert_cast},
      {"Clip", convert_clip},
      {"Concat", convert_concat},
      {"Conv", convert_conv},
      {"DequantizeLinear", convert_dequantize_linear},
      {"Dropout", convert_identity},
      {"Flatten", convert_flatten},
      {"Gemm", convert_gemm},
      {"GlobalAveragePool", convert_global_average_pool},
      {"Identity", convert_identity},
      {"MatMul", convert_mat_mul},
      {"MaxPool", convert_max_pool},
      {"Pad", convert_pad},
      {"QLinearConv", convert_q_linear_conv},
      {"QLinearMatMul", convert_q_linear_mat_mul},
      {"QuantizeLinear", convert_quantize_linear},
      {"ReduceMean", convert_reduce_mean},
      {"Relu", convert_relu},
      {"Reshape", convert_reshape},
      {"Shape", convert_shape},
      {"Slice", convert_slice},
      {"Squeeze", convert_squeeze},
      {"Sub", convert_sub},
      {"Sum", convert_sum},
      {"Unsqueeze", convert_unsqueeze},
  };
  constexpr std::pair<std::string_view, Converter> kMicrosoft[] = {
      {"QGemm", convert_q_gemm},
      {"QLinearAdd", convert_q_linear_add},
      {"QLinearAveragePool", convert_q_linear_average_pool},
      {"QLinearGlobalAveragePool", convert_q_linear_global_average_pool},
      {"QuantizeLinear", convert_quantize_linear},
      {"DequantizeLinear", convert_dequantize_linear},
  };
  const auto find = [&](const auto& list) -> Converter {
    for (const auto& [name, converter] : list) {
      if (name == op) return converter;
    }
    return nullptr;
  };
  if (domain.empty()) return find(kConverters);
  return domain == "com.microsoft" ? find(kMicrosoft) : nullptr;
}

}  // namespace nibble::inline foreign
