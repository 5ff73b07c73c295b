# SPDX-License-Identifier: Apache-2.0
"""Arrays from whatever holds them: by name, as pairs, in batches."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nibble.errors import ArgumentTypeError, LimitError, UsageError

NAMES = (str, os.PathLike)

FORMS = (
    "a name, a path, arrays by name, x, (x, y), (train, test) of (x, y) or batches each, or batches of x or (x, y), "
    "as a DataLoader has them"
)


def _shown(given: Any) -> str:
    """What came, for an error."""
    if isinstance(given, (tuple, list)):
        kinds = [type(each).__name__ for each in given[:4]] + ["…"] * (len(given) > 4)
        return f"a {type(given).__name__} of {len(given)} ({', '.join(kinds)})"
    return f"an object of type {type(given).__name__}" + (f" with elements {given.dtype}" if _is_array(given) else "")


def _on_host(values: Any) -> Any:
    """A tensor as an array; NumPy has no bfloat16, which comes as float32 alike where a package adds it."""
    if hasattr(values, "detach"):
        tensor = values.detach().cpu()
        return (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy()
    return values.astype(np.float32) if getattr(values, "dtype", None) == "bfloat16" else values


def as_array(values: Any, what: str = "array") -> NDArray[Any]:
    """NumPy's view of an array or a tensor; floats of other widths become float32.

    >>> from nibble.gathering import as_array
    >>> as_array(np.ones(3)).dtype
    dtype('float32')
    """
    try:
        array = np.asarray(_on_host(values))
    except (AttributeError, LookupError, RuntimeError, TypeError, ValueError):  # NumPy's words are of several lines
        array = None
    if array is None or array.dtype.kind not in "biuf":
        raise ArgumentTypeError(f"[data] {what}: got {_shown(values)}, expected an array of numbers")
    with np.errstate(over="ignore"):  # what is beyond float32 becomes infinite
        return array.astype(np.float32, copy=False) if array.dtype.kind == "f" else array


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
    answers = as_array(y, "y")
    return {split + "images": as_array(x, "x"), split + _answers(answers): answers}


def _is_pair(given: Any) -> bool:
    return isinstance(given, tuple) and len(given) == 2 and all(map(_is_array, given))


def _is_batches(given: Any) -> bool:
    others = (str, bytes, tuple, Mapping)
    return isinstance(given, Iterable) and not isinstance(given, others) and not _is_array(given)


def _batch_of(given: Any, number: int) -> tuple[NDArray[Any], ...]:
    """x and, where there are answers, y."""
    parts = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if len(parts) not in (1, 2) or not all(map(_is_array, parts)):
        raise ArgumentTypeError(f"[data] batch {number}: got {_shown(given)}, expected x, (x,) or (x, y) of arrays")
    return tuple(as_array(each, f"batch {number}") for each in parts)


def _check_batch(number: int, batch: tuple[NDArray[Any], ...], first: tuple[NDArray[Any], ...]) -> None:
    """Batches differ in nothing but their number of examples."""
    counts = {each.shape[:1] for each in batch}
    if len(counts) != 1 or () in counts:
        expected = "examples, and as many answers"
    elif [(each.dtype, each.shape[1:]) for each in batch] != [(each.dtype, each.shape[1:]) for each in first]:
        expected = f"the kind of the first, {_kinds(first)}"
    else:
        return
    raise UsageError(f"[data] batch {number}: got {_kinds(batch)}, expected {expected}")


def _kinds(batch: tuple[NDArray[Any], ...]) -> str:
    return " with ".join(f"{each.dtype} {each.shape}" for each in batch)


def most_bytes() -> int:
    """Of batches: putting them together takes as much again."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def _gathered(batches: Iterable[Any], split: str, most: int | None) -> dict[str, NDArray[Any]]:
    """The batches of an iterable, until there are so many examples; all of a sequence, which is there anyway."""
    found: list[tuple[NDArray[Any], ...]] = []
    wanted = None if isinstance(batches, Sequence) else most
    examples, room = 0, most_bytes()
    for number, given in enumerate(batches, 1):
        found.append(_batch_of(given, number))
        _check_batch(number, found[-1], found[0])
        examples += len(found[-1][0])
        if wanted is not None and examples >= wanted:
            break
        room -= sum(each.nbytes for each in found[-1])
        if room < 0:
            half = f"half of this machine's memory, {most_bytes() >> 20} MiB"
            raise LimitError(f"[data] batches: got more than {half}, expected an end, as itertools.islice(batches, 100) has")
    if not found:
        raise UsageError("[data] batches: got none, expected x or (x, y) of each; a generator can be read once")
    x, *y = (np.concatenate(each)[:wanted] for each in zip(*found))
    return _pair(x, y[0], split) if y else {split + "images": x}


def _split_of(given: Any, split: str = "", most: int | None = None) -> dict[str, NDArray[Any]]:
    return _pair(given[0], given[1], split) if _is_pair(given) else _gathered(given, split, most)


def arrays_of(data: Any, shape: tuple[int, ...] | None = None, most: int | None = None) -> dict[str, NDArray[Any]]:
    """The named arrays of whatever holds data, by the names that an ``.npz`` has. Pictures are turned to ``shape``, which
    is (h, w, c) of one, where their channels come first. Of loaders and generators as many examples as ``most`` are read, of
    (train, test) for the first; all where it is None.

    >>> from nibble.gathering import arrays_of
    >>> sorted(arrays_of((np.zeros((4, 8, 8)), np.arange(4))))
    ['images', 'labels']
    >>> batches = [(np.zeros((2, 3)), np.zeros(2)), (np.zeros((2, 3)), np.zeros(2))]
    >>> sorted(arrays_of(batches)), sorted(arrays_of((batches, batches[:1])))
    (['images', 'targets'], ['test_images', 'test_targets', 'train_images', 'train_targets'])
    """
    if isinstance(data, Mapping):
        arrays = {str(name): as_array(values, repr(name)) for name, values in data.items()}
    elif _is_array(data):
        arrays = {"images": as_array(data, "x")}
    elif _is_pair(data) or _is_batches(data):
        arrays = _split_of(data, most=most)
    elif isinstance(data, tuple) and len(data) == 2 and all(_is_pair(each) or _is_batches(each) for each in data):
        arrays = {**_split_of(data[0], "train_", most), **_split_of(data[1], "test_")}
    else:
        raise ArgumentTypeError(f"[data] data: got {_shown(data)}, expected {FORMS}")
    is_picture = {name: "images" in name or name.startswith("x_") for name in arrays}
    return {name: channels_last(each, shape) if is_picture[name] else each for name, each in arrays.items()}


def gathered(data: Any, shape: tuple[int, ...] | None = None, most: int | None = None) -> Any:
    """What can be read more than once: a name or a path as it is, the arrays of all else.

    >>> from nibble.gathering import gathered
    >>> gathered("digits"), gathered(iter([np.zeros((2, 3))] * 5), most=3)["images"].shape
    ('digits', (3, 3))
    """
    return data if isinstance(data, NAMES) else arrays_of(data, shape, most)
