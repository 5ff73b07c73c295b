# SPDX-License-Identifier: Apache-2.0
"""The data sets that Nibble knows by name, and pictures on their way to a run."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nibble import _networks
from nibble.arguments import as_file, as_name
from nibble.command import check_end, error_of, run_command
from nibble.data import known_data
from nibble.inspection import said
from nibble.model import Model
from nibble.paths import as_model_path

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nibble.keywords import PreprocessOptions


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
            raise error_of(done.returncode, done.stderr)
        found = json.loads(done.stdout)
        rows += found if isinstance(found, list) else [found]
    return rows


def get_data(name: str) -> Path:
    """Where a data set is, which is downloaded where it is not here yet: what ``nibble data get`` does. Where that cannot
    be, the logger ``nibble`` is told what to put where.

    >>> nibble.get_data("digits") == Path(next(each["path"] for each in nibble.datasets() if each["name"] == "digits"))
    True
    """
    done = run_command("data", "get", name, options={})
    if done.returncode != 0:
        for line in done.stdout.splitlines():
            logging.getLogger("nibble").warning("%s: %s", name, line)
    check_end(done)
    return Path(next(each["path"] for each in datasets() if each["name"] == name))


def export_data(data: Any, *, out: str | os.PathLike[str]) -> dict[str, int]:
    """Writes a data set as folders of classes with a PNG for each picture, and counts them by split: what
    ``nibble data export`` does. data: a name, a path or arrays, as everywhere.

    >>> nibble.export_data("digits", out=workspace / "digits")
    {'train': 1437, 'test': 360}
    >>> nibble.evaluate(digits_model, workspace / "digits").correct == nibble.evaluate(digits_model, "digits").correct
    True
    """
    folder = as_name("data", "out", out, "a path")
    with known_data(data) as name:
        train, test = _networks.export_pictures(name, folder)
    return {"train": train, "test": test}


def preprocess(
    model: Model | str | os.PathLike[str],
    data: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str],
    **options: Unpack[PreprocessOptions],
) -> Path:
    """Writes pictures as the tensors that a model of integers takes, so that runs need not decode them: what
    ``nibble data preprocess`` does. Keywords are its options (nibble.keywords.PreprocessOptions); the same call again goes on where it stopped.

    >>> tensors = nibble.preprocess(digits_model, pictures_folder, out=workspace / "tensors")
    >>> len(list(tensors.glob("*.npy")))
    2
    """
    with as_model_path(model) as path:
        check_end(run_command("data", "preprocess", path, options={"data": data, "out": out, **options}))
    return Path(out)
