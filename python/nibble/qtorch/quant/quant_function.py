# SPDX-License-Identifier: Apache-2.0
"""Fixed point, block floating point and floating point, and quantizers of them.

`rounding` is "nearest", "stochastic", or a rounding of Nibble such as "nearest-even" or "toward-zero". Stochastic
rounding draws its seed from torch's default CPU generator, whatever the device, unless `seed` is given.
"""

from __future__ import annotations

from typing import Any, Dict, Optional

import torch

from ...errors import UsageError
from ...torch.quantizer import Hooks, QuantizerFunction, make_rule
from ..arithmetic import number_of, round_number, rounder_of
from ..number import BlockFloatingPoint, FixedPoint, FloatingPoint, Number, check_bool
from .posit_function import *  # noqa: F401,F403  QPyTorch's fork has all functions in this module
from .table_function import *  # noqa: F401,F403


def fixed_point_quantize(
    x: torch.Tensor,
    wl: int,
    fl: int,
    clamp: bool = True,
    symmetric: bool = False,
    rounding: str = "stochastic",
    *,
    seed: Optional[int] = None,
) -> torch.Tensor:
    """wl bits of which fl are behind the point; "nearest" ties to even.

    >>> fixed_point_quantize(torch.tensor([0.3, 9.9, -9.9]), wl=8, fl=4, rounding="nearest")
    tensor([ 0.3125,  7.9375, -8.0000])
    """
    return round_number(x, number_of(FixedPoint, wl, fl, clamp, symmetric), rounding, seed, "fixed_point_quantize")


def block_quantize(
    x: torch.Tensor, wl: int, dim: int = -1, rounding: str = "stochastic", *, seed: Optional[int] = None
) -> torch.Tensor:
    """wl bits under one exponent for the tensor, or for each index along dim; "nearest" ties to even.

    >>> block_quantize(torch.tensor([[1.0, 0.3], [100.0, 0.3]]), wl=4, dim=0, rounding="nearest").tolist()
    [[1.0, 0.25], [96.0, 0.0]]
    """
    number = number_of(BlockFloatingPoint, wl, dim)
    if isinstance(x, torch.Tensor) and dim >= max(x.dim(), 1):
        raise UsageError(f"dim: got {dim} for a tensor of {x.dim()} dimensions, expected less")
    return round_number(x, number, rounding, seed, "block_quantize")


def float_quantize(
    x: torch.Tensor, exp: int, man: int, rounding: str = "stochastic", *, seed: Optional[int] = None
) -> torch.Tensor:
    """exp exponent bits, subnormals, finite below 8; from 8 on fp32's range. "nearest" ties away from zero.

    >>> float_quantize(torch.tensor([0.3, 3.1416, 1000.0]), exp=4, man=3, rounding="nearest").tolist()
    [0.3125, 3.25, 480.0]
    """
    return round_number(x, number_of(FloatingPoint, exp, man), rounding, seed, "float_quantize")


def quantizer_parts(
    forward_number: Optional[Number],
    backward_number: Optional[Number],
    forward_rounding: str,
    backward_rounding: str,
    clamping_grad_zero: bool,
    backward_hooks: Hooks,
) -> Dict[str, Any]:
    """The arguments of a quantizer of nibble.torch."""
    check_bool("clamping_grad_zero", clamping_grad_zero)
    forward = rounder_of(forward_number, forward_rounding, "forward_number")
    backward = rounder_of(backward_number, backward_rounding, "backward_number")
    is_clamped = clamping_grad_zero and forward is not None
    return dict(
        forward=forward,
        backward=backward,
        hooks=backward_hooks,
        gradient="clamped" if is_clamped else "straight-through",
    )


def quantizer(
    forward_number: Optional[Number] = None,
    backward_number: Optional[Number] = None,
    forward_rounding: str = "stochastic",
    backward_rounding: str = "stochastic",
    clamping_grad_zero: bool = False,
    backward_hooks: Hooks = (),
    *,
    seed: Optional[int] = None,
) -> QuantizerFunction:
    """A function that rounds forward and rounds the gradient backward.

    clamping_grad_zero zeroes the gradient of clamped elements, and backward_hooks see the gradient before it is
    rounded, with or without a backward_number.

    >>> rounds = quantizer(FixedPoint(8, 4), forward_rounding="nearest")
    >>> rounds(torch.tensor([0.3, 1.27]))
    tensor([0.3125, 1.2500])
    """
    parts = quantizer_parts(
        forward_number, backward_number, forward_rounding, backward_rounding, clamping_grad_zero, backward_hooks
    )
    return QuantizerFunction(make_rule(**parts), seed)
