# SPDX-License-Identifier: Apache-2.0
"""Rounding to nearest written in torch's own operations, which a compiler fuses with what stands around it.

A float format of p bits of precision has steps of 2^(max(e, e_min) - p + 1) around numbers of exponent e, a grid has
one step; torch.round takes ties to even. Formats that torch has as a type of 8 bits are rounded by its own conversion, half
the instructions, where every GPU here converts by itself (sm_89 and later). Whether that is the format is not taken for granted: the rule is compared
with `nibble.quantize` on all numbers of fp16, as they are and stretched beyond the format's range, bit by bit, and
formats that differ (codebooks, posits, scales from the data) stay what they are: one call of an operation.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from dataclasses import dataclass
from typing import Optional

import torch

import nibble

SIGN, EXPONENT = -(1 << 31), 0x7F800000
LEAST = 2.0**-100  # of steps: far enough from fp32's own end, where a GPU may flush
LAST = 126  # exponent: from there on numbers are beyond the format, and steps and their inverses fp32's


@dataclass(frozen=True)
class GraphRounding:
    largest: float
    lowest: float
    least_exponent: int  # of a step: of the only one for grids
    precision: int  # bits, with the leading one; 0: a grid
    has_infinity: bool
    keeps_minus_zero: bool
    own_type: Optional[torch.dtype] = None  # torch's, of the same finite numbers

    def round(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.to(torch.float32)
        if self.own_type is not None:  # conversions differ beyond the largest number: none is left there
            return wide.clamp(self.lowest, self.largest).to(self.own_type).to(x.dtype)
        if self.precision:
            least = (self.least_exponent + self.precision - 1 + 127) << 23
            exponents = (wide.view(torch.int32) & EXPONENT).clamp(min=least, max=LAST + 127 << 23)
            step = exponents - ((self.precision - 1) << 23)
            inverse = (254 << 23) - step  # exact, as a compiler's division need not be
            found = torch.round(wide * inverse.view(torch.float32)) * step.view(torch.float32)
        else:
            found = torch.round(wide * 2.0**-self.least_exponent) * 2.0**self.least_exponent
        if self.has_infinity:
            found = torch.where(found > self.largest, math.inf, found)
            found = torch.where(found < self.lowest, -math.inf, found)
        else:
            found = found.clamp(self.lowest, self.largest)
        found = found if self.keeps_minus_zero else torch.where(found == 0, 0.0, found)
        # Where nothing is converted, a `to` would make torch 2.11 lose the gradient of what it traces.
        return found if found.dtype == x.dtype else found.to(x.dtype)


_EIGHT_BITS = {
    (448.0, -448.0, -9, 4, True): getattr(torch, "float8_e4m3fn", None),  # torch 1.13 has neither
    (57344.0, -57344.0, -16, 3, True): getattr(torch, "float8_e5m2", None),
}


def _converts_to_eight_bits() -> bool:
    return all(torch.cuda.get_device_capability(index) >= (8, 9) for index in range(torch.cuda.device_count()))


@functools.lru_cache(maxsize=None)
def graph_rounding(text: str, rounding: str, overflow: str) -> Optional[GraphRounding]:
    """The rule of a format, or None where it has none that is the same in every bit."""
    fmt = nibble.Format(text)
    if rounding != "nearest-even" or fmt.is_scaled or fmt.family not in ("float", "grid") or fmt.min_positive < LEAST:
        return None
    if fmt.max >= 2.0**LAST:
        return None
    ends = torch.tensor([math.inf, -math.inf], dtype=torch.float32, device="cpu")
    beyond = nibble.quantize(ends, fmt, rounding=rounding, overflow=overflow)
    is_float = fmt.family == "float"
    rule = GraphRounding(
        fmt.max,
        fmt.lowest,
        round(math.log2(fmt.min_normal)) - fmt.precision_bits + 1 if is_float else round(math.log2(fmt.min_positive)),
        fmt.precision_bits if is_float else 0,
        bool(torch.isinf(beyond).all()),
        fmt.has_negative_zero,
    )
    if not rule.has_infinity and _converts_to_eight_bits():
        own_type = _EIGHT_BITS.get((rule.largest, rule.lowest, rule.least_exponent, rule.precision, rule.keeps_minus_zero))
        rule = dataclasses.replace(rule, own_type=own_type)
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
