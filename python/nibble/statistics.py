# SPDX-License-Identifier: Apache-2.0
"""What a format loses on an array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nibble import _core
from nibble.beside import on_cpu, scales_beside, zeros_beside


@dataclass(frozen=True)
class Statistics:
    """An array x compared with its quantized form q."""

    elements: int
    non_finite: int  # inputs that are NaN or infinite: counted, otherwise left out
    sqnr_db: float  # 10 log10(sum of x² / sum of (x-q)²); infinity where q = x everywhere
    max_abs_error: float
    mean_abs_error: float
    mean_error: float  # mean of q - x
    share_saturated: float  # |q| at the largest value of its group and |x| > |q|
    share_flushed: float  # x not zero, q zero


def stats(
    x: Any,
    fmt: _core.Format | str,
    *,
    quantized: Any = None,
    rounding: str = "nearest-even",
    overflow: str = "native",
    seed: int = 0,
    step: int = 0,
    stream: int = 0,
    compat: str = "none",
    scales: Any = None,
    zeros: Any = None,
) -> Statistics:
    """Compares x with quantize(x, fmt, …), or with what was made of it before.

    Tensors on a GPU are copied to the CPU.

    >>> found = nibble.stats(np.float32([0.1, 3.14159, -1000]), "e4m3")
    >>> found.max_abs_error, round(found.share_saturated, 2)
    (552.0, 0.33)
    """
    if scales is not None:
        scales = scales_beside("stats", scales)
    if zeros is not None:
        zeros = zeros_beside("stats", zeros)
    x, quantized = on_cpu(x), on_cpu(quantized)
    row = _core.stats(x, fmt, quantized, rounding, overflow, seed, step, stream, compat, scales, zeros)
    return Statistics(*row)
