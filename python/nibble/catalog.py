# SPDX-License-Identifier: Apache-2.0
"""The data sets that Nibble knows by name, and pictures on their way to a run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from nibble.command import check_end, last_line, run_command
from nibble.errors import InputError
from nibble.inspection import said
from nibble.model import Model
from nibble.paths import as_path


def datasets() -> list[dict[str, Any]]:
    """The known data sets and where they are (path None: not here): what ``nibble data list --json`` prints.

    >>> [(each["train"], each["image"]) for each in nibble.datasets() if each["name"] == "digits"]
    [(1437, [8, 8, 1])]
    """
    found: list[dict[str, Any]] = said("data", "list")
    return found


def check_data(*names: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Reads data sets, or all pictures of a path, and says of each split or path whether it is what it should be; without
    names of all known ones. What ``nibble data check --json`` prints; nothing is raised for what is wrong.

    >>> [(each["split"], each["state"]) for each in nibble.check_data("digits")]
    [('train', 'ok'), ('test', 'ok')]
    """
    rows: list[dict[str, Any]] = []
    for words in [[name] for name in names] or [[]]:
        done = run_command("data", "check", *words, options={"json": True})
        if not done.stdout:
            raise InputError(last_line(done.stderr))
        found = json.loads(done.stdout)
        rows += found if isinstance(found, list) else [found]
    return rows


def preprocess(
    model: Model | str | os.PathLike[str], data: str | os.PathLike[str], *, out: str | os.PathLike[str], **options: Any
) -> Path:
    """Writes pictures as the tensors that a model of integers takes, so that runs need not decode them: what
    ``nibble data preprocess`` does. Keywords are its options; the same call again goes on where it stopped.

    >>> tensors = nibble.preprocess(digits_model, pictures_folder, out=workspace / "tensors")
    >>> len(list(tensors.glob("*.npy")))
    2
    """
    with as_path(model) as path:
        check_end(run_command("data", "preprocess", path, options={"data": data, "out": out, **options}))
    return Path(out)
