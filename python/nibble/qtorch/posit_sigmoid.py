# SPDX-License-Identifier: Apache-2.0
"""Sigmoid and tanh from the bits of a posit with es = 0.

With P the code of a posit, read as a signed 16-bit number with the posit at its top, flipping the sign bit and
shifting right by two gives s = ⌊(P + 2^15) / 4⌋ < 2^14, and a posit(16,0) below one with code s is s / 2^14. So the
bit trick is arithmetic: sigmoid = ⌊(P + 2^15) / 4⌋ / 2^14.
"""

from __future__ import annotations

import torch

import nibble

from .compat import get_compat

ENHANCED_FROM = 0.7583
ENHANCED_ADD = 0.06795


def _codes(x: torch.Tensor, nsize: int) -> torch.Tensor:
    """P of fp32 numbers, infinities as the ends; exact, for P has 16 bits."""
    q = nibble.quantize(x.clamp(-(2.0**20), 2.0**20), f"posit({nsize},0)")
    magnitude = q.abs()
    mantissa = 2 * torch.frexp(magnitude)[0]  # magnitude = mantissa · 2^k
    power = magnitude / mantissa  # 2^k
    above_one = 2.0**15 - 2.0**14 / power + (mantissa - 1) * (2.0**13 / power)
    code = torch.where(magnitude < 1, magnitude * 2.0**14, above_one)
    return torch.where(q < 0, -code, code)


def sigmoid(x: torch.Tensor, nsize: int) -> torch.Tensor:
    y = torch.floor((_codes(x, nsize) + 2.0**15) / 4) / 2.0**14
    if get_compat() == "qtorch+":
        return torch.where(torch.isfinite(x), y, torch.zeros_like(y))  # the bits of NaR give zero
    return y


def tanh(x: torch.Tensor, nsize: int) -> torch.Tensor:
    return 2 * sigmoid(2 * x, nsize) - 1


def tanh_enhanced(x: torch.Tensor, nsize: int) -> torch.Tensor:
    """tanh with its flat ends moved outward, within ±1."""
    t = tanh(x, nsize).double()
    moved = torch.where(t > ENHANCED_FROM, t + ENHANCED_ADD, torch.where(t < -ENHANCED_FROM, t - ENHANCED_ADD, t))
    return moved.clamp(-1, 1).to(x.dtype)
