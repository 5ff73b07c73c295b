# SPDX-License-Identifier: Apache-2.0
"""Models and networks as files, for what reads files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nibble.model import Model
from nibble.network import Network

What = Model | Network | str | os.PathLike[str]


@contextmanager
def as_path(what: What) -> Iterator[str]:
    """The path or name of a model or a network, written for the time being where it is an object."""
    if isinstance(what, (str, os.PathLike)):
        yield os.fspath(what)
        return
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(what, Model):
            path = Path(folder) / "model.nib"
            what.save(path)
        else:
            path = Path(folder) / f"{what.name}.toml"
            path.write_text(what.toml, encoding="utf-8")
        yield os.fspath(path)
