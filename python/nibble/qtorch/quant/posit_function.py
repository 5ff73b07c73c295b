# SPDX-License-Identifier: Apache-2.0
"""Posits of QPyTorch's fork, and sigmoid and tanh made from their bits."""

from __future__ import annotations

from typing import Callable, Optional

import torch

import nibble

from ...errors import ArgumentTypeError, UsageError
from .. import posit_sigmoid as bits
from ..arithmetic import check_rounding, check_tensor, format_of, number_of, round_number
from ..number import Posit, Positbf, check_bool, check_int

__all__ = [
    "bfloat16_posit8_quantize",
    "convert_to_posit",
    "posit_quantize",
    "posit_sigmoid",
    "posit_tanh",
    "posit_tanh_enhanced",
]


def posit_quantize(
    x: torch.Tensor, nsize: int, es: int, scale: float = 1.0, rounding: str = "nearest", *, seed: Optional[int] = None
) -> torch.Tensor:
    """posit(x · scale) / scale. Beyond maxpos and below minpos it saturates; infinity and NaN give NaN.

    >>> posit_quantize(torch.tensor([0.3, 3.1416, 1e9]), nsize=8, es=1).tolist()
    [0.296875, 3.125, 4096.0]
    """
    return round_number(x, number_of(Posit, nsize, es, scale), rounding, seed, "posit_quantize")


def bfloat16_posit8_quantize(
    x: torch.Tensor, nsize: int, es: int, scale: float = 1.0, rounding: str = "nearest", *, seed: Optional[int] = None
) -> torch.Tensor:
    """posit_quantize of a bfloat16 tensor to at most 8 bits.

    >>> bfloat16_posit8_quantize(torch.tensor([0.3, 3.1416], dtype=torch.bfloat16), nsize=6, es=1)
    tensor([0.3125, 3.0000], dtype=torch.bfloat16)
    """
    number = number_of(Positbf, nsize, es, scale)
    check_tensor(x, "bfloat16_posit8_quantize")
    if x.dtype != torch.bfloat16:
        raise ArgumentTypeError(f"bfloat16_posit8_quantize: got {x.dtype}, expected torch.bfloat16")
    return round_number(x, number, rounding, seed, "bfloat16_posit8_quantize")


def convert_to_posit(
    x: torch.Tensor, nsize: int, es: int, scale: float = 1.0, rounding: str = "nearest", *, left_aligned: bool = False
) -> torch.Tensor:
    """The codes of posit(x · scale) as int32: right-aligned, or in the fork's 16 bits with the posit at their top.

    >>> convert_to_posit(torch.tensor([1.0, -1.0]), nsize=8, es=1)
    tensor([ 64, 192], dtype=torch.int32)
    """
    number = Posit(nsize, es, scale)
    check_int("nsize", nsize, 2, 16)
    check_tensor(x, "convert_to_posit")
    check_bool("left_aligned", left_aligned)
    word = "nearest-even" if check_rounding(rounding) == "nearest" else rounding
    y = x.detach() if scale == 1 else x.detach().float() * scale
    codes = torch.as_tensor(nibble.encode(y, format_of(number.format), rounding=word).codes).to(torch.int32)
    codes = codes & ((1 << nsize) - 1)
    return codes << (16 - nsize) if left_aligned else codes


def _activation(
    x: torch.Tensor, nsize: int, rounding: str, where: str, function: Callable[[torch.Tensor, int], torch.Tensor]
) -> torch.Tensor:
    check_tensor(x, where)
    check_rounding(rounding)
    check_int("nsize", nsize)
    if nsize not in (8, 16):
        raise UsageError(f"nsize: got {nsize}, expected 8 or 16")
    if not x.is_floating_point():
        raise ArgumentTypeError(f"{where}: got {x.dtype}, expected a floating-point tensor")
    return function(x.detach().float(), nsize).to(x.dtype)


def posit_sigmoid(
    x: torch.Tensor, nsize: int, es: int = 0, scale: float = 1.0, rounding: str = "nearest"
) -> torch.Tensor:
    """A sigmoid within 0.051; es is always 0, and scale is not used.

    >>> posit_sigmoid(torch.tensor([-1.0, 0.0, 1.0]), nsize=8)
    tensor([0.2500, 0.5000, 0.7500])
    """
    return _activation(x, nsize, rounding, "posit_sigmoid", bits.sigmoid)


def posit_tanh(x: torch.Tensor, nsize: int, es: int = 0, scale: float = 1.0, rounding: str = "nearest") -> torch.Tensor:
    """2·sigmoid(2x) - 1, within 0.098 (nsize 16) of tanh.

    >>> posit_tanh(torch.tensor([-1.0, 0.0, 1.0]), nsize=16)
    tensor([-0.7500,  0.0000,  0.7500])
    """
    return _activation(x, nsize, rounding, "posit_tanh", bits.tanh)


def posit_tanh_enhanced(
    x: torch.Tensor, nsize: int, es: int = 0, scale: float = 1.0, rounding: str = "nearest"
) -> torch.Tensor:
    """posit_tanh with its ends moved outward, within 0.038 (nsize 16) of tanh.

    >>> posit_tanh_enhanced(torch.tensor([-1.0, 0.0, 1.0]), nsize=16)
    tensor([-0.7500,  0.0000,  0.7500])
    """
    return _activation(x, nsize, rounding, "posit_tanh_enhanced", bits.tanh_enhanced)
