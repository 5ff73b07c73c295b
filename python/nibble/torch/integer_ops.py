# SPDX-License-Identifier: Apache-2.0
"""The products of `nibble.integers` as torch.library knows them, for graphs of torch.compile and torch.export."""

# No annotations as texts here: torch reads the arguments of the operations from them.
from typing import List

import torch

from nibble import integers

from . import ops


def _matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return integers.matmul(a, b)


def _conv2d(
    x: torch.Tensor, weight: torch.Tensor, stride: List[int], padding: List[int], dilation: List[int], groups: int
) -> torch.Tensor:
    return integers.conv2d(x, weight, stride, padding, dilation, groups)


def _input_gradient(
    error: torch.Tensor,
    weight: torch.Tensor,
    shape: List[int],
    stride: List[int],
    padding: List[int],
    dilation: List[int],
    groups: int,
) -> torch.Tensor:
    return integers.conv2d_input_gradient(error, weight, shape, stride, padding, dilation, groups)


def _weight_gradient(
    error: torch.Tensor,
    x: torch.Tensor,
    shape: List[int],
    stride: List[int],
    padding: List[int],
    dilation: List[int],
    groups: int,
) -> torch.Tensor:
    return integers.conv2d_weight_gradient(error, x, shape, stride, padding, dilation, groups)


if ops.HAS_OPS:
    floats = torch.nn.functional.conv2d
    for name, function, shape_of in (
        ("int8_matmul", _matmul, lambda a, b: (a.shape[0], b.shape[1])),
        ("int8_conv2d", _conv2d, lambda x, w, *rest: floats(x.float(), w.float(), None, *rest).shape),
        ("int8_conv2d_input_gradient", _input_gradient, lambda error, weight, shape, *rest: shape),
        ("int8_conv2d_weight_gradient", _weight_gradient, lambda error, x, shape, *rest: shape),
    ):
        operation = torch.library.custom_op(f"nibble::{name}", function, mutates_args=())
        operation.register_fake(
            lambda first, *rest, shape_of=shape_of: first.new_empty(shape_of(first, *rest), dtype=torch.int32)
        )
