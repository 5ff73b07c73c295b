# SPDX-License-Identifier: Apache-2.0
"""QPyTorch's number descriptors. `format` is the Nibble format with the same values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Optional

from ..errors import ArgumentTypeError, UsageError

__all__ = ["BlockFloatingPoint", "FixedPoint", "FloatingPoint", "Number", "Posit", "Positbf"]


def check_int(where: str, value: Any, lowest: Optional[int] = None, highest: Optional[int] = None) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ArgumentTypeError(f"{where}: got {type(value).__name__}, expected an integer")
    number = int(value)
    if (lowest is not None and number < lowest) or (highest is not None and number > highest):
        bounds = f"at least {lowest}" if highest is None else f"{lowest} to {highest}"
        raise UsageError(f"{where}: got {value}, expected {bounds}")


def check_bool(where: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise ArgumentTypeError(f"{where}: got {type(value).__name__}, expected True or False")


def check_scale(scale: Any) -> None:
    if isinstance(scale, bool) or not isinstance(scale, Real):
        raise ArgumentTypeError(f"scale: got {type(scale).__name__}, expected a number")
    if not 0 < float(scale) < math.inf:
        raise UsageError(f"scale: got {scale}, expected a positive number")


class Number:
    """Base of the descriptors."""

    nearest = "nearest-even"  # what rounding="nearest" means

    @property
    def format(self) -> str:
        """Its name in Nibble."""
        raise NotImplementedError(f"{type(self).__name__} has no format")


@dataclass(frozen=True)
class FixedPoint(Number):
    """wl bits of which fl are behind the point; any fl, also negative or beyond wl."""

    wl: int
    fl: int
    clamp: bool = True
    symmetric: bool = False

    def __post_init__(self) -> None:
        check_int("wl", self.wl, 1)
        check_int("fl", self.fl, -126, 149)
        check_bool("clamp", self.clamp)
        check_bool("symmetric", self.symmetric)

    @property
    def format(self) -> str:
        flags = (",symmetric" if self.symmetric else "") + ("" if self.clamp else ",clamp=off")
        return f"fixed({self.wl},{self.fl}{flags})"

    def __str__(self) -> str:
        return f"FixedPoint (wl={self.wl}, fl={self.fl})"


@dataclass(frozen=True)
class BlockFloatingPoint(Number):
    """wl bits under one exponent, for the tensor (dim=-1) or for each index along dim."""

    wl: int
    dim: int = -1

    def __post_init__(self) -> None:
        check_int("wl", self.wl, 2)
        check_int("dim", self.dim, -1, 7)

    @property
    def format(self) -> str:
        return f"bfp({self.wl})" if self.dim == -1 else f"bfp({self.wl},axis={self.dim})"

    def __str__(self) -> str:
        return f"BlockFloatingPoint (wl={self.wl}, dim={self.dim})"


@dataclass(frozen=True)
class FloatingPoint(Number):
    """Finite below 8 exponent bits: every exponent is a binade, and overflow saturates."""

    exp: int
    man: int

    nearest = "nearest-away"

    def __post_init__(self) -> None:
        check_int("exp", self.exp, 1)
        check_int("man", self.man, 0, 23)

    @property
    def format(self) -> str:
        return f"float({self.exp},{self.man},specials=finite)" if self.exp < 8 else f"float(8,{self.man},specials=ieee)"

    def __str__(self) -> str:
        return f"FloatingPoint (exponent={self.exp}, mantissa={self.man})"


@dataclass(frozen=True)
class Posit(Number):
    """Inputs are multiplied by the scale before they are rounded, and results divided by it."""

    nsize: int
    es: int
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_int("nsize", self.nsize, 2, 32)
        check_int("es", self.es, 0, 3)
        check_scale(self.scale)

    @property
    def format(self) -> str:
        return f"posit({self.nsize},{self.es})"

    def __str__(self) -> str:
        return f"{type(self).__name__} (nsize={self.nsize}, es={self.es}, scale={self.scale})"


@dataclass(frozen=True)
class Positbf(Posit):
    """The fork's posit of at most 8 bits for bfloat16; here a Posit like the others."""

    def __post_init__(self) -> None:
        check_int("nsize", self.nsize, 2, 8)
        super().__post_init__()

    def __str__(self) -> str:
        return super().__str__()
