// SPDX-License-Identifier: Apache-2.0
// For tests: the formats and roundings that every path is tested with.
#pragma once

#include <string>
#include <vector>

#include "nibble/numerics/format.h"

namespace nibble::inline kernels {

inline std::vector<std::string> formats_under_test() {
  std::vector<std::string> texts;
  for (const NamedFormat& named : named_formats()) texts.emplace_back(named.name);
  for (const char* text : {"float(4,3)",
                           "e6m9",
                           "e1m3fnuz",
                           "e4m0",
                           "e3m0b2fn",
                           "float(5,4,bias=3,specials=finite)",
                           "fp16(subnormals=off)",
                           "e4m3(subnormals=off)",
                           "p3109(8,4)",
                           "p3109(8,3,unsigned)",
                           "p3109(6,1)",
                           "float(4,3,specials=finite,unsigned)",
                           "e4m3(scale=0.3)",
                           "e5m2(scale=1e-20)",
                           "e2m1(scale=0.7)",
                           "fp16(scale=7e-3)",
                           "fixed(8,4)",
                           "fixed(8,4,symmetric)",
                           "fixed(8,0)",
                           "fixed(8,-3)",
                           "fixed(16,8,clamp=off)",
                           "fixed(4,30)",
                           "fixed(25,12)",
                           "fixed(32,16,clamp=off)",
                           "fixed(1,0)",
                           "int2",
                           "int16",
                           "int8(scale=0.1)",
                           "int8(scale=3e-30)",
                           "int16(scale=0.01)",
                           "fixed(8,4,scale=0.3)",
                           "uint4(scale=0.37,zero=8)",
                           "uint8(scale=0.05,zero=3)",
                           "int4(scale=absmax,block=64)",
                           "int8(scale=absmax)",
                           "int8(scale=absmax,axis=0)",
                           "int4(scale=absmax,axis=1)",
                           "uint8(scale=minmax)",
                           "uint8(scale=minmax,axis=1)",
                           "int8(scale=absmax,block=24)",
                           "uint8(scale=minmax,block=16)",
                           "bfp(8)",
                           "bfp(8,axis=0)",
                           "bfp(4,axis=1)",
                           "bfp(8,block=16)",
                           "bfp(5,block=7)",
                           "bfp(8,block=32,axis=0)",
                           "mxfp4(rule=rceil)",
                           "mxfp4(rule=ceil)",
                           "mxfp4(rule=even)",
                           "mxfp8(rule=rceil)",
                           "mxfp6-e3m2(rule=even,block=16)",
                           "mxint8(rule=even)",
                           "mxint8(rule=rceil)",
                           "mxfp8(axis=0)",
                           "nvfp4(axis=0)",
                           "nvfp4(block=32)",
                           "nvfp4(tensor_scale=0.004)",
                           "nvfp4(tensor_scale=1e-38)",
                           "nvfp4(tensor_scale=0.01,axis=0)",
                           "e4m3(scale=two-level,tensor_scale=2,block=32)",
                           "e8m7(scale=pow2,block=32)",
                           "fixed(8,8,scale=pow2)",
                           "posit(2,0)",
                           "posit(3,1)",
                           "posit(8,0)",
                           "posit(8,1)",
                           "posit(8,2)",
                           "posit(8,3)",
                           "posit(16,0)",
                           "posit(16,1)",
                           "posit(16,2)",
                           "posit(17,3)",
                           "posit(32,2)",
                           "posit(8,1,scale=0.25)",
                           "posit(8,2,scale=absmax,block=32)",
                           "codebook(nf4)",
                           "codebook(new_format)",
                           "codebook(act_format)",
                           "codebook(nf4,scale=0.7)",
                           "codebook([-1,1])",
                           "codebook([-3,-2,5])",
                           "codebook([1e-30,1,1e30])",
                           "codebook([0.5,1,2,4],signed)"}) {
    texts.emplace_back(text);
  }
  return texts;
}

inline std::vector<Rounding> all_roundings() {
  return {{RoundingMode::nearest_even},  {RoundingMode::nearest_away},
          {RoundingMode::toward_zero},   {RoundingMode::up},
          {RoundingMode::down},          {RoundingMode::to_odd},
          {RoundingMode::stochastic},    {RoundingMode::stochastic, 16},
          {RoundingMode::stochastic, 5}, {RoundingMode::stochastic, 20}};
}

}  // namespace nibble::inline kernels
