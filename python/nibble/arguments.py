# SPDX-License-Identifier: Apache-2.0
"""Arguments as the extension takes them; every mistake is one line that names the argument."""

from __future__ import annotations

import operator
import os
from numbers import Real
from typing import Any

import numpy as np

from nibble.errors import ArgumentTypeError, Error, UsageError

MOST = (1 << 63) - 1  # of 64 bits


def mistaken(function: str, name: str, value: Any, expected: str) -> Error:
    """What is raised for an object of another type.

    >>> from nibble.arguments import mistaken
    >>> raise mistaken("load", "path", 3, "a path")
    Traceback (most recent call last):
    nibble.errors.ArgumentTypeError: [load] path: got an object of type int, expected a path
    """
    return ArgumentTypeError(f"[{function}] {name}: got an object of type {type(value).__name__}, expected {expected}")


def _checked(function: str, name: str, text: str, encode: Any) -> str:
    """The text itself, unless it holds what no file and no option can be called."""
    try:
        has_end = b"\0" in encode(text)
    except UnicodeError:
        raise UsageError(f"[{function}] {name}: got a text with half a character, expected whole ones") from None
    if has_end:
        raise UsageError(f"[{function}] {name}: got a text with a zero byte, expected one without")
    return text


def as_text(function: str, name: str, value: Any, expected: str = "a text") -> str:
    """A text that C++ takes."""
    if not isinstance(value, str):
        raise mistaken(function, name, value, expected)
    return _checked(function, name, value, str.encode)


def as_file(function: str, name: str, value: Any, expected: str = "a path") -> str:
    """The text of a path."""
    try:
        path = None if isinstance(value, bytes) else os.fsdecode(value)
    except Exception:  # whatever __fspath__ raises
        path = None
    if path is None:
        raise mistaken(function, name, value, expected)
    return _checked(function, name, path, os.fsencode)


def as_name(function: str, name: str, value: Any, expected: str = "a name or a path") -> str:
    """The same for what takes UTF-8 alone."""
    return as_text(function, name, as_file(function, name, value, expected))


def as_count(function: str, name: str, value: Any, most: int = MOST, least: int = -MOST) -> int:
    """An integer, of NumPy as well.

    >>> from nibble.arguments import as_count
    >>> as_count("engine", "threads", np.int64(4))
    4
    """
    try:
        number = operator.index(value)
    except Exception:
        raise mistaken(function, name, value, "an integer") from None
    if not least <= number <= most:
        shown = number if -MOST <= number <= MOST else f"an integer of {number.bit_length()} bits"
        raise UsageError(f"[{function}] {name}: got {shown}, expected {f'{least} to' if least > -MOST else 'at most'} {most}")
    return number


def as_number(function: str, name: str, value: Any) -> float:
    """A real number."""
    if not isinstance(value, Real):
        raise mistaken(function, name, value, "a number")
    try:
        return float(value)
    except OverflowError:
        raise UsageError(f"[{function}] {name}: got a number beyond 64 bits, expected a smaller one") from None


def as_flag(function: str, name: str, value: Any) -> bool:
    """True or False, of NumPy as well."""
    if not isinstance(value, (bool, np.bool_)):
        raise mistaken(function, name, value, "True or False")
    return bool(value)


def as_list(function: str, name: str, value: Any, expected: str) -> list[Any]:
    """The elements of an iterable; a text is none."""
    try:
        elements = None if isinstance(value, (str, bytes)) else iter(value)
    except TypeError:  # an array of no dimensions has the method, too
        elements = None
    if elements is None:
        raise mistaken(function, name, value, expected)
    return list(elements)
