# SPDX-License-Identifier: Apache-2.0
"""Data sets: a name, a path, or arrays in memory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nibble import _networks
from nibble.errors import ArgumentTypeError, UsageError


def as_array(values: Any) -> NDArray[Any]:
    """NumPy's view of an array or a tensor; float64 becomes float32."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    array = np.asarray(values)
    return array.astype(np.float32) if array.dtype == np.float64 else array


def channels_last(images: NDArray[Any], shape: tuple[int, ...] | None) -> NDArray[Any]:
    """Pictures (n, c, h, w) as (n, h, w, c) where only that fits what the network takes."""
    if shape is None or len(shape) != 3 or images.shape[1:] == shape:
        return images
    if images.shape[1:] == (shape[2], shape[0], shape[1]):
        return np.ascontiguousarray(images.transpose(0, 2, 3, 1))
    return images


def _answers(values: NDArray[Any]) -> str:
    return "targets" if values.dtype.kind == "f" else "labels"


def _is_array(values: Any) -> bool:
    return hasattr(values, "shape") and hasattr(values, "dtype")


def _pair(x: Any, y: Any, split: str = "") -> dict[str, NDArray[Any]]:
    answers = as_array(y)
    return {split + "images": as_array(x), split + _answers(answers): answers}


def _gathered(batches: Any) -> dict[str, NDArray[Any]]:
    """All batches of an iterable, each x alone or (x, y)."""
    xs, ys = [], []
    for batch in batches:
        if isinstance(batch, (tuple, list)):
            xs.append(as_array(batch[0]))
            ys.append(as_array(batch[1]))
        else:
            xs.append(as_array(batch))
    if not xs or (ys and len(ys) != len(xs)):
        raise UsageError("[data] batches: got none, or some without answers, expected x or (x, y) of every batch")
    images = np.concatenate(xs)
    return _pair(images, np.concatenate(ys)) if ys else {"images": images}


def arrays_of(data: Any, shape: tuple[int, ...] | None = None) -> dict[str, NDArray[Any]]:
    """The named arrays of whatever holds data, by the names that an ``.npz`` has.

    >>> from nibble.data import arrays_of
    >>> sorted(arrays_of((np.zeros((4, 8, 8)), np.arange(4))))
    ['images', 'labels']
    >>> sorted(arrays_of([(np.zeros((2, 3)), np.zeros(2)), (np.zeros((2, 3)), np.zeros(2))]))
    ['images', 'targets']
    """
    if isinstance(data, Mapping):
        arrays = {str(name): as_array(values) for name, values in data.items()}
    elif _is_array(data):
        arrays = {"images": as_array(data)}
    elif isinstance(data, tuple) and len(data) == 2 and all(_is_array(each) for each in data):
        arrays = _pair(*data)
    elif isinstance(data, tuple) and len(data) == 2 and all(isinstance(each, tuple) for each in data):
        (x, y), (x_test, y_test) = data
        arrays = {**_pair(x, y, "train_"), **_pair(x_test, y_test, "test_")}
    elif hasattr(data, "__iter__"):
        arrays = _gathered(data)
    else:
        expected = "a name, a path, arrays, (x, y), ((x, y), (x_test, y_test)) or batches"
        raise ArgumentTypeError(f"[data] data: got an object of type {type(data).__name__}, expected {expected}")
    is_picture = {name: "images" in name or name.startswith("x_") for name in arrays}
    return {name: channels_last(each, shape) if is_picture[name] else each for name, each in arrays.items()}


def dataset(name: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """The arrays of a data set that the command knows by name or finds at a path: x_train, y_train, x_test, y_test.

    >>> digits = nibble.dataset("digits")
    >>> digits["x_train"].shape, digits["x_train"].dtype, digits["y_test"][:3]
    ((1437, 8, 8, 1), dtype('uint8'), array([2, 3, 4], dtype=int32))
    """
    arrays: dict[str, NDArray[Any]] = _networks.dataset(os.fspath(name))
    return arrays


@contextmanager
def known_data(data: Any, name: str = "arrays", shape: tuple[int, ...] | None = None) -> Iterator[str]:
    """The name by which Nibble finds the data: its own, or that of arrays which are kept meanwhile."""
    if isinstance(data, (str, os.PathLike)):
        yield os.fspath(data)
        return
    kept = _networks.MemoryDataset(name, arrays_of(data, shape))
    try:
        yield name
    finally:
        del kept
