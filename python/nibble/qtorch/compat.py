# SPDX-License-Identifier: Apache-2.0
"""Whose arithmetic the functions of this package run."""

from __future__ import annotations

import contextlib
from typing import Iterator

from ..errors import ArgumentTypeError, UsageError

MODES = {
    "none": "QPyTorch's value sets by Nibble's rules: exact, NaN stays NaN, on every device",
    "qtorch": "QPyTorch 0.3.0 on the CPU, the rules it stands for: its ties and special values",
    "qtorch-bits": "the same with the bits that it loses",
    "qtorch+": "the posit fork",
}

_mode = "none"


def get_compat() -> str:
    """The mode of calls and of quantizers made from now on."""
    return _mode


def set_compat(mode: str) -> None:
    """Chooses a mode of MODES for calls and for quantizers made from now on."""
    global _mode
    if not isinstance(mode, str):
        raise ArgumentTypeError(f"compat: got {type(mode).__name__}, expected one of {', '.join(MODES)}")
    if mode not in MODES:
        raise UsageError(f"compat: got {mode!r}, expected one of {', '.join(MODES)}")
    _mode = mode


@contextlib.contextmanager
def compat(mode: str) -> Iterator[None]:
    """`with compat("qtorch-bits"): …`"""
    before = get_compat()
    set_compat(mode)
    try:
        yield
    finally:
        set_compat(before)
