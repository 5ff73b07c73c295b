# SPDX-License-Identifier: Apache-2.0
"""The formats that have a short name."""

from __future__ import annotations

from typing import NamedTuple

from nibble import _core


class NamedFormat(NamedTuple):
    """A row of the list of formats."""

    name: str
    family: str
    summary: str


def formats() -> list[NamedFormat]:
    """The named formats, in the order in which a person would list them.

    >>> [row.name for row in nibble.formats()][:3]
    ['fp32', 'fp16', 'bf16']
    """
    return [NamedFormat(*row) for row in _core.formats()]
