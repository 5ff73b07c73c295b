# SPDX-License-Identifier: Apache-2.0
"""Tables of magnitudes: the nearest entry, or the last one whose hint a number exceeds.

The decision points are fp32 numbers found exactly, so that one search decides as exact arithmetic would.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Any, Sequence, Tuple

import numpy
import torch

from ..errors import ArgumentTypeError, UsageError

Table = Tuple[float, ...]

_SIXTEENTHS = (3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 24, 28, 32, 36, 48, 64, 96)
NEW_FORMAT: Table = tuple([2.0**e for e in range(-16, -6)] + [n / 256 for n in _SIXTEENTHS] + [0.5, 1.0])
ACT_FORMAT: Table = tuple([2.0**e for e in range(-12, -2)] + [n / 16 for n in _SIXTEENTHS] + [8.0, 16.0])
GEOMEAN_FIRST_HINT = 1e-4


def table_of(values: Any, where: str) -> Table:
    """A tensor or a sequence of finite numbers as fp32 values."""
    try:
        table = torch.as_tensor(values, dtype=torch.float32, device="cpu").detach().flatten()
    except (TypeError, ValueError, RuntimeError) as error:
        raise ArgumentTypeError(f"{where}: got {type(values).__name__}, expected a tensor or a list of numbers") from error
    if table.numel() == 0 or not bool(torch.isfinite(table).all()):
        raise UsageError(f"{where}: expected one or more finite numbers")
    return tuple(table.tolist())


def _floor_fp32(exact: Fraction) -> float:
    """The largest fp32 number that does not exceed a number within fp32's range."""
    near = numpy.float32(float(exact))
    while Fraction(float(near)) > exact:
        near = numpy.nextafter(near, numpy.float32(-numpy.inf))
    return float(near)


def _below(value: float) -> float:
    return float(numpy.nextafter(numpy.float32(value), numpy.float32(-numpy.inf)))


@lru_cache(maxsize=64)
def nearest_points(table: Table) -> Tuple[Table, Table]:
    """Entries in ascending order, and for each pair the last fp32 number that goes to the lower one.

    The middle itself goes to the entry of the lower index in the table.
    """
    index = {value: i for i, value in reversed(list(enumerate(table)))}
    entries = sorted(index)
    points = []
    for low, high in zip(entries, entries[1:]):
        middle = (Fraction(low) + Fraction(high)) / 2
        point = _floor_fp32(middle)
        goes_up = index[high] < index[low] and Fraction(point) == middle
        points.append(_below(point) if goes_up else point)
    return tuple(entries), tuple(points)


@lru_cache(maxsize=64)
def geomean_points(table: Table) -> Table:
    """For each entry the last fp32 number that does not exceed the geometric mean with the entry before."""
    points = [float(numpy.float32(GEOMEAN_FIRST_HINT))]
    for before, entry in zip(table, table[1:]):
        square = Fraction(before) * Fraction(entry)
        if square < 0:
            raise UsageError(f"table: got {before} beside {entry}, expected entries of one sign")
        shift = 1 << 400  # the root of square·shift² to the integer below, far finer than fp32
        root = Fraction(isqrt(square.numerator * shift * shift // square.denominator), shift)
        points.append(_floor_fp32(root))
    return tuple(points)


def nearest_entry(y: torch.Tensor, table: Table) -> torch.Tensor:
    """Sign and nearest magnitude of fp32 numbers; zero stays zero, NaN stays NaN, the ends saturate."""
    entries, points = nearest_points(table)
    chosen = _take(entries, torch.bucketize(y.abs().contiguous(), _tensor(points, y)), y)
    return torch.where(y == 0, torch.zeros_like(y), torch.where(torch.isnan(y), y, chosen))


def last_exceeded(y: torch.Tensor, table: Table, hints: Sequence[float]) -> torch.Tensor:
    """The last entry i with |y| > hint i, with the sign of y; zero where there is none. NaN stays NaN."""
    least_from_here = tuple(numpy.minimum.accumulate(numpy.array(hints, numpy.float32)[::-1])[::-1].tolist())
    count = torch.bucketize(y.abs().contiguous(), _tensor(least_from_here, y))  # hints from which on some are exceeded
    chosen = _take((0.0,) + table, count, y)
    return torch.where(y == 0, torch.zeros_like(y), torch.where(torch.isnan(y), y, chosen))


@lru_cache(maxsize=64)
def _on_device(values: Table, device: torch.device) -> torch.Tensor:
    """Kept, so that a GPU does not wait for a copy at every call."""
    return torch.tensor(values, dtype=torch.float32, device=device)


def _tensor(values: Sequence[float], like: torch.Tensor) -> torch.Tensor:
    return _on_device(tuple(values), like.device)


def _take(entries: Sequence[float], index: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    chosen = _tensor(entries, y)[index]
    return torch.where(y < 0, -chosen, chosen)
