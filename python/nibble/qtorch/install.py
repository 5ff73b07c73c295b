# SPDX-License-Identifier: Apache-2.0
"""Lets scripts that say `import qtorch` find this package."""

from __future__ import annotations

import importlib
import sys

from ..errors import ArgumentTypeError, StateError, UsageError

PARTS = (
    "",
    ".number",
    ".posit_activation",
    ".quant",
    ".quant.quant_function",
    ".quant.quant_module",
    ".optim",
    ".optim.optim_low",
    ".auto_low",
    ".auto_low.auto_low",
)


def install(name: str = "qtorch") -> None:
    """Puts the package into sys.modules under `name` ("qtorch", or the fork's "qtorch_plus")."""
    if not isinstance(name, str):
        raise ArgumentTypeError(f"install: got {type(name).__name__}, expected a name")
    if not name.isidentifier():
        raise UsageError(f"install: got {name!r}, expected the name of a package")
    package = __package__
    found = sys.modules.get(name)
    if found is not None and found.__name__ != package:
        raise StateError(f"install: {name} is imported already, expected to come before it")
    for part in PARTS:
        sys.modules[name + part] = importlib.import_module(package + part)
