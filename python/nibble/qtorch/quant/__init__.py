# SPDX-License-Identifier: Apache-2.0
"""QPyTorch's quantization functions and modules."""

from .posit_function import (
    bfloat16_posit8_quantize,
    convert_to_posit,
    posit_quantize,
    posit_sigmoid,
    posit_tanh,
    posit_tanh_enhanced,
)
from .quant_function import block_quantize, fixed_point_quantize, float_quantize, quantizer
from .quant_module import Quantizer
from .table_function import (
    act_format_quantize,
    configurable_table_quantize,
    configurable_table_quantize_geomean,
    configurable_table_quantize_rounding_hint,
    new_format_quantize,
)

__all__ = [
    "Quantizer",
    "act_format_quantize",
    "bfloat16_posit8_quantize",
    "block_quantize",
    "configurable_table_quantize",
    "configurable_table_quantize_geomean",
    "configurable_table_quantize_rounding_hint",
    "convert_to_posit",
    "fixed_point_quantize",
    "float_quantize",
    "new_format_quantize",
    "posit_quantize",
    "posit_sigmoid",
    "posit_tanh",
    "posit_tanh_enhanced",
    "quantizer",
]
