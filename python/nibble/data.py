# SPDX-License-Identifier: Apache-2.0
"""Data sets: a name, a path, or arrays in memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numpy.typing import NDArray

from nibble import _networks
from nibble.arguments import as_name
from nibble.gathering import NAMES, arrays_of


def dataset(name: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """The arrays of a data set that the command knows by name or finds at a path: x_train, y_train, x_test, y_test.

    >>> digits = nibble.dataset("digits")
    >>> digits["x_train"].shape, digits["x_train"].dtype, digits["y_test"][:3]
    ((1437, 8, 8, 1), dtype('uint8'), array([2, 3, 4], dtype=int32))
    """
    arrays: dict[str, NDArray[Any]] = _networks.dataset(as_name("data", "name", name))
    return arrays


@contextmanager
def known_data(data: Any, name: str = "arrays", shape: tuple[int, ...] | None = None) -> Iterator[str]:
    """The name by which Nibble finds the data: its own, or that of arrays which are kept meanwhile."""
    if isinstance(data, NAMES):
        yield as_name("data", "data", data)
        return
    kept = _networks.MemoryDataset(as_name("data", "data_name", name), arrays_of(data, shape))
    try:
        yield name
    finally:
        del kept
