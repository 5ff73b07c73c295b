# SPDX-License-Identifier: Apache-2.0
"""Scales and zero points that stand beside the data, from whatever holds numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nibble.errors import ArgumentTypeError, UsageError


def on_cpu(array: Any) -> Any:
    """The array itself, or a copy on the CPU of a torch tensor that lives on a GPU."""
    return array.cpu() if getattr(array, "is_cuda", False) is True else array


def _numbers(function: str, name: str, values: Any, kinds: str, expected: str) -> NDArray[Any]:
    try:
        array = np.asarray(on_cpu(values))
    except Exception:
        array = np.empty(0, dtype=object)
    if array.size == 0 or array.dtype.kind not in kinds:
        kind = type(values).__name__
        raise ArgumentTypeError(f"[{function}] {name}: got an object of type {kind}, expected {expected}")
    return array.reshape(-1)


def scales_beside(function: str, values: Any) -> NDArray[np.float32]:
    """One float32 a scale."""
    array = _numbers(function, "scales", values, "fiu", "one or more numbers")
    with np.errstate(over="ignore"):  # beyond float32: infinity, which the kernels refuse
        return np.ascontiguousarray(array, dtype=np.float32)


def zeros_beside(function: str, values: Any) -> NDArray[np.int32]:
    """One int32 a zero point."""
    array = _numbers(function, "zeros", values, "iu", "one or more integers")
    limits = np.iinfo(np.int32)
    low, high = int(array.min()), int(array.max())
    if low < limits.min or high > limits.max:
        raise UsageError(f"[{function}] zeros: got {low} to {high}, expected integers of 32 bits")
    return np.ascontiguousarray(array, dtype=np.int32)
