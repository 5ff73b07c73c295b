# SPDX-License-Identifier: Apache-2.0
"""Rounding to nearest written in torch's own operations, which a compiler fuses with what stands around it.

A float format of p bits of precision has steps of 2^(max(e, e_min) - p + 1) around numbers of exponent e, a grid has
one step. Adding 1.5 · 2^23 steps leaves no bit below a step in fp32, ties go to even, and taking them off again is
exact: seven instructions of a GPU, which has time for little more while it reads two bytes. Whether that is the format
is not taken for granted: the rule is compared with `nibble.quantize` on all numbers of fp16, as they are and stretched
beyond the format's range, bit by bit, and formats that differ (codebooks, posits, scales from the data) stay what they
are: one call of an operation.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Optional

import torch

import nibble

EXPONENT = 0x7F800000
LEAST = 2.0**-100  # of steps: far enough from fp32's own end, where a GPU may flush
MOST = 2.0**100  # of what is added
MOST_STEPS = 2.0**22  # of a number, so that the sum keeps its exponent


@dataclass(frozen=True)
class GraphRounding:
    largest: float
    lowest: float
    min_normal: float  # below it steps stay as they are; 0: a grid
    steps: float  # 1.5 · 2^23 steps at 1: of the binade for floats
    has_infinity: bool
    keeps_minus_zero: bool

    def round(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.to(torch.float32)
        reach = 2 if self.has_infinity else 1  # beyond the format, yet finite
        inside = wide.clamp(reach * self.lowest, reach * self.largest)
        added: "torch.Tensor | float" = self.steps
        if self.min_normal:
            binades = inside.abs().clamp(min=self.min_normal).view(torch.int32) & EXPONENT
            added = binades.view(torch.float32) * self.steps
        found = (inside + added) - added  # +0 where nothing is left
        if self.keeps_minus_zero:
            found = torch.copysign(found, wide)
        if self.has_infinity:
            found = torch.where(found > self.largest, math.inf, found)
            found = torch.where(found < self.lowest, -math.inf, found)
        # Where nothing is converted, a `to` would make torch 2.11 lose the gradient of what it traces.
        return found if found.dtype == x.dtype else found.to(x.dtype)


@functools.lru_cache(maxsize=None)
def graph_rounding(text: str, rounding: str, overflow: str) -> Optional[GraphRounding]:
    """The rule of a format, or None where it has none that is the same in every bit."""
    fmt = nibble.Format(text)
    if rounding != "nearest-even" or fmt.is_scaled or fmt.family not in ("float", "grid") or fmt.min_positive < LEAST:
        return None
    ends = torch.tensor([math.inf, -math.inf], device="cpu")
    beyond = nibble.quantize(ends, fmt, rounding=rounding, overflow=overflow)
    is_float = fmt.family == "float"
    steps_of_one = 2.0 ** (fmt.precision_bits - 1) if is_float else 1 / fmt.min_positive
    steps = 1.5 * 2.0**23 / steps_of_one
    widest = 2 * max(fmt.max, -fmt.lowest)
    if (2 * steps_of_one if is_float else widest * steps_of_one) > MOST_STEPS or widest * steps > MOST:
        return None
    rule = GraphRounding(
        fmt.max,
        fmt.lowest,
        fmt.min_normal if is_float else 0.0,
        steps,
        bool(torch.isinf(beyond).all()),
        fmt.has_negative_zero,
    )
    return rule if _is_right(rule, fmt, rounding, overflow) else None


def _is_right(rule: GraphRounding, fmt: nibble.Format, rounding: str, overflow: str) -> bool:
    patterns = torch.arange(-(1 << 15), 1 << 15, device="cpu").to(torch.int16).view(torch.float16).float()
    near_ends = patterns * (fmt.max / 60000)
    near_zero = patterns * (fmt.min_positive / 64)
    for values in (patterns, near_ends, near_zero):
        expected = nibble.quantize(values, fmt, rounding=rounding, overflow=overflow)
        found = rule.round(values)
        is_same = (found.view(torch.int32) == expected.view(torch.int32)) | (torch.isnan(found) & torch.isnan(expected))
        if not bool(is_same.all()):
            return False
    return True
