# SPDX-License-Identifier: Apache-2.0
"""Values as integer codes, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nibble import _core
from nibble.beside import scales_beside, zeros_beside
from nibble.errors import ArgumentTypeError


@dataclass(frozen=True, eq=False)
class Encoded:
    """The codes of an array with the scales that give them meaning; arrays of the kind that was encoded.

    codes: uint8, uint16 or uint32 (torch: uint8, int16 or int32), one an element; packed: bytes, low bits first.
    scales: float32, one a group; zeros: int32, one a group; tensor_scale: one float32. None where there are none.
    """

    codes: Any
    scales: Any
    zeros: Any
    tensor_scale: Any
    format: _core.Format
    shape: tuple[int, ...]
    packed: bool = False

    def decode(self) -> Any:
        """The values: float32, or float64 where the format has values that float32 lacks.

        >>> nibble.encode(np.float32([0.1, 3.14159]), "e4m3").decode()
        array([0.1015625, 3.25     ], dtype=float32)
        """
        return decode(self)

    @property
    def nbytes(self) -> int:
        """Bytes of codes, scales and zero points."""
        parts = (self.codes, self.scales, self.zeros, self.tensor_scale)
        return sum(_bytes_of(part) for part in parts if part is not None)


def _bytes_of(array: Any) -> int:
    if isinstance(array, np.ndarray):
        return array.nbytes
    return int(array.numel()) * int(array.element_size())


def encode(
    x: Any,
    fmt: _core.Format | str,
    *,
    packed: bool = False,
    rounding: str = "nearest-even",
    overflow: str = "native",
    seed: int = 0,
    step: int = 0,
    stream: int = 0,
    scales: Any = None,
    zeros: Any = None,
) -> Encoded:
    """The codes of x in a format, rounded as quantize does.

    packed=True lays codes of fewer than 8 bits one after another, the first in the low bits. A NaN that the format
    has no code for is an error on the CPU; a GPU, which does not wait to see it, gives it some code.

    >>> encoded = nibble.encode(np.float32([1, -1.5, 6, 0.1]), "e2m1", packed=True)
    >>> encoded.codes.tolist(), encoded.nbytes, encoded.decode().tolist()
    ([178, 7], 2, [1.0, -1.5, 6.0, 0.0])
    """
    if scales is not None:
        scales = scales_beside("encode", scales)
    if zeros is not None:
        zeros = zeros_beside("encode", zeros)
    codes, group_scales, group_zeros, tensor_scale, shape = _core.encode(
        x, fmt, packed, rounding, overflow, seed, step, stream, scales, zeros
    )
    known = _core.Format(fmt) if isinstance(fmt, str) else fmt
    return Encoded(codes, group_scales, group_zeros, tensor_scale, known, shape, packed)


def decode(
    codes: Any,
    fmt: _core.Format | str | None = None,
    *,
    scales: Any = None,
    zeros: Any = None,
    tensor_scale: Any = None,
    packed: bool = False,
    shape: tuple[int, ...] | None = None,
) -> Any:
    """The values of codes: of an Encoded, or of an array of codes in a format with its scales.

    Packed codes need the shape of the values.

    >>> nibble.decode(np.uint8([2, 11, 7, 0]), "e2m1").tolist()
    [1.0, -1.5, 6.0, 0.0]
    """
    if isinstance(codes, Encoded):
        given = (fmt, scales, zeros, tensor_scale, shape)
        if packed or any(argument is not None for argument in given):
            raise ArgumentTypeError("[decode] arguments: got more than an Encoded, expected it alone")
        parts = codes
        return _core.decode(
            parts.codes,
            parts.format,
            parts.packed,
            parts.shape,
            parts.scales,
            parts.zeros,
            parts.tensor_scale,
        )
    if fmt is None:
        raise ArgumentTypeError("[decode] fmt: got None, expected the format of the codes")
    if getattr(codes, "is_cuda", False) is not True:
        if scales is not None:
            scales = scales_beside("decode", scales)
        if zeros is not None:
            zeros = zeros_beside("decode", zeros)
        if tensor_scale is not None:
            tensor_scale = scales_beside("decode", tensor_scale)
    return _core.decode(codes, fmt, packed, shape, scales, zeros, tensor_scale)
