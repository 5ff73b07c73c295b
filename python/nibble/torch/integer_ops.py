# SPDX-License-Identifier: Apache-2.0
"""The products of `nibble.integers` as torch.library knows them, for graphs of torch.compile and torch.export."""

from __future__ import annotations

import functools

import torch

from nibble import integers

from . import ops
from .functions import each_member

GEOMETRY = "int[] stride, int[] padding, int[] dilation, int groups"


def _convolved(x: torch.Tensor, weight: torch.Tensor, *rest: object) -> torch.Size:
    return torch.nn.functional.conv2d(x.float(), weight.float(), None, *rest).shape


# name, function, arguments, shape of the result
OPERATIONS = (
    ("int8_matmul", integers.matmul, "Tensor a, Tensor b", lambda a, b: (a.shape[0], b.shape[1])),
    ("int8_conv2d", integers.conv2d, f"Tensor x, Tensor weight, {GEOMETRY}", _convolved),
    (
        "int8_conv2d_input_gradient",
        integers.conv2d_input_gradient,
        f"Tensor error, Tensor weight, SymInt[] shape, {GEOMETRY}",
        lambda error, weight, shape, *rest: shape,
    ),
    (
        "int8_conv2d_weight_gradient",
        integers.conv2d_weight_gradient,
        f"Tensor error, Tensor x, SymInt[] shape, {GEOMETRY}",
        lambda error, x, shape, *rest: shape,
    ),
)

if ops.HAS_OPS:
    for name, function, arguments, shape_of in OPERATIONS:
        schema = f"({arguments}) -> Tensor"
        operation = torch.library.custom_op(f"nibble::{name}", function, mutates_args=(), schema=schema)
        operation.register_fake(
            lambda first, *rest, shape_of=shape_of: first.new_empty(shape_of(first, *rest), dtype=torch.int32)
        )
        operation.register_vmap(functools.partial(each_member, operation))
