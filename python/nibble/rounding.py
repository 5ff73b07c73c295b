# SPDX-License-Identifier: Apache-2.0
"""Values rounded to a format."""

from __future__ import annotations

from typing import Any, TypeVar

from nibble import _core
from nibble.beside import scales_beside, zeros_beside

ArrayT = TypeVar("ArrayT")


def quantize(
    x: ArrayT,
    fmt: _core.Format | str,
    *,
    rounding: str = "nearest-even",
    overflow: str = "native",
    seed: int = 0,
    step: int = 0,
    stream: int = 0,
    compat: str = "none",
    scales: Any = None,
    zeros: Any = None,
    out: Any = None,
) -> ArrayT:
    """Rounds every element of x to a value that the format holds.

    x is a NumPy array, a torch tensor or an object with ``__dlpack__``, of float32, float16 or bfloat16, on the CPU
    or a GPU, with any strides. The result is like x (a NumPy array for other packages' objects), or goes to out, which
    may be x itself. Random draws depend on (seed, step, stream, row-major index) alone. Scales and zero points beside
    the data are for formats with axis=… or a given scale.

    >>> nibble.quantize(np.float32([0.1, 3.14159, -1000]), "e4m3").tolist()
    [0.1015625, 3.25, -448.0]
    """
    if scales is not None:
        scales = scales_beside("quantize", scales)
    if zeros is not None:
        zeros = zeros_beside("quantize", zeros)
    result: ArrayT = _core.quantize(x, fmt, rounding, overflow, seed, step, stream, compat, scales, zeros, out)
    return result
