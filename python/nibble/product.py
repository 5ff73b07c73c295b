# SPDX-License-Identifier: Apache-2.0
"""A matrix product whose accumulator is a parameter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar, cast

from nibble import _core

ArrayT = TypeVar("ArrayT")


@dataclass(frozen=True)
class Accumulator:
    """How products are summed.

    format: what sums are rounded to; product: what products are rounded to (None: format).
    method: "separate" rounds products and sums, "fused" sums alone, "kahan" compensates, "quire" sums exactly.
    order: "sequential" or "pairwise"; chunk: products a partial sum (0: all).
    """

    format: _core.Format | str
    product: _core.Format | str | None = None
    rounding: str = "nearest-even"
    overflow: str = "native"
    method: str = "separate"
    order: str = "sequential"
    chunk: int = 0


def matmul(
    a: ArrayT,
    b: Any,
    *,
    accumulator: Accumulator | _core.Format | str,
    seed: int = 0,
    step: int = 0,
    stream: int = 0,
    out: Any = None,
) -> ArrayT:
    """The float32 product of two matrices by the accumulator's rules, of a's kind and on its device.

    >>> ones = np.ones((1, 4096), np.float32)
    >>> nibble.matmul(ones, ones.T, accumulator="fp16").item()  # 2048 + 1 is 2048 in fp16
    2048.0
    >>> nibble.matmul(ones, ones.T, accumulator=nibble.Accumulator("fp16", chunk=64)).item()
    4096.0
    """
    rules = accumulator if isinstance(accumulator, Accumulator) else Accumulator(accumulator)
    product = _core.matmul(
        a,
        b,
        rules.format,
        rules.product,
        rules.rounding,
        rules.overflow,
        rules.method,
        rules.order,
        rules.chunk,
        seed,
        step,
        stream,
        out,
    )
    return cast(ArrayT, product)
