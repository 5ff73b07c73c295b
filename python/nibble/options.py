# SPDX-License-Identifier: Apache-2.0
"""Keywords as the options of the command, which reads and checks them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from numbers import Real
from typing import Any

from nibble._core import Format
from nibble.arguments import as_name, as_text, mistaken

Options = list[tuple[str, list[str]]]
SWITCHES = ("nesterov", "flip", "decay", "decay_norms")  # flags that turn off, too, what a recipe has


def as_options(keywords: Mapping[str, Any]) -> Options:
    """None and False are left out, True is a flag, a list is an option given several times; from_ is from. False of a
    switch turns it off.

    Values are texts, numbers, formats and paths: of what else is given nobody could read the text.

    >>> from nibble.options import as_options
    >>> as_options({"from_": "model.nib"})
    [('from', ['model.nib'])]
    >>> as_options({"average_from": 3, "flip": True, "lr": None, "round": ["weight=e4m3", "error=e5m2"]})
    [('average-from', ['3']), ('flip', []), ('round', ['weight=e4m3', 'error=e5m2'])]
    >>> as_options({"flip": False, "fast": False})
    [('flip', ['false'])]
    """
    options: Options = []
    for name, value in keywords.items():
        if value is None or (value is False and name not in SWITCHES):
            continue
        as_text("options", "name", name)
        words: list[str] = []
        if isinstance(value, (list, tuple)):
            words = [_word(name, each) for each in value]
        elif value is False:
            words = ["false"]
        elif value is not True:
            words = [_word(name, value)]
        options.append((name.removesuffix("_").replace("_", "-"), words))
    return options


def _word(name: str, value: Any) -> str:
    if isinstance(value, os.PathLike):
        return as_name("options", name, value)
    if not isinstance(value, (str, Real, Format)):
        raise mistaken("options", name, value, "a text, a number or a path")
    return as_text("options", name, str(value))


def as_words(keywords: Mapping[str, Any]) -> list[str]:
    """The same as words of a command line.

    >>> from nibble.options import as_words
    >>> as_words({"flip": True, "decay": False, "round": ["weight=e4m3", "error=e5m2"]})
    ['--flip', '--decay=false', '--round', 'weight=e4m3', '--round', 'error=e5m2']
    """
    words: list[str] = []
    for name, values in as_options(keywords):
        if not values:
            words.append(f"--{name}")
        elif values == ["false"]:  # a switch reads no second word
            words.append(f"--{name}=false")
        else:
            words += [word for value in values for word in (f"--{name}", value)]
    return words
