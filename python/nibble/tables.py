# SPDX-License-Identifier: Apache-2.0
"""Tables and objects that runs leave as CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from nibble.errors import InputError

Columns = dict[str, list[Any]]


def number(text: str) -> Any:
    """What a field of a table says: a number, None where it is empty, else its text.

    >>> from nibble.tables import number
    >>> number("3"), number("0.5"), number(""), number("e4m3")
    (3, 0.5, None, 'e4m3')
    """
    if text == "":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def numbers_of(found: Any) -> Any:
    """What the command has said as JSON, which has no infinite numbers: the words for them as floats, but for names.

    >>> from nibble.tables import numbers_of
    >>> numbers_of([{"name": "inf", "sqnr_db": "inf", "choices": [{"bits": 8, "sqnr_db": "-inf"}]}])
    [{'name': 'inf', 'sqnr_db': inf, 'choices': [{'bits': 8, 'sqnr_db': -inf}]}]
    """
    if isinstance(found, list):
        return [numbers_of(each) for each in found]
    if isinstance(found, dict):
        return {name: each if name in ("name", "op") else numbers_of(each) for name, each in found.items()}
    return float(found) if found in ("inf", "-inf", "nan") else found


def columns_of(text: str, source: object) -> Columns:
    """The columns of a table with a head; source is named where it is none.

    >>> from nibble.tables import columns_of
    >>> columns_of("epoch,loss\\n1,0.5\\n2,\\n", "epochs.csv")
    {'epoch': [1, 2], 'loss': [0.5, None]}
    """
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    except (csv.Error, ValueError) as error:
        raise InputError(f"[run] {source}: got {error}, expected a table") from None
    if any(len(row) != len(rows[0]) for row in rows):
        raise InputError(f"[run] {source}: got rows of several lengths, expected {len(rows[0])} fields in each")
    return {name: [number(row[i]) for row in rows[1:]] for i, name in enumerate(rows[0])} if rows else {}


def read_columns(path: Path) -> Columns:
    """The columns of a file; none where there is no file."""
    if not path.exists():
        return {}
    try:
        text = path.read_bytes().decode("utf-8")
    except ValueError as error:
        raise InputError(f"[run] {path}: got {error}, expected a table") from None
    return columns_of(text, path)


def read_object(path: Path) -> dict[str, Any]:
    """The object that a file of JSON holds."""
    if not path.exists():
        raise InputError(f"[run] {path}: got no file, expected the folder of a run, which has it")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"[run] {path}: got {error}, expected JSON") from None
    if not isinstance(found, dict):
        raise InputError(f"[run] {path}: got {type(found).__name__}, expected an object")
    return found
