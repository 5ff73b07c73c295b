# SPDX-License-Identifier: Apache-2.0
"""The command that comes with the package, for work that has a process of its own."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from nibble.data import arrays_of
from nibble.errors import InputError, PlatformError, UsageError
from nibble.model import Model
from nibble.options import as_words

PROGRAM = Path(__file__).with_name("bin") / "nibble"
USAGE = 2  # the exit code of a call that cannot be


def command_line(*words: str | PathLike[str], options: Mapping[str, Any]) -> list[str]:
    """The program and its words."""
    if not PROGRAM.exists():
        raise PlatformError("[command] got a package that was built without it, expected one with bin/nibble")
    return [fspath(PROGRAM), *(fspath(word) for word in words), *as_words(options)]


def run_command(*words: str | PathLike[str], options: Mapping[str, Any]) -> subprocess.CompletedProcess[str]:
    """What the command printed and how it ended; a mistake in the call is its one line as a ``UsageError``."""
    done = subprocess.run(command_line(*words, options=options), capture_output=True, text=True)
    if done.returncode == USAGE:
        raise UsageError(last_line(done.stderr))
    return done


def last_line(text: str) -> str:
    """Of what the command said, without its name.

    >>> from nibble.command import last_line
    >>> last_line("working\\nnibble: [read_model] m.nib: got nothing, expected a model\\n")
    '[read_model] m.nib: got nothing, expected a model'
    """
    lines = text.strip().splitlines()
    return lines[-1].removeprefix("nibble: ") if lines else "the command said nothing"


def check_end(done: subprocess.CompletedProcess[str]) -> str:
    """The output of a command that ended well."""
    if done.returncode != 0:
        raise InputError(last_line(done.stderr))
    return done.stdout


@contextmanager
def as_files(model: Model | str | PathLike[str], data: Any) -> Iterator[tuple[str, str]]:
    """Paths of a model and of data, written for the time being where they are objects."""
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(model, Model):
            path = Path(folder) / "model.nib"
            model.save(path)
            shape, model = model.input_shape, path
        else:
            shape = None
        if not isinstance(data, (str, PathLike)):
            arrays, data = arrays_of(data, shape), Path(folder) / "arrays.npz"
            np.savez(data, **arrays)  # type: ignore[arg-type]
        yield fspath(model), fspath(data)
