# SPDX-License-Identifier: Apache-2.0
"""Tables as the posit fork computes them, for compat "qtorch+": fp32 distances, searched from 1e5 on."""

from __future__ import annotations

from typing import Sequence, Tuple

import numpy
import torch


def nearest_entry(y: torch.Tensor, table: Tuple[float, ...]) -> torch.Tensor:
    """What is further than 1e5 from every entry, infinity and NaN give 0."""
    magnitude = y.abs()
    error = torch.full_like(y, 1e5)
    best = torch.zeros_like(y)
    for entry in table:
        distance = (entry - magnitude).abs()
        is_nearer = distance < error
        error = torch.where(is_nearer, distance, error)
        best = torch.where(is_nearer, torch.full_like(y, entry), best)
    return _signed(best, y)


def last_exceeded(y: torch.Tensor, table: Tuple[float, ...], hints: Sequence[float]) -> torch.Tensor:
    magnitude = y.abs()
    best = torch.zeros_like(y)
    for entry, hint in zip(table, hints):
        best = torch.where(magnitude > hint, torch.full_like(y, entry), best)
    return _signed(best, y)


def geomean_hints(table: Tuple[float, ...], first: float) -> Tuple[float, ...]:
    values = numpy.array(table, numpy.float32)
    return (float(numpy.float32(first)),) + tuple(numpy.sqrt(values[1:] * values[:-1]).tolist())


def _signed(magnitude: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.where(y == 0, torch.zeros_like(y), torch.where(y < 0, -magnitude, magnitude))
