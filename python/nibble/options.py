# SPDX-License-Identifier: Apache-2.0
"""Keywords as the options of the command, which reads and checks them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

Options = list[tuple[str, list[str]]]


def as_options(keywords: Mapping[str, Any]) -> Options:
    """None and False are left out, True is a flag, a list is an option given several times.

    >>> from nibble.options import as_options
    >>> as_options({"average_from": 3, "flip": True, "lr": None, "round": ["weight=e4m3", "error=e5m2"]})
    [('average-from', ['3']), ('flip', []), ('round', ['weight=e4m3', 'error=e5m2'])]
    """
    options: Options = []
    for name, value in keywords.items():
        if value is None or value is False:
            continue
        words: list[str] = []
        if isinstance(value, (list, tuple)):
            words = [str(each) for each in value]
        elif value is not True:
            words = [os.fspath(value) if isinstance(value, os.PathLike) else str(value)]
        options.append((name.replace("_", "-"), words))
    return options
