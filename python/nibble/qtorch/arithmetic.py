# SPDX-License-Identifier: Apache-2.0
"""Rounds a tensor to one of QPyTorch's numbers by one of the modes of compat.py."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Callable, Dict, Optional, Tuple, Type

import numpy
import torch

import nibble

from ..errors import ArgumentTypeError, UsageError
from ..torch import ops
from ..torch.draws import check_seed, seed_of_torch
from ..torch.rounder import LARGEST, limits, probe
from .compat import get_compat
from .number import BlockFloatingPoint, FixedPoint, FloatingPoint, Number, Posit

FP32_BITS = 24  # of a fixed-point number whose every value is an fp32 value
Key = Dict[str, Any]  # seed, step and stream as nibble.quantize takes them


def check_tensor(x: Any, where: str) -> None:
    if not isinstance(x, torch.Tensor):
        raise ArgumentTypeError(f"{where}: got {type(x).__name__}, expected a tensor")


def check_rounding(rounding: Any) -> str:
    if not isinstance(rounding, str):
        raise ArgumentTypeError(
            f"rounding: got {type(rounding).__name__}, expected 'nearest', 'stochastic' or a rounding of Nibble"
        )
    return rounding


def is_stochastic(rounding: str) -> bool:
    return rounding.startswith("stochastic")


def draw_seed(rounding: str, seed: Optional[int]) -> int:
    """The seed given, or one from torch's generator; nothing is drawn where nothing is random."""
    check_seed(seed)
    if seed is None:
        return seed_of_torch() if is_stochastic(rounding) else 0
    return seed


@lru_cache(maxsize=None)
def format_of(text: str) -> nibble.Format:
    return nibble.Format(text)


@lru_cache(maxsize=256, typed=True)
def number_of(descriptor: Type[Number], *arguments: Any) -> Number:
    """A descriptor made once for the calls that repeat its arguments."""
    return descriptor(*arguments)


def fixed_limits(number: FixedPoint) -> Tuple[float, float]:
    """Lowest and largest value; the fp32 values within them where they have more bits."""
    step = 2.0**-number.fl
    lowest, largest = -math.ldexp(1.0, number.wl - number.fl - 1), math.ldexp(1.0, number.wl - number.fl - 1)
    if number.wl <= FP32_BITS:
        return lowest + step * number.symmetric, largest - step
    inner = float(numpy.nextafter(numpy.float32(largest), numpy.float32(0)))
    return -inner if number.symmetric else lowest, inner


@dataclass(frozen=True)
class NumberRounder:
    """A number with a rounding, in the mode of the time when it was made."""

    number: Number
    rounding: str
    mode: str

    def __post_init__(self) -> None:
        check_rounding(self.rounding)
        self.round(probe())  # refuses what Nibble or the package does not have

    def round(self, x: torch.Tensor, seed: int = 0, step: int = 0, stream: int = 0) -> torch.Tensor:
        return _round(x.detach(), self.number, self.rounding, self.mode, dict(seed=seed, step=step, stream=stream))

    def clamped(self, x: torch.Tensor, seed: int = 0, step: int = 0, stream: int = 0) -> torch.Tensor:
        """Fixed point: beyond the range after rounding. Others: beyond the largest value before it."""
        if isinstance(self.number, FixedPoint):
            free = FixedPoint(self.number.wl, self.number.fl, clamp=False)
            x = _round(x.detach(), free, self.rounding, self.mode, dict(seed=seed, step=step, stream=stream))
            lowest, largest = fixed_limits(self.number)
        else:
            scale = getattr(self.number, "scale", 1.0)
            lowest, largest = (end / scale for end in limits(format_of(self.number.format)))
        return (x > largest) | (x < lowest)

    @property
    def is_stochastic(self) -> bool:
        return is_stochastic(self.rounding)

    def check_range(self) -> None:
        if isinstance(self.number, BlockFloatingPoint) or not getattr(self.number, "clamp", True):
            raise UsageError(f"clamping_grad_zero: got {self.number}, expected a number with a range that clamps")

    def __str__(self) -> str:
        return f"{self.number}, {self.rounding}"


def rounder_of(number: Optional[Number], rounding: str, where: str) -> Optional[NumberRounder]:
    if number is None:
        return None
    if not isinstance(number, Number):
        raise ArgumentTypeError(
            f"{where}: got {type(number).__name__}, expected FixedPoint, BlockFloatingPoint, "
            "FloatingPoint, Posit or None"
        )
    return NumberRounder(number, check_rounding(rounding), get_compat())


def round_number(x: torch.Tensor, number: Number, rounding: str, seed: Optional[int], where: str) -> torch.Tensor:
    check_tensor(x, where)
    check_rounding(rounding)
    return _round(x.detach(), number, rounding, get_compat(), dict(seed=draw_seed(rounding, seed)))


def _quantize(x: torch.Tensor, text: str, rounding: str, key: Key, compat: str = "none") -> torch.Tensor:
    if ops.is_tracing():
        given = ops.key_of(rounding, key.get("seed", 0), key.get("step", 0))
        return ops.quantized(x, text, rounding, "native", compat, given, key.get("stream", 0))
    return nibble.quantize(x, format_of(text), rounding=rounding, compat=compat, **key)


def _round(x: torch.Tensor, number: Number, rounding: str, mode: str, key: Key) -> torch.Tensor:
    if isinstance(number, Posit):
        return _round_posit(x, number, rounding, mode, key)
    if mode != "none":
        return _round_by_package(x, number, rounding, mode, key)
    word = number.nearest if rounding == "nearest" else rounding
    if isinstance(number, FixedPoint) and number.wl > FP32_BITS:
        free = f"fixed(32,{number.fl},clamp=off)"
        z = _quantize(x, free, word, key)
        return z.clamp_(*fixed_limits(number)) if number.clamp else z
    return _quantize(x, number.format, word, key)


def _round_by_package(x: torch.Tensor, number: Number, rounding: str, mode: str, key: Key) -> torch.Tensor:
    text = number.format
    if isinstance(number, FloatingPoint):
        text = f"float({min(number.exp, 8)},{number.man},specials=finite)"
    word = "nearest-even" if rounding == "nearest" else rounding
    return _quantize(x, text, word, key, mode)


def _round_posit(x: torch.Tensor, number: Posit, rounding: str, mode: str, key: Key) -> torch.Tensor:
    """QPyTorch itself has no posits; the fork runs nearest whatever it is asked for."""
    compat = "qtorch+" if mode == "qtorch+" else "none"
    word = "nearest-even" if rounding == "nearest" or compat != "none" else rounding
    return scaled(
        x,
        number.scale,
        lambda y: _quantize(y, number.format, word, key, compat),
        saturates=compat == "none",
    )


def scaled(
    x: torch.Tensor, scale: float, rounded: Callable[[torch.Tensor], torch.Tensor], saturates: bool = False
) -> torch.Tensor:
    """rounded(x · scale) / scale, each operation in fp32 as in the fork, on every device.

    `saturates` keeps a product of finite numbers finite, so that it is not taken for an infinity.
    """
    if scale == 1:
        return rounded(x)
    factor = torch.full((), scale, dtype=torch.float32, device=x.device)  # a number would be inverted on a GPU
    y = x.float() * factor
    if saturates and scale > 1:
        y = torch.where(torch.isinf(x), y, y.clamp(-LARGEST, LARGEST))
    return (rounded(y) / factor).to(x.dtype)
